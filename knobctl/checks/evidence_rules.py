"""The rules that a fleet makes: a change to some knobs needs evidence, and evidence that still holds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knobctl.checks.evidence_files import Evidence, NoEvidence
from knobctl.checks.evidence_record import measured_for
from knobctl.checks.evidences import layer_giving, layers_for
from knobctl.finding import Finding, Related, Severity
from knobctl.text import count, decimal_text, spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import date

    from knobctl.checks.evidence_record import Corpus, Record
    from knobctl.checks.evidences import Evidences
    from knobctl.documents.model import Document, Effective
    from knobctl.documents.repository import Repository
    from knobctl.finding import Location
    from knobctl.knobs import KnobValue

    Corpora = Callable[[Collection[str]], Corpus | str]
    """Tells what an engine has of tenants together now, or why nobody knows."""

UNASKED: Final = "no engine was asked"


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
        named = [_covering(one, moved, demand, knob, asked) for one in asked.files.of(moved.tenant)]
        covering = [one for one in named if isinstance(one, Evidence)]
        if not covering:
            none = [one for one in named if isinstance(one, NoEvidence)]
            yield _missing(moved, demand, knob, none)
            continue
        doubts = [(one, doubts_of(one.record, moved.effective, demand, asked)) for one in covering]
        if all(found for _, found in doubts):
            # Of several files that do not hold, the one that lacks least is worth the words.
            yield _stale(moved, demand, knob, *min(doubts, key=lambda pair: len(pair[1])))


def _covering(
    one: Evidence | NoEvidence, moved: Moved, demand: Demand, knob: str, asked: Asked
) -> Evidence | NoEvidence:
    """The evidence where it is about this tenant and this knob; else why it is not."""
    if isinstance(one, NoEvidence):
        return one
    if moved.tenant.name not in one.record.measured_tenants:
        why = _why_no_sample(one.record, moved, demand, knob, asked.files.repository)
        if why is not None:
            return NoEvidence(one.path, f"it was measured for {measured_for(one.record)}{why}")
    if knob not in one.record.knobs:
        return NoEvidence(one.path, "it did not measure it")
    return one


def _why_no_sample(
    record: Record, moved: Moved, demand: Demand, knob: str, repository: Repository
) -> str | None:
    """Why a sample of others does not speak for a tenant: continues whom it was measured for; None where it does."""
    layer = record.sample.layer if record.sample else None
    if record.sample is None or layer is None:
        return ""
    if layer not in layers_for(repository, moved.tenant):
        return ", which it does not take"
    if demand.sample_tenants is None:
        return f", and {demand.name} does not say how many speak for the others (sample_tenants)"
    giving = layer_giving(repository, moved.effective, knob)
    if giving != layer:
        return f", and {knob} {f'comes from layer {giving}' if giving else 'is not from there'}"
    takers = repository.takers(layer)
    there = sum(tenant in takers for tenant in record.sample.tenants)
    needed = min(demand.sample_tenants, len(takers))
    if there < needed:
        still = "" if there == len(record.sample.tenants) else f", of which {there:,} still take it"
        return f"{still}, and {demand.name} wants {needed:,} of {len(takers):,}"
    return None


def doubts_of(record: Record, effective: Effective, demand: Demand, asked: Asked) -> list[str]:
    """Why evidence does not hold; empty where it does."""
    doubts = other_values(record, effective)
    age = (asked.today - record.made_at.date()).days
    if age < -1:  # a day may have begun elsewhere
        doubts.append(f"it says that it was made on {record.made_at.date()}, which is yet to come")
    if demand.max_age_days is not None and age > demand.max_age_days:
        doubts.append(f"it is {count(age, 'day')} old, and {demand.max_age_days} is the most")
    if demand.min_questions is not None and record.questions < demand.min_questions:
        questions = count(record.questions, "question")
        doubts.append(f"it asked {questions}, and {demand.min_questions:,} is the fewest")
    if demand.encoder is not None and record.encoder != demand.encoder:
        doubts.append(f"its embedder is {record.encoder}, and the fleet's is {demand.encoder}")
    return [*doubts, *_other_corpus(record, demand, asked)]


def other_values(record: Record, effective: Effective) -> list[str]:
    """Where a record measured other values than are wanted."""
    return [
        f"it measured {name} {spelled(value)}, and {spelled(effective.values[name])} is wanted"
        for name, value in record.knobs.items()
        if value != effective.values[name]
    ]


def _other_corpus(record: Record, demand: Demand, asked: Asked) -> Iterator[str]:
    """Whether the corpus has changed by more than the fleet allows."""
    limit = demand.max_corpus_change
    if limit is None:
        return
    now = asked.corpora(record.measured_tenants) if asked.corpora else UNASKED
    if isinstance(now, str):
        asked.files.unjudged[f"max_corpus_change of {demand.name} is not judged: {now}"] = None
        return
    then = record.corpus
    if then.fingerprint is not None and then.fingerprint == now.fingerprint:
        return
    change = abs(now.chunks - then.chunks)
    if change > limit * then.chunks:
        more = "more" if now.chunks > then.chunks else "fewer"
        by = f" ({_percent(Fraction(change, then.chunks))} {more})" if then.chunks else ""
        yield (
            f"it searched {count(then.chunks, 'chunk')}, and there are {now.chunks:,} now{by}; "
            f"{_percent(limit)} is the most that may change"
        )
    elif not limit and now.fingerprint and then.fingerprint:
        yield f"the corpus is another than the one that it searched; {_percent(limit)} is the most that may change"


def _percent(share: Fraction) -> str:
    return f"{decimal_text(round(float(share * 100), 2))}%"


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
