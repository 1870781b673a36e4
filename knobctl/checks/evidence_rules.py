"""The rules that a fleet makes: a change to some knobs needs evidence, and evidence that still holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from knobctl.checks.evidence_files import Evidence, NoEvidence, read_evidence
from knobctl.checks.evidence_record import measured_for
from knobctl.finding import Finding, Related, Severity
from knobctl.text import count, spelled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from knobctl.checks.evidence_record import Record
    from knobctl.documents.model import Document, Effective
    from knobctl.finding import Location
    from knobctl.knobs import Catalogue, KnobValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one fleet demands of evidence."""

    fleet: Document
    knobs: Sequence[str]
    severity: Severity
    max_age_days: int | None
    min_questions: int | None
    encoder: str | None

    @property
    def name(self) -> str:
        """The fleet, as messages call it."""
        return f"fleet {self.fleet.name}"

    def place(self, knob: str) -> Location:
        """Where the fleet asks for it."""
        index = list(self._written()).index(knob)
        return self.fleet.location("evidence", "required_for", index)

    def _written(self) -> Sequence[Any]:
        evidence: Any = self.fleet.value["evidence"]
        written: Sequence[Any] = evidence["required_for"]
        return written


def demand_of(fleet: Document) -> Demand | None:
    """Read what a fleet that the schema accepts demands; None where that is nothing."""
    evidence: Any = fleet.value.get("evidence")
    if not isinstance(evidence, dict):
        return None
    return Demand(
        fleet=fleet,
        knobs=tuple(map(str, evidence["required_for"])),
        severity=Severity(str(evidence.get("severity", Severity.ERROR.value))),
        max_age_days=evidence.get("max_age_days"),
        min_questions=evidence.get("min_questions"),
        encoder=evidence.get("encoder"),
    )


class Moved(NamedTuple):
    """A tenant, and what was in force before."""

    effective: Effective
    before: Mapping[str, KnobValue]
    faulty: Collection[str] = ()
    """Knobs of which nothing can be said."""
    encoder: str | None = None
    """The embedder that the fleet named before; None where it named none."""

    @property
    def tenant(self) -> Document:
        """Its document."""
        return self.effective.document

    def changed(self, knob: str) -> bool:
        """Whether a knob's value in force differs from before: up or down."""
        if knob in self.faulty or knob not in self.before:
            return False
        return self.before[knob] != self.effective.values[knob]

    def unsettled(self, knob: str, demand: Demand) -> bool:
        """Whether a number that is written stays, while the embedder that it is bound to changes."""
        if self.encoder is None or demand.encoder in {None, self.encoder} or knob in self.faulty:
            return False
        return knob in self.effective.desired and self.effective.catalogue[knob].needs_evidence


class Evidences:
    """The evidence files of a repository, each read once."""

    def __init__(self, root: Path, catalogue: Catalogue) -> None:
        self._root, self._catalogue = root, catalogue
        self._read: dict[str, Evidence | NoEvidence] = {}

    def of(self, tenant: Document) -> list[Evidence | NoEvidence]:
        """What a tenant names as evidence, in its order."""
        return [self._file(path) for path in tenant.evidence]

    def know(self, one: Evidence | NoEvidence) -> None:
        """Take a file as read."""
        self._read[one.path] = one

    def _file(self, path: str) -> Evidence | NoEvidence:
        if path not in self._read:
            self.know(read_evidence(self._root, path, self._catalogue))
        return self._read[path]


def evidence_findings(
    moved: Moved, demand: Demand, files: Evidences, today: date
) -> Iterator[Finding]:
    """Judge one tenant's changes by what its fleet demands.

    Args:
        moved: The tenant, and what was in force before.
        demand: Of its fleet.
        files: The evidence files of the repository.
        today: The day; evidence of this day is 0 days old.
    """
    for knob in demand.knobs:
        if not moved.changed(knob) and not moved.unsettled(knob, demand):
            continue
        named = [_of_tenant(one, moved.tenant.name) for one in files.of(moved.tenant)]
        covering = [one for one in named if isinstance(one, Evidence) and knob in one.record.knobs]
        if not covering:
            yield _missing(moved, demand, knob, named)
            continue
        doubts = [(one, _doubts(one.record, moved.effective, demand, today)) for one in covering]
        if all(found for _, found in doubts):
            # Of several files that do not hold, the one that lacks least is worth the words.
            yield _stale(moved, demand, knob, *min(doubts, key=lambda pair: len(pair[1])))


def _of_tenant(one: Evidence | NoEvidence, tenant: str) -> Evidence | NoEvidence:
    if isinstance(one, Evidence) and tenant not in one.record.measured_tenants:
        return NoEvidence(one.path, f"it was measured for {measured_for(one.record)}")
    return one


def _doubts(record: Record, effective: Effective, demand: Demand, today: date) -> list[str]:
    """Why evidence does not hold; empty where it does."""
    doubts = [
        f"it measured {name} {spelled(value)}, and {spelled(effective.values[name])} is wanted"
        for name, value in record.knobs.items()
        if value != effective.values[name]
    ]
    age = (today - record.made_at.date()).days
    if age < -1:  # a day may have begun elsewhere
        doubts.append(f"it says that it was made on {record.made_at.date()}, which is yet to come")
    if demand.max_age_days is not None and age > demand.max_age_days:
        doubts.append(f"it is {count(age, 'day')} old, and {demand.max_age_days} is the most")
    if demand.min_questions is not None and record.questions < demand.min_questions:
        asked = count(record.questions, "question")
        doubts.append(f"it asked {asked}, and {demand.min_questions:,} is the fewest")
    if demand.encoder is not None and record.encoder != demand.encoder:
        doubts.append(f"its embedder is {record.encoder}, and the fleet's is {demand.encoder}")
    return doubts


def _missing(
    moved: Moved, demand: Demand, knob: str, named: Sequence[Evidence | NoEvidence]
) -> Finding:
    whys = [
        f"{one.path}: {one.why}"
        if isinstance(one, NoEvidence)
        else f"{one.path} did not measure it"
        for one in named
    ]
    why = "; ".join(whys) or "the tenant names none"
    return _finding(
        moved,
        demand,
        knob,
        "evidence-missing",
        f"{_change(moved, demand, knob)} without evidence, which {demand.name} demands: {why}",
        f"measure {knob} {spelled(moved.effective.values[knob])}, and name the file under evidence; "
        f"{_WAIVE} evidence-missing",
    )


def _stale(moved: Moved, demand: Demand, knob: str, one: Evidence, doubts: list[str]) -> Finding:
    return _finding(
        moved,
        demand,
        knob,
        "evidence-stale",
        f"{_change(moved, demand, knob)} on evidence that does not hold, {one.path}: {'; '.join(doubts)}",
        f"measure it again, as {demand.name} demands; {_WAIVE} evidence-stale",
    )


_WAIVE = "for some tenants, until a day, a waiver lets it off: rule"


def _change(moved: Moved, demand: Demand, knob: str) -> str:
    before, after = moved.before[knob], moved.effective.values[knob]
    if not moved.changed(knob):
        embedder = f"the embedder changes from {moved.encoder} to {demand.encoder}"
        return f"{embedder} and {knob} stays {spelled(after)},"
    return f"{knob} changes from {spelled(before)} to {spelled(after)}"


def _finding(
    moved: Moved, demand: Demand, knob: str, rule: str, message: str, hint: str
) -> Finding:
    tenant = moved.tenant
    related = [Related(f"{demand.name} demands evidence", demand.place(knob))]
    if "evidence" in tenant.value:
        related.append(Related("what the tenant names as evidence", tenant.location("evidence")))
    return Finding(
        rule=rule,
        severity=demand.severity,
        message=message,
        hint=hint,
        tenant=tenant.name,
        field_path=knob,
        value=moved.effective.values[knob],
        primary=moved.effective.location(knob),
        related=tuple(related),
    )
