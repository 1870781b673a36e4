"""A recording as it speaks for one tenant: what it says under the tenant's other gates, and whether it may."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from knobctl.evidence.curve import (
    Histogram,
    OtherGates,
    RefusalCurve,
    curve_of,
    histogram,
    scores_by_label,
)
from knobctl.evidence.fitting import Fit, fit
from knobctl.evidence.recording import Label, Why

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from knobctl.evidence.recording import Heading, Recording
    from knobctl.fusion import Setup
    from knobctl.knobs import Catalogue, KnobValue


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A recording beside a tenant."""

    recording: Recording
    fit: Fit
    gates: OtherGates

    @property
    def heading(self) -> Heading:
        """Under what it was made."""
        return self.recording.heading

    @property
    def holds(self) -> bool:
        """Whether it may be drawn for the tenant, and there is something to draw."""
        return self.fit.holds and self.curve.counted > 0

    @cached_property
    def curve(self) -> RefusalCurve:
        """Of all questions that a floor decides about."""
        return curve_of(self.recording, self.gates)

    @cached_property
    def by_label(self) -> Mapping[Label, RefusalCurve]:
        """Of those with a label; labels that no question has are left out."""
        curves = {label: curve_of(self.recording, self.gates, label) for label in Label}
        return {label: curve for label, curve in curves.items() if curve.counted}

    @cached_property
    def left_out(self) -> Mapping[Why, int]:
        """How many questions are in no figure, by why."""
        whys = [one.why for one in self.recording.questions]
        found = {why: whys.count(why) for why in (Why.EMPTY, Why.FAILED)}
        return {why: number for why, number in found.items() if number}

    @cached_property
    def silent(self) -> Mapping[str, int]:
        """By ranker that took part, for how many questions it returned nothing, where for any."""
        asked = [one for one in self.recording.questions if one.live]
        missing = {
            name: sum(name not in one.live for one in asked) for name in self.heading.rankers
        }
        return {name: number for name, number in missing.items() if number}

    def within(self, floor: Fraction, gap: Fraction) -> int:
        """How many questions score a floor, as near as doubles summed in another order may differ."""
        scores = self.curve.scores
        return bisect_right(scores, float(floor + gap)) - bisect_left(scores, float(floor - gap))

    def by_band(self, best_score: Fraction, bands: int) -> Histogram:
        """The best scores by band: see `histogram`."""
        return histogram(self._scores, best_score, bands)

    @cached_property
    def _scores(self) -> Mapping[Label | None, Sequence[float]]:
        return scores_by_label(self.recording)

    def reckoned(self) -> Measured:
        """The same with everything reckoned that goes through all questions: where nothing is drawn."""
        for each in (self.curve, self.by_label, self.left_out, self.silent, self._scores):
            assert each is not None
        return self


def measured_for(
    recording: Recording,
    setup: Setup,
    *,
    tenant: str | None,
    catalogue: Catalogue,
    values: Mapping[str, KnobValue],
) -> Measured:
    """Read a recording for a tenant.

    Args:
        recording: What was recorded.
        setup: The tenant's fusion, under any floor.
        tenant: Its name, where it has one.
        catalogue: The knobs.
        values: Its effective values.
    """

    def by_role(role: str) -> float:
        knob = catalogue.by_role.get(role)
        return float(values[knob.name]) if knob else 0.0

    gates = OtherGates(
        expansion_floor=by_role("floor.expansion"), no_match_cosine=by_role("floor.no_match")
    )
    fitting = fit(recording.heading, setup, tenant=tenant, catalogue=catalogue, values=values)
    return Measured(recording=recording, fit=fitting, gates=gates)
