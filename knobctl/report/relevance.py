"""What cosines mean beside a noise floor: text and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import ExitCode
from knobctl.evidence.given_labels import delivery, gap_tier, given_label, in_use, z_words
from knobctl.evidence.noise_floor import is_tight
from knobctl.evidence.noise_floor import relevance as given_relevance
from knobctl.evidence.snapshot import without_infinities
from knobctl.report.ages import ago
from knobctl.report.calibrate import PROVISIONAL, TIGHT, encoder_words
from knobctl.report.reach import wrapped
from knobctl.text import count, rfc3339

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from knobctl.evidence.calibrating import Calibration
    from knobctl.evidence.given_labels import Delivery, InUse
    from knobctl.evidence.noise_floor import Measurement, Relevance
    from knobctl.evidence.snapshot import Snapshot
    from knobctl.server.retrieval.off_topic import Relevance as Standing


_MATCHES: Final = {"weak", "moderate", "strong"}
"""The tiers above the cut-off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """Cosines with their labels in the default mode."""

    snapshot: Snapshot
    calibration: Calibration
    alpha: float
    drift: str | None
    rows: tuple[tuple[float, Standing, Relevance | None], ...]
    """Each with what the given package's rule makes of it; None where sigma is not known."""


def labelled(
    snapshot: Snapshot,
    found: Calibration,
    cosines: Sequence[float],
    *,
    alpha: float | None,
    drift: str | None,
) -> Labelled:
    """Label cosines of questions with their closest chunks."""
    return Labelled(
        snapshot=snapshot,
        calibration=found,
        alpha=found.asked.alpha if alpha is None else alpha,
        drift=drift,
        rows=tuple((one, found.relevance(one, alpha), given_label(found, one)) for one in cosines),
    )


def relevance_text(labels: Labelled, now: datetime) -> str:
    """Tell people."""
    snapshot, found = labels.snapshot, labels.calibration
    floor, why = found.floor_at(labels.alpha), "; ".join(found.faults_at(labels.alpha))
    head = (
        f"not measurable: {why}"
        if floor is None
        else f"noise floor {floor:.3f} at {labels.alpha:g}"
    )
    probes = count(snapshot.fingerprint.probes.number, "probe")
    lines = [
        wrapped(
            f"{snapshot.subject.words}: {head}; {probes}, {encoder_words(snapshot.fingerprint)}, measured {ago(snapshot.made_at.isoformat(), now)}",
            indent="  ",
        ),
        f"{'cosine':<8} {'tier':<14} {'p':>7} {'z':>7}  z (given package)",
    ]
    for cosine, standing, upstream in labels.rows:
        p = "" if standing.p_value is None else f"{standing.p_value:.3f}"
        z = "" if standing.z is None else f"{standing.z:+.2f}"
        given = "" if upstream is None else f"{upstream.z:+.2f}"
        lines.append(f"{cosine:<8g} {standing.tier.value:<14} {p:>7} {z:>7}  {given}".rstrip())
    return "\n".join([*lines, *_hints(labels)])


def _hints(labels: Labelled) -> list[str]:
    tiers = {standing.tier.value for _, standing, _ in labels.rows}
    mu = labels.calibration.among.mu if labels.calibration.among else None
    hints = []
    if tiers & _MATCHES:
        hints.append(wrapped(PROVISIONAL, indent="  "))
    if "weak" in tiers and mu is not None and is_tight(mu):
        hints.append(wrapped(TIGHT, indent="  "))
    return hints


def relevance_json(labels: Labelled) -> str:
    """Tell machines."""
    snapshot, found = labels.snapshot, labels.calibration
    document = _head("default", snapshot) | {
        "alpha": labels.alpha,
        "noise_floor": found.floor_at(labels.alpha),
        "sigma": None,
        "drift": labels.drift,
        "labels": [
            {
                "cosine": cosine,
                "tier": standing.tier.value,
                "p_value": standing.p_value,
                "z": standing.z,
                "given_z": None if upstream is None else upstream.z,
                "delivered": None,
                "reason": None,
            }
            for cosine, standing, upstream in labels.rows
        ],
    }
    return json.dumps(without_infinities(document), indent=2)


def _head(mode: str, snapshot: Snapshot | None) -> dict[str, Any]:
    ok = ExitCode.OK
    return {
        "version": 1,
        "command": "calibrate relevance",
        "outcome": ok.outcome,
        "exit_code": int(ok),
        "mode": mode,
        "made_at": None if snapshot is None else rfc3339(snapshot.made_at),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenLabels:
    """Cosines with the labels of the given package."""

    subject: str
    snapshot: Snapshot | None
    used: InUse
    notes: int
    drift: str | None
    rows: tuple[tuple[float, Relevance, Delivery], ...]


def given_labels(
    subject: str,
    snapshot: Snapshot | None,
    measurement: Measurement | None,
    cosines: Sequence[float],
    *,
    dims: int,
    drift: str | None,
) -> GivenLabels:
    """Label cosines as the given package does, with what it ships where nothing was measured."""
    used, notes = in_use(measurement, dims), measurement.notes if measurement else 0
    rows = []
    for one in cosines:
        label = given_relevance(one, used.noise_floor, used.sigma, used.default_noise_floor)
        rows.append((one, label, delivery(label.tier, tight=used.tight, notes=notes)))
    return GivenLabels(
        subject=subject,
        snapshot=snapshot,
        used=used,
        notes=notes,
        drift=drift,
        rows=tuple(rows),
    )


def given_text(labels: GivenLabels, now: datetime) -> str:
    """Tell people."""
    used = labels.used
    origin = (
        f"measured {ago(labels.snapshot.made_at.isoformat(), now)}"
        if used.measured and labels.snapshot
        else "as shipped for vectors of that length: nothing that is trusted was measured"
    )
    lines = [
        wrapped(
            f"{labels.subject}: N {used.noise_floor:.4g}, sigma {used.sigma:.4g}, default N {used.default_noise_floor:g}; {origin}",
            indent="  ",
        )
    ]
    for cosine, label, given in labels.rows:
        out = "text given out" if given.delivered else f"text withheld ({given.reason})"
        few = f"; cannot be judged yet: {labels.notes} of 30 chunks" if given.too_small else ""
        lines.append(f"{cosine:<8g} {label.tier.value:<10} {z_words(label.z)}; {out}{few}")
    lines.append(wrapped(PROVISIONAL, indent="  "))
    if used.tight and any(label.tier.value == "weak" for _, label, _ in labels.rows):
        lines.append(wrapped(TIGHT, indent="  "))
    return "\n".join(lines)


def given_json(labels: GivenLabels) -> str:
    """Tell machines."""
    document = _head("compat", labels.snapshot) | {
        "alpha": None,
        "noise_floor": labels.used.noise_floor,
        "sigma": labels.used.sigma,
        "drift": labels.drift,
        "labels": [
            {
                "cosine": cosine,
                "tier": label.tier.value,
                "p_value": None,
                "z": label.z,
                "given_z": label.z,
                "delivered": given.delivered,
                "reason": given.reason or None,
            }
            for cosine, label, given in labels.rows
        ],
    }
    return json.dumps(without_infinities(document), indent=2)


def gap_text(scores: Sequence[float]) -> str:
    """Tell people what the gap between two fused scores is called."""
    tier = gap_tier(scores)
    if tier is None:
        return "no label: it takes two fused scores, the best of them above 0"
    said = delivery(tier, tight=False, notes=0, floor_applied=False)
    out = "text given out" if said.delivered else f"text withheld ({said.reason})"
    return (
        f"{tier.value}: the gap between the two best fused scores; {out}\n"
        "It tells how far two candidates are apart, and nothing of their relevance."
    )


def gap_json(scores: Sequence[float]) -> str:
    """Tell machines."""
    tier = gap_tier(scores)
    said = delivery(tier, tight=False, notes=0, floor_applied=False)
    unknown = dict.fromkeys(("alpha", "noise_floor", "sigma", "drift"))
    label = {
        **dict.fromkeys(("cosine", "p_value", "z", "given_z")),
        "tier": tier.value if tier else None,
        "delivered": said.delivered,
        "reason": said.reason or None,
    }
    return json.dumps(_head("compat", None) | unknown | {"labels": [label]}, indent=2)
