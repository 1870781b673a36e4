"""A floor's plots as one self-contained SVG: no script, no font, no address; readable on light and dark."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from knobctl.fusion.numbers import number_text
from knobctl.report import evidence_words as words
from knobctl.report.floor_view import marks
from knobctl.report.plot_parts import Role
from knobctl.report.reach import passes
from knobctl.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.evidence.curve import RefusalCurve
    from knobctl.report.floor_view import FloorView
    from knobctl.report.plot_marks import Mark

WIDTH: Final = 860
LEFT: Final = 190
RIGHT: Final = 640
"""Where the scale of scores ends; notes stand behind it."""
BANDS: Final = 50
_ROW: Final = 20
_STYLE: Final = """
text { font: 13px ui-monospace, monospace; fill: #222 }
.title { font-weight: bold } .small { font-size: 11px; fill: #555 }
.axis { stroke: #888; stroke-width: 1; fill: none } .curve { stroke: #0b57a4; stroke-width: 2; fill: none }
.other { stroke: #8a5a00; stroke-width: 2; stroke-dasharray: 2 4; fill: none }
.pass { fill: #0b57a4 } .pass2 { fill: #5b93c9 } .pass3 { fill: #a9c8e6 } .cut { fill: #c9c9c9 }
.refused { fill: #b3261e } .floor { stroke: #b3261e; stroke-width: 2 } .now { stroke: #555; stroke-dasharray: 6 3 }
.ceiling { stroke: #777; stroke-dasharray: 1 3 } .paper { fill: #fff }
@media (prefers-color-scheme: dark) {
  text { fill: #eee } .small { fill: #bbb } .paper { fill: #16181b } .curve { stroke: #7fb8f0 } .pass { fill: #7fb8f0 }
  .pass2 { fill: #4a7fb2 } .pass3 { fill: #2d4a66 } .cut { fill: #444 } .other { stroke: #e0b050 } .refused { fill: #f28b82 }
  .floor { stroke: #f28b82 } .now { stroke: #bbb }
}
"""


def floor_svg(view: FloorView, title: str) -> str:
    """Draw the bars of the reach, the curve and the scores under one another.

    Args:
        view: What is drawn.
        title: Whose it is; any text.
    """
    drawing = _Drawing(view)
    drawing.heading(title)
    drawing.bars()
    if view.evidence:
        drawing.curve(view.evidence.curve)
        drawing.scores()
        drawing.says(words.origin(view.evidence))
        for caution in words.cautions(view.evidence):
            drawing.says(f"! {caution}")
    else:
        drawing.says(words.no_curve(view))
    return drawing.whole(title)


class _Drawing:
    """Elements so far, and how far down they reach."""

    def __init__(self, view: FloorView) -> None:
        self.view = view
        self.most = view.reached.best_score
        self.down = 28
        self.parts: list[str] = []

    def whole(self, title: str) -> str:
        """The file."""
        height = self.down + 12
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" role="img">\n<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n'
            f'<rect class="paper" width="{WIDTH}" height="{height}"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )

    def text(
        self, at: tuple[float, float], words_: str, kind: str = "", anchor: str = "start"
    ) -> None:
        """Put words down."""
        x, y = at
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{_text(words_)}</text>'
        )

    def says(self, sentence: str) -> None:
        """Put a sentence under what was drawn."""
        from textwrap import wrap

        for line in wrap(printable(sentence), 104):
            self.down += 16
            self.text((20, self.down), line, "small")
        self.down += 4

    def heading(self, title: str) -> None:
        """Whose it is."""
        self.text((20, self.down), title, "title")
        self.down += 8

    def x(self, score: Fraction | float) -> float:
        """Where a score lies."""
        return LEFT + (RIGHT - LEFT) * float(score) / float(self.most)

    def bars(self) -> None:
        """What is reached, for every set of live rankers."""
        view, reached = self.view, self.view.reached
        self.says(f"What passes at {number_text(view.floor)}, by live rankers")
        top = self._marks_above()
        for live in reached.live_sets:
            self.down += _ROW
            y = self.down
            self.text((LEFT - 8, y), " ".join(live), "", "end")
            ends = [reached.best(live, number) for number in range(1, len(live) + 1)]
            self._box(Fraction(0), min(view.floor, ends[-1]), y, "cut")
            start = view.floor
            for kind, end in zip(("pass", "pass2", "pass3"), ends, strict=False):
                if end >= start:
                    self._box(start, end, y, kind)
                    start = end
            alone = "vector" if "vector" in live else live[0]
            empty = "; can be empty" if reached.can_be_empty(live) else ""
            row = reached.row(live, (alone,))
            self.text((RIGHT + 8, y), f"{alone} {passes(row).strip()}{empty}", "small")
        self._lines(top, self.down + 4)
        self._scale()
        self.says(words.arithmetic(view))

    def _box(self, start: Fraction, end: Fraction, y: float, kind: str) -> None:
        wide = max(self.x(end) - self.x(start), 2.0 if end > 0 else 0.0)
        self.parts.append(
            f'<rect class="{kind}" x="{self.x(start):.1f}" y="{y - 12}" width="{wide:.1f}" height="14"/>'
        )

    def curve(self, curve: RefusalCurve) -> None:
        """The share of questions that get nothing."""
        view = self.view
        made = view.evidence.heading.made_at.date() if view.evidence else ""
        self.down += 12
        self.says(f"Questions that get no context, by floor: n {curve.counted:,}, {made}")
        top = self._marks_above()
        base = self.down + 150
        self._lines(top, base)
        if view.beside:
            self._path(view.beside.measured.curve, base, "other")
        self._path(curve, base, "curve")
        for share in (0, 50, 100):
            self.text((LEFT - 8, base - 1.4 * share + 4), f"{share}%", "small", "end")
        self.down = base
        self._scale()
        for sentence in (words.refusal(view), words.labels(view), words.comparison(view)):
            self.says(sentence)

    def _path(self, curve: RefusalCurve, base: float, kind: str) -> None:
        """Level pieces and upright steps; nothing where nothing is known."""
        done = curve.below + curve.refused_anyway
        points = [f"M{self.x(curve.known_from):.1f},{_y(done, curve, base)}"]
        for score in curve.scores:
            before = _y(done, curve, base)
            done += 1
            if score >= curve.known_from:
                points.append(f"L{self.x(score):.2f},{before}V{_y(done, curve, base)}")
        points.append(f"H{RIGHT}")
        self.parts.append(f'<path class="{kind}" d="{"".join(points)}"/>')

    def scores(self) -> None:
        """The best scores by band, a panel a label."""
        view = self.view
        if not view.evidence:
            return
        counted = view.evidence.by_band(self.most, BANDS)
        most = max((max(each) for each in counted.by_label.values()), default=1)
        self.down += 12
        self.says("Best fused score of each question, red below the floor")
        top = self._marks_above()
        for label, numbers in counted.by_label.items():
            base = self.down + 70
            self.text((LEFT - 8, base - 30), label.value if label else "", "small", "end")
            self.text((LEFT - 8, base - 50), f"{most:,}", "small", "end")
            self._upright(numbers, counted.edges, base, most)
            self.down = base
        self._lines(top, self.down)
        self._scale()
        self.says(words.spread(view))

    def _upright(
        self, numbers: Sequence[int], edges: Sequence[float], base: float, most: int
    ) -> None:
        floor = float(self.view.floor)
        for at, number in enumerate(numbers):
            if not number:
                continue
            high = max(60 * number / most, 1)
            kind = "refused" if edges[at + 1] <= floor else "pass"
            left, right = self.x(edges[at]), self.x(edges[at + 1])
            self.parts.append(
                f'<rect class="{kind}" x="{left:.1f}" y="{base - high:.1f}" width="{right - left - 1:.1f}" height="{high:.1f}"/>'
            )

    def _marks_above(self) -> float:
        """Labels of the marks, each in a row of its own where they are near."""
        ends = [-1.0, -1.0, -1.0]
        for mark in sorted(marks(self.view), key=lambda one: one.at):
            x, wide = self.x(mark.at), 8.0 * len(mark.label)
            row = next((row for row, end in enumerate(ends) if end < x), 2)
            self.text((x, self.down + 14 + 13 * row), mark.label, "small")
            ends[row] = x + wide
        self.down += 48
        return self.down - 4

    def _lines(self, top: float, base: float) -> None:
        for mark in marks(self.view):
            x = self.x(mark.at)
            self.parts.append(
                f'<line class="{_kind(mark)}" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{base}"/>'
            )

    def _scale(self) -> None:
        self.parts.append(f'<path class="axis" d="M{LEFT},{self.down + 4}H{RIGHT}"/>')
        for part in range(11):
            score = self.most * part / 10
            self.text((self.x(score), self.down + 18), f"{float(score):.3g}", "small", "middle")
        self.down += 20


def _y(number: int, curve: RefusalCurve, base: float) -> str:
    return f"{base - 140 * number / curve.counted:.2f}"


def _kind(mark: Mark) -> str:
    return {Role.FLOOR: "floor", Role.NOW: "now"}.get(mark.role, "ceiling")


def _text(words_: str) -> str:
    return escape(printable(words_), {'"': "&quot;"})
