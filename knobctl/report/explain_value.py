"""What one value of one knob does, for people and machines."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from knobctl.checks.knob_faults import value_fault
from knobctl.documents.model import exact_number
from knobctl.documents.reader import read_text
from knobctl.errors import ExitCode
from knobctl.fusion import exact
from knobctl.fusion.numbers import number_text, rounded_down
from knobctl.report.explain import EVIDENCE_DUE, topical, zero_words
from knobctl.report.reach import reach_facts
from knobctl.report.value_words import effect_of
from knobctl.text import spelled, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from knobctl.knobs import Catalogue, Knob, KnobValue
    from knobctl.report.effect import Effect


class Meaning(StrEnum):
    """What the engine makes of a value."""

    SET = "set"
    DEFAULT = "default"
    """0 or UNSPECIFIED: the platform default."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One value of one knob, and the values around it."""

    catalogue: Catalogue
    knob: Knob
    literal: str
    """The value as it was typed."""
    values: Mapping[str, KnobValue]
    """What is in force otherwise: the platform defaults, or a tenant's."""
    exact: Callable[[str], Fraction]
    """Gives a number among them exactly as it is written."""
    tenant: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a value does, or why it is none."""

    knob: Knob
    literal: str
    meaning: Meaning
    headline: str
    statements: tuple[tuple[str, str], ...]
    """What follows, each with a word for what it is about."""
    value: KnobValue | None = None
    """What is in force with it; None where it is refused."""
    rule: str | None = None
    """The rule that refuses it."""
    effect: Effect | None = None

    @property
    def exit_code(self) -> ExitCode:
        """A refused value is a finding."""
        return ExitCode.FINDINGS if self.meaning is Meaning.REFUSED else ExitCode.OK


def explain_value(question: Question) -> Answer:
    """Read a value by the rules of our documents and say what it does."""
    text = read_text(question.literal, "VALUE")
    troubles = [*text.troubles, *(trouble for tree in text.trees for trouble in tree.troubles)]
    if troubles:
        first = troubles[0]
        return _refused(question, first.rule, f"{question.knob.name}: {first.message}", first.hint)
    value = text.trees[0].value if text.trees else None
    if len(text.trees) > 1:
        return _refused(
            question,
            "wrong-type",
            f"{question.knob.name}: these are {len(text.trees)} values",
            None,
        )
    fault = value_fault(question.knob, value, question.literal)
    if fault:
        return _refused(question, fault.rule, fault.message, fault.hint)
    assert isinstance(value, (int, float, str))
    return _accepted(question, question.knob.canonical(value))


def explain_default(question: Question) -> Answer:
    """Say what a knob does where nothing is written: the platform default is in force."""
    knob = question.knob
    effect = effect_of(
        question.catalogue,
        knob,
        before=(question.values, question.exact),
        after=_with(question, knob.default, True),
    )
    return Answer(
        knob=knob,
        literal="",
        meaning=Meaning.DEFAULT,
        headline=f"{knob.name} left out, at the platform default {spelled(knob.default)}: {effect.headline}",
        statements=(*effect.statements, *_more(question, effect), ("scope", knob.scope)),
        value=knob.default,
        effect=effect,
    )


def _refused(question: Question, rule: str, message: str, hint: str | None) -> Answer:
    knob = question.knob
    refused = f"{rule}: the engine takes no such value; nothing with it is ever pushed"
    statements = [("refused", refused)]
    if decimal := _as_decimal(question.literal):
        hint = (
            f"{decimal}; to ask about a fraction: knobctl reach --floor {question.literal.strip()}"
        )
    if hint:
        statements.append(("write", _without(hint, "write ", f"; knobctl explain {knob.name}")))
    return Answer(
        knob=knob,
        literal=question.literal,
        meaning=Meaning.REFUSED,
        headline=message,
        statements=tuple(statements),
        rule=rule,
    )


def _without(hint: str, first: str, last: str) -> str:
    """A hint whose topic says its first word already, and that need not name the command that runs."""
    return hint.removeprefix(first).removesuffix(last)


def _as_decimal(literal: str) -> str | None:
    """Some decimals of a value that was typed as a fraction."""
    try:
        value = exact(literal)
    except ValueError:
        return None
    return rounded_down(value) if "/" in literal and 0 < value < 1 else None


def _accepted(question: Question, value: KnobValue) -> Answer:
    knob = question.knob
    is_default = value == knob.unset
    in_force = knob.default if is_default else value
    effect = effect_of(
        question.catalogue,
        knob,
        before=(question.values, question.exact),
        after=_with(question, in_force, is_default),
    )
    headline = (
        _zero_headline(knob, question.literal)
        if is_default
        else f"{knob.name} {spelled(value)}: {effect.headline}"
    )
    return Answer(
        knob=knob,
        literal=question.literal,
        meaning=Meaning.DEFAULT if is_default else Meaning.SET,
        headline=headline,
        statements=(
            *(_zero_statements(knob) if is_default else ()),
            *effect.statements,
            *_more(question, effect),
            *_standing(knob, value),
        ),
        value=in_force,
        effect=effect,
    )


def _more(question: Question, effect: Effect) -> list[tuple[str, str]]:
    """The command that shows every set of live rankers."""
    if question.knob.role != "floor.fused" or effect.reached is None:
        return []
    tenant = f" --tenant {question.tenant}" if question.tenant else ""
    return [("more", f"knobctl reach --floor {number_text(effect.reached.setup.floor)}{tenant}")]


def _standing(knob: Knob, value: KnobValue) -> list[tuple[str, str]]:
    """What holds for every knob: its default, the calls that obey it, the evidence that is due."""
    tuned = ", not tuned" if "not tuned" in knob.known.lower() else ""
    scope = ("scope", knob.scope.split(". ")[0])
    if value == knob.unset:  # other calls may read a zero as something else again
        return [("scope", knob.scope)]
    if value == knob.default:
        pinned = "written down, it no longer follows the default"
        return [("default", f"this is the platform default{tuned}; {pinned}"), scope]
    lines = [("default", f"{spelled(knob.default)}{tuned}; see: knobctl explain {knob.name}")]
    if knob.needs_evidence:
        lines.append(("evidence", f"a change is {EVIDENCE_DUE}"))
    return [*lines, scope]


def _with(
    question: Question, in_force: KnobValue, is_default: bool
) -> tuple[Mapping[str, KnobValue], Callable[[str], Fraction]]:
    """The values around, with the one that is asked about."""
    name = question.knob.name
    literal = "" if is_default else question.literal
    values = {**question.values, name: in_force}

    def exactly(asked: str) -> Fraction:
        return exact_number(literal, in_force) if asked == name else question.exact(asked)

    return values, exactly


def _zero_headline(knob: Knob, literal: str) -> str:
    if knob.zero_surprises:
        none = "no floor" if (knob.role or "").startswith("floor.") else "none"
        return f'{knob.name} {literal} is no "{none}": it means the platform default, {spelled(knob.default)}, and moves when the default moves.'
    if not knob.choices:
        return f"{knob.name} {literal}: {zero_words(knob)}."
    return f"{knob.name} {literal} means the platform default, {spelled(knob.default)}, and moves when the default moves."


def _zero_statements(knob: Knob) -> tuple[tuple[str, str], ...]:
    follow = "leave the line out to follow the default"
    if knob.zero_surprises:
        return (("warning", "zero-means-default"), ("off", knob.off), ("write", follow))
    return (("write", follow),)


def value_text(answer: Answer, *, title: str = "") -> str:
    """Write the answer first, then the table, then what follows."""
    head = topical([("", f"{title}{visible(answer.headline)}")]).removeprefix("  ")
    blocks = [head]
    if answer.effect and answer.effect.table:
        blocks.append(answer.effect.table)
    if answer.statements:
        blocks.append(topical(answer.statements))
    return "\n\n".join(blocks)


def value_json(answer: Answer) -> dict[str, Any]:
    """The answer as data."""
    return {
        "literal": answer.literal,
        "meaning": answer.meaning.value,
        "value": answer.value,
        "rule": answer.rule,
        "headline": answer.headline,
        "statements": [{"about": about, "text": text} for about, text in answer.statements],
        "reach": reach_facts(answer.effect.reached)
        if answer.effect and answer.effect.reached
        else None,
    }
