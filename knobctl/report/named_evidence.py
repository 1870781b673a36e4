"""What the evidence that a tenant names says of one value of one knob."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.checks.evidence_files import NoEvidence
from knobctl.checks.evidence_record import measured_for
from knobctl.checks.evidence_statement import statement
from knobctl.checks.evidences import speaks_for
from knobctl.text import count, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from knobctl.checks.evidence_files import Evidence
    from knobctl.knobs import Knob, KnobValue


def named_evidence_words(
    knob: Knob,
    values: Mapping[str, KnobValue],
    tenant: str,
    layers: tuple[str, ...],
    files: Iterable[Evidence | NoEvidence],
) -> Iterator[str]:
    """Say file by file what was measured of a knob: the record's sentence where it speaks of the values at hand.

    Args:
        knob: The knob.
        values: What would be in force.
        tenant: Whose values these are.
        layers: That it takes.
        files: What the tenant's document and its layers name as evidence.
    """
    for one in files:
        if isinstance(one, NoEvidence):
            yield f"{one.path}: {one.why}"
        elif not speaks_for(one.record, layers, tenant):
            yield f"{one.path}: it was measured for {measured_for(one.record)}"
        elif knob.name not in one.record.knobs:
            yield f"{one.path} did not measure it"
        elif all(values[name] == value for name, value in one.record.knobs.items()):
            yield f"{statement(one.record)} ({one.path})"
        else:
            yield _otherwise(one, knob, values)


def _otherwise(one: Evidence, knob: Knob, values: Mapping[str, KnobValue]) -> str:
    """What was measured instead: another value of the knob, or the same beside another one."""
    record = one.record
    measured = record.knobs[knob.name]
    here = "" if measured == values[knob.name] else f", not {spelled(values[knob.name])}"
    other = next(name for name, value in record.knobs.items() if values[name] != value)
    beside = (
        ""
        if here
        else f" beside {other} {spelled(record.knobs[other])}, not {spelled(values[other])}"
    )
    return (
        f"{one.path} measured {spelled(measured)}{here}{beside} on {count(record.questions, 'question')}"
        f" and {count(record.corpus.chunks, 'chunk')}, {record.made_at.date()}, {record.encoder}"
    )
