"""Answers `explain`: all knobs, one knob, or one value of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from knobctl.checks.knob_faults import name_fault
from knobctl.errors import ExitCode, UsageError
from knobctl.report.explain import knob_json, knob_text, knobs_text
from knobctl.report.explain_value import Answer, Question, explain_value, value_json, value_text
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from knobctl.documents.model import Effective
    from knobctl.knobs import Catalogue, Knob, KnobValue


class Around(Protocol):
    """The values that a question starts from."""

    @property
    def catalogue(self) -> Catalogue:
        """The knobs."""
        ...

    @property
    def effective(self) -> Effective | None:
        """The tenant's, if one is asked about."""
        ...

    @property
    def values(self) -> Mapping[str, KnobValue]:
        """The effective value of every knob."""
        ...

    def exact(self, name: str) -> Fraction:
        """A number among them exactly as it is written."""
        ...


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `explain` answers."""

    around: Around
    knobs: tuple[Knob, ...]
    """All of them, or the one asked about."""
    answer: Answer | None = None
    """What the value does, if one is asked about."""

    @property
    def exit_code(self) -> ExitCode:
        """4 for a value that is none, else 0."""
        return self.answer.exit_code if self.answer else ExitCode.OK

    def text(self) -> str:
        """For people."""
        effective = self.around.effective
        if self.answer:
            return value_text(
                self.answer, title=f"{visible(effective.tenant)}: " if effective else ""
            )
        if len(self.knobs) == 1:
            return knob_text(self.knobs[0], self.around.catalogue, effective)
        return knobs_text(self.around.catalogue, effective)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        effective = self.around.effective
        return {
            "version": 1,
            "command": "explain",
            "outcome": self.exit_code.outcome,
            "exit_code": int(self.exit_code),
            "tenant": effective.tenant if effective else None,
            "knobs": [knob_json(knob, effective) for knob in self.knobs],
            "value": value_json(self.answer) if self.answer else None,
        }


def explanation(around: Around, name: str | None, literal: str | None) -> Explanation:
    """Explain all knobs, one, or a value of it.

    Raises:
        UsageError: If no knob has the name, in either spelling.
    """
    catalogue = around.catalogue
    if name is None:
        return Explanation(around, catalogue.knobs)
    knob = catalogue.by_any_name.get(name)
    if knob is None:
        fault = name_fault(name, catalogue)
        raise UsageError(fault.message, hint=fault.hint)
    if literal is None:
        return Explanation(around, (knob,))
    question = Question(
        catalogue=catalogue,
        knob=knob,
        literal=literal,
        values=around.values,
        exact=around.exact,
        tenant=around.effective.tenant if around.effective else None,
    )
    return Explanation(around, (knob,), explain_value(question))
