"""What is looked at when a floor is weighed: its arithmetic, what was measured, and the scores to point at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knobctl.fusion.numbers import number_text
from knobctl.report.plot_marks import Mark
from knobctl.report.plot_parts import Role

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from knobctl.evidence.measured import Measured
    from knobctl.fusion import Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Another tenant, or another file of the same one, laid under the first."""

    name: str
    """As the legend calls it."""
    measured: Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorView:
    """One floor of one tenant, with all that is known of it."""

    reached: Reach
    """Under the floor that is looked at."""
    now: Fraction | None = None
    """The floor in force."""
    draft: Fraction | None = None
    """That of the draft."""
    measured: Measured | None = None
    other: Compared | None = None

    @property
    def floor(self) -> Fraction:
        """The floor that is looked at."""
        return self.reached.setup.floor

    @property
    def evidence(self) -> Measured | None:
        """What was measured, where it may be drawn for the tenant."""
        return self.measured if self.measured and self.measured.holds else None

    @property
    def beside(self) -> Compared | None:
        """What it is compared with, where that may be drawn on the same scale."""
        other = self.other
        if other is None or not other.measured.holds:
            return None
        same = other.measured.heading.formula == self.reached.setup.formula
        return other if same else None


def marks(view: FloorView) -> list[Mark]:
    """The floor that is looked at, those in force and in the draft, and the ceilings of the live rankers."""
    found = [Mark(view.floor, f"floor {number_text(view.floor)}", Role.FLOOR)]
    for name, at in (("draft", view.draft), ("now", view.now)):
        if at is None:
            continue
        text = name if at == view.floor else f"{name} {number_text(at)}"
        found.append(Mark(at, text, Role.NOW))
    best = view.reached.best_score
    tops = (one for one in ceilings(view.reached) if one.label != number_text(view.floor))
    return [one for one in (*found, *tops) if 0 < one.at <= best]


def ceilings(reached: Reach) -> Iterator[Mark]:
    """The best that hits of one, of two rankers score while all are live; vector alone where it is less."""
    live = reached.enabled
    tops = [reached.best(live, number) for number in range(1, len(live))]
    for top in dict.fromkeys(tops):
        yield Mark(top, reached.told(top), Role.CEILING)
    alone = reached.vector_ceiling
    if alone and alone not in tops and len(live) > 1:
        yield Mark(alone, f"vector {reached.told(alone)}", Role.CEILING)
