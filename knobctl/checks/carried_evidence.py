"""The evidence that one tenant's change carries: which file, and what it says of the change in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from knobctl.checks.evidence_doubts import (
    other_before,
    other_values,
    why_of_another_floor,
)
from knobctl.checks.evidence_files import NoEvidence
from knobctl.checks.evidence_record import measured_for
from knobctl.checks.evidence_statement import spoken_figures, statement
from knobctl.checks.evidences import layers_for, speaks_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.checks.evidence_files import Evidence
    from knobctl.checks.evidences import Evidences
    from knobctl.documents.model import Effective
    from knobctl.knobs import KnobValue


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedEvidence:
    """One file of evidence beside a change."""

    path: str
    sha256: str | None = None
    """Of its bytes; None where it could not be read."""
    attached: bool = False
    """Whether no document names it."""
    digest: str | None = None
    """Of the record in it; None where it holds none."""
    kind: str | None = None
    statement: str | None = None
    """What it says of the change; None where it says nothing of it."""
    why: str | None = None
    """Why it says nothing."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What the statement is made of."""

    def as_json(self) -> dict[str, Any]:
        """As plans and answers have it; what there is not is left out."""
        known = {"digest": self.digest, "kind": self.kind, "statement": self.statement}
        return {
            "path": self.path,
            "sha256": self.sha256,
            **({"attached": True} if self.attached else {}),
            **{name: part for name, part in known.items() if part is not None},
            **({"why": self.why} if self.why is not None else {}),
            **({"figures": dict(self.figures)} if self.figures else {}),
        }


class Carrying:
    """Says of the changes of a repository's tenants which evidence each carries; every file is read once."""

    def __init__(self, files: Evidences) -> None:
        self._files = files
        self._known: dict[str, CarriedEvidence] = {}
        self._attached = {one.path for one in files.repository.attached}

    def of(
        self, effective: Effective, before: Mapping[str, KnobValue]
    ) -> tuple[CarriedEvidence, ...]:
        """What one tenant's change carries.

        Args:
            effective: The set that it leads to.
            before: Of the knobs that change, what was in force.
        """
        if not before or not self._files.repository.evidence_of(effective.document):
            return ()
        return tuple(self._each(effective, before))

    def _each(
        self, effective: Effective, before: Mapping[str, KnobValue]
    ) -> Iterator[CarriedEvidence]:
        document = effective.document
        layers = layers_for(self._files.repository, document)
        for one in self._files.of(document):
            known = self._file(one)
            if isinstance(one, NoEvidence):
                yield known
            elif speaks_for(one.record, layers, document.name):
                why = _why_silent(one, effective, before)
                yield _silent(known, why) if why else known
            elif one.path in document.evidence:
                yield _silent(known, f"it was measured for {measured_for(one.record)}")

    def _file(self, one: Evidence | NoEvidence) -> CarriedEvidence:
        if one.path not in self._known:
            sha256, attached = self._files.sha256(one.path), one.path in self._attached
            self._known[one.path] = (
                CarriedEvidence(path=one.path, sha256=sha256, attached=attached, why=one.why)
                if isinstance(one, NoEvidence)
                else CarriedEvidence(
                    path=one.path,
                    sha256=sha256,
                    attached=attached,
                    digest=one.digest,
                    kind=one.record.kind.value,
                    statement=statement(one.record),
                    figures=spoken_figures(one.record),
                )
            )
        return self._known[one.path]


def _silent(one: CarriedEvidence, why: str) -> CarriedEvidence:
    return replace(one, statement=None, figures={}, why=why)


def _why_silent(one: Evidence, effective: Effective, before: Mapping[str, KnobValue]) -> str | None:
    """Why a record says nothing of a change; None where it speaks of it."""
    if one.record.knobs.keys().isdisjoint(before):
        return "it measured none of the knobs that change"
    measured = [effective.catalogue[name] for name in before if name in one.record.knobs]
    whys = [why_of_another_floor(one.record, knob) for knob in measured]
    if None not in whys:
        return whys[0]
    doubts = [*other_values(one.record, effective), *other_before(one.record, before)]
    return next(iter(doubts), None)
