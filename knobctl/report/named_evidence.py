"""What the evidence that a tenant names says of one value of one knob."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.checks.evidence_files import NoEvidence
from knobctl.checks.evidence_record import measured_for
from knobctl.checks.evidences import speaks_for
from knobctl.text import count, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knobctl.checks.evidence_files import Evidence
    from knobctl.knobs import Knob, KnobValue


def named_evidence_words(
    knob: Knob,
    value: KnobValue,
    tenant: str,
    layers: tuple[str, ...],
    files: Iterable[Evidence | NoEvidence],
) -> Iterator[str]:
    """Say file by file what was measured of a knob, and whether that is the value at hand.

    Args:
        knob: The knob.
        value: What would be in force.
        tenant: Whose value it is.
        layers: That it takes.
        files: What the tenant's document names as evidence.
    """
    for one in files:
        if isinstance(one, NoEvidence):
            yield f"{one.path}: {one.why}"
        elif not speaks_for(one.record, layers, tenant):
            yield f"{one.path}: it was measured for {measured_for(one.record)}"
        elif knob.name not in one.record.knobs:
            yield f"{one.path} did not measure it"
        else:
            measured = one.record.knobs[knob.name]
            here = "" if measured == value else f", not {spelled(value)}"
            yield (
                f"{one.path} measured {spelled(measured)}{here} on {count(one.record.questions, 'question')}"
                f" and {count(one.record.corpus.chunks, 'chunk')}, {one.record.made_at.date()}, {one.record.encoder}"
            )
