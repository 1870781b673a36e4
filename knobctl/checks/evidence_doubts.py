"""Whether a record is about a tenant's change, and why it does not hold, if it does not."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.checks.evidence_files import Evidence, NoEvidence
from knobctl.checks.evidence_record import Kind, measured_for
from knobctl.checks.evidences import layer_giving, layers_for
from knobctl.text import count, decimal_text, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.checks.evidence_record import Record
    from knobctl.checks.evidence_rules import Asked, Demand, Moved
    from knobctl.documents.model import Effective
    from knobctl.documents.repository import Repository
    from knobctl.knobs import Knob, KnobValue

UNASKED: Final = "no engine was asked"


def speaking_of(
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
    why = why_of_another_floor(one.record, moved.effective.catalogue[knob])
    return NoEvidence(one.path, why) if why is not None else one


def why_of_another_floor(record: Record, knob: Knob) -> str | None:
    """Why a record that has a floor's value does not tell what that floor does; None where it does, or it is no floor."""
    if knob.role is None or not knob.role.startswith("floor."):
        return None
    if record.kind is Kind.CALIBRATION and knob.role != "floor.no_match":
        return f"a calibration says where noise ends, and nothing of {knob.name}"
    floor = record.figures.get("floor")
    if record.kind is not Kind.RECOMMENDATION or not isinstance(floor, (int, float)):
        return None
    if floor == record.knobs[knob.name]:
        return None
    return f"the floor that it recommends, {spelled(floor)}, is another knob's"


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


def doubts_of(
    record: Record,
    effective: Effective,
    before: Mapping[str, KnobValue],
    demand: Demand,
    asked: Asked,
) -> list[str]:
    """Why evidence does not hold; empty where it does."""
    doubts = [*other_values(record, effective), *other_before(record, before)]
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


def other_before(record: Record, before: Mapping[str, KnobValue]) -> list[str]:
    """Where a simulation compared with other values than were in force: its losses are those of another step."""
    return [
        f"it compared with {name} {spelled(value)}, and {spelled(before[name])} is what changes"
        for name, value in record.before.items()
        if name in before and value != before[name]
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
