"""The rules that a fleet makes: a change to some knobs needs evidence, and evidence that still holds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knobctl.checks.evidence_doubts import doubts_of, speaking_of
from knobctl.checks.evidence_files import Evidence, NoEvidence
from knobctl.finding import Finding, Related, Severity
from knobctl.text import count, spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import date

    from knobctl.checks.evidence_record import Corpus
    from knobctl.checks.evidences import Evidences
    from knobctl.documents.model import Document, Effective
    from knobctl.finding import Location
    from knobctl.knobs import KnobValue

    Corpora = Callable[[Collection[str]], Corpus | str]
    """Tells what an engine has of tenants together now, or why nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one fleet demands of evidence."""

    fleet: Document
    knobs: Sequence[str]
    severity: Severity
    max_age_days: int | None
    min_questions: int | None
    encoder: str | None
    max_corpus_change: Fraction | None = None
    """As a share of the chunks that there were."""
    sample_tenants: int | None = None
    """How many measured tenants speak for all that take a layer; None where each must be measured itself."""

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
        max_corpus_change=_share(evidence.get("max_corpus_change")),
        sample_tenants=evidence.get("sample_tenants"),
    )


def _share(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text.removesuffix("%")) / 100


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


class Asked(NamedTuple):
    """What changes are held against."""

    files: Evidences
    today: date
    """Evidence of this day is 0 days old."""
    corpora: Corpora | None = None
    """Says how large the corpora of tenants are now; None where no engine is asked."""


def evidence_findings(moved: Moved, demand: Demand, asked: Asked) -> Iterator[Finding]:
    """Judge one tenant's changes by what its fleet demands.

    Args:
        moved: The tenant, and what was in force before.
        demand: Of its fleet.
        asked: The evidence of the repository, the day, and who knows the corpora.
    """
    for knob in demand.knobs:
        if not moved.changed(knob) and not moved.unsettled(knob, demand):
            continue
        named = [
            speaking_of(one, moved, demand, knob, asked) for one in asked.files.of(moved.tenant)
        ]
        covering = [one for one in named if isinstance(one, Evidence)]
        if not covering:
            none = [one for one in named if isinstance(one, NoEvidence)]
            yield _missing(moved, demand, knob, none)
            continue
        before = {name: value for name, value in moved.before.items() if moved.changed(name)}
        doubts = [
            (one, doubts_of(one.record, moved.effective, before, demand, asked)) for one in covering
        ]
        if all(found for _, found in doubts):
            # Of several files that do not hold, the one that lacks least is worth the words.
            yield _stale(moved, demand, knob, *min(doubts, key=lambda pair: len(pair[1])))


def _missing(moved: Moved, demand: Demand, knob: str, named: Sequence[NoEvidence]) -> Finding:
    whys = [f"{one.path}: {one.why}" for one in named[:_FEW]]
    whys += [f"and {count(len(named) - _FEW, 'more file')}"] if len(named) > _FEW else []
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


_FEW: Final = 3
"""So many files are named."""
_WAIVE: Final = "for some tenants, until a day, a waiver lets it off: rule"


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
