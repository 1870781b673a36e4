"""A calibration as evidence: the figures that may lie in a repository, with nothing of probes and chunks. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from knobctl.checks.evidence_record import (
    Corpus,
    Estimate,
    Figure,
    Kind,
    Record,
    Share,
    measured_knobs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.evidence.calibrating import Calibration
    from knobctl.evidence.noise_floor import Measurement
    from knobctl.evidence.resampling import Interval
    from knobctl.evidence.snapshot import Snapshot
    from knobctl.knobs import Catalogue, KnobValue


def calibration_record(
    snapshot: Snapshot, catalogue: Catalogue, values: Mapping[str, KnobValue], *, engine: str
) -> Record | None:
    """Make the record of a tenant's calibration.

    Args:
        snapshot: What was measured.
        catalogue: The knobs.
        values: The tenant's values in force.
        engine: What kind of engine was asked.

    Returns:
        None where nothing was measurable, so that there is nothing to be evidence of.
    """
    found, given = snapshot.measured, snapshot.given
    if found is not None and found.noise_floor is None:
        return None
    made = snapshot.fingerprint
    return Record(
        kind=Kind.CALIBRATION,
        made_at=snapshot.made_at,
        made_by=snapshot.made_by,
        tenant=snapshot.subject.tenant,
        knobs=measured_knobs(catalogue, values),
        questions=made.probes.number,
        questions_digest=made.probes.digest,
        encoder=made.encoder.model or "unknown",
        engine=engine,
        corpus=Corpus(
            chunks=made.corpus.chunks,
            documents=made.corpus.documents,
            fingerprint=made.corpus.digest,
        ),
        figures=_figures(found) if found is not None else _given(given),
    )


def _figures(found: Calibration) -> dict[str, Figure]:
    told, among, accept, on = found.intervals, found.among, found.false_accept, found.on_topic
    assert accept is not None
    figures: dict[str, Figure] = {
        "noise_floor": _estimate(found.noise_floor, told.noise_floor if told else None),
        "alpha": found.asked.alpha,
        "false_accept": Estimate(accept.expected, accept.low, accept.high),
        "probes": len(found.off_topic.maxima),
    }
    if among is not None:
        figures["mu"] = _estimate(among.mu, told.mu if told else None)
        figures["sigma"] = _estimate(among.sigma, told.sigma if told else None)
    if on is not None:
        figures["on_topic_silenced"] = Share.of(on.at_or_under) if on.at_or_under else None
        figures["auc"] = on.auc
    return figures


def _given(found: Measurement | None) -> dict[str, Figure]:
    assert found is not None
    return {
        "noise_floor": found.noise_floor,
        "mu": found.mu if math.isfinite(found.mu) else None,
        "sigma": found.sigma if math.isfinite(found.sigma) else None,
        "probes": found.probes,
    }


def _estimate(value: float | None, interval: Interval | None) -> Estimate:
    return Estimate(value, *(interval or (None, None)))
