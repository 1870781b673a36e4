"""What recorded scores say of one floor, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knobctl.text import rfc3339

if TYPE_CHECKING:
    from fractions import Fraction

    from knobctl.evidence.curve import RefusalCurve
    from knobctl.evidence.measured import Measured


def evidence_json(measured: Measured, floor: Fraction) -> dict[str, Any]:
    """The counts at a floor; none where the recording does not hold for the setup, with the reason."""
    heading = measured.heading
    told = measured.holds
    return {
        "file": measured.recording.source,
        "digest": measured.recording.digest,
        "made_at": rfc3339(heading.made_at),
        "tenant": heading.tenant,
        "encoder": heading.encoder,
        "rankers": list(heading.rankers),
        "questions": heading.questions,
        "left_out": {why.value: number for why, number in measured.left_out.items()},
        "refusals": list(measured.fit.refusals),
        "cautions": list(measured.fit.cautions),
        "known_from": measured.curve.known_from,
        "refused": _rate(measured.curve, floor) if told else None,
        "refused_by_label": {
            label.value: _rate(curve, floor) for label, curve in measured.by_label.items()
        }
        if told
        else {},
    }


def _rate(curve: RefusalCurve, floor: Fraction) -> dict[str, Any] | None:
    if not curve.knows(floor):
        return None
    number, of = curve.refused(floor), curve.counted
    return {"numerator": number, "denominator": of, "value": number / of if of else None}
