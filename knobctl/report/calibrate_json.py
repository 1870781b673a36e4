"""What was measured of a corpus' noise floor, for machines."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from knobctl.errors import ExitCode
from knobctl.evidence.noise_floor import clamp_sigma, is_tight
from knobctl.evidence.snapshot import without_infinities
from knobctl.text import rfc3339

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from knobctl.evidence.calibrating import Calibration
    from knobctl.evidence.noise_floor import Measurement
    from knobctl.evidence.rates import Rate
    from knobctl.evidence.resampling import Interval
    from knobctl.evidence.snapshot import Kept


def calibration_json(kept: Kept, *, evidence: str | None) -> str:
    """The answer of `calibrate`."""
    answer = {"anew": kept.anew, "evidence": evidence, "calibration": calibration_document(kept)}
    document = _head("calibrate") | answer
    return json.dumps(without_infinities(document), indent=2)


def shown_json(found: Sequence[Kept], now: datetime) -> str:
    """The answer of `calibrate show`."""
    listed = [
        {
            "calibration": calibration_document(kept),
            "expired": now >= kept.snapshot.expires_at,
            "mismatches": list(kept.mismatches) if kept.compared else None,
            "drift": kept.drift,
        }
        for kept in found
    ]
    return json.dumps(
        without_infinities(_head("calibrate show") | {"calibrations": listed}), indent=2
    )


def _head(command: str) -> dict[str, Any]:
    ok = ExitCode.OK
    return {"version": 1, "command": command, "outcome": ok.outcome, "exit_code": int(ok)}


def calibration_document(kept: Kept) -> dict[str, Any]:
    """One calibration."""
    snapshot = kept.snapshot
    return {
        "snapshot": str(kept.path),
        "mode": snapshot.mode.value,
        "made_at": rfc3339(snapshot.made_at),
        "made_by": snapshot.made_by,
        "expires_at": rfc3339(snapshot.expires_at),
        **asdict(snapshot.subject),
        **asdict(snapshot.fingerprint),
        "measured": _measured(snapshot.measured) if snapshot.measured else None,
        "given": _given(snapshot.given) if snapshot.given else None,
    }


def _measured(found: Calibration) -> dict[str, Any]:
    intervals, attained, hub = found.intervals, found.attained, found.hub
    return {
        "measurable": not found.faults,
        "faults": list(found.faults),
        "repeated": found.repeated,
        "alpha": found.asked.alpha,
        "seed": found.asked.seed,
        "resamples": found.asked.resamples,
        "noise_floor": _estimate(found.noise_floor, intervals.noise_floor if intervals else None),
        "false_accept": asdict(found.false_accept) if found.false_accept else None,
        "maxima": {
            "values": list(found.off_topic.maxima),
            "highest": found.highest,
            "mean": found.mean,
            "deviation": found.deviation,
        },
        "attained": asdict(attained) if attained else None,
        "hub": asdict(hub) if hub else None,
        "mu": _estimate(
            found.among.mu if found.among else None, intervals.mu if intervals else None
        ),
        "sigma": _estimate(
            found.among.sigma if found.among else None, intervals.sigma if intervals else None
        ),
        "pairs": found.among.pairs if found.among else None,
        "copies": found.among.copies if found.among else None,
        "tight": None if not found.among or found.among.mu is None else is_tight(found.among.mu),
        "on_topic": None
        if found.on_topic is None
        else {"at_or_under": _rate(found.on_topic.at_or_under), "auc": found.on_topic.auc},
    }


def _given(found: Measurement) -> dict[str, Any]:
    return asdict(found) | {
        "sigma_clamped": clamp_sigma(found.sigma),
        "tight": is_tight(found.mu),
    }


def _estimate(value: float | None, interval: Interval | None) -> dict[str, float | None] | None:
    if value is None:
        return None
    low, high = interval or (None, None)
    return {"value": value, "low": low, "high": high}


def _rate(rate: Rate | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    counts = {"numerator": rate.numerator, "denominator": rate.denominator}
    return {**counts, "value": rate.value, "low": rate.low, "high": rate.high}
