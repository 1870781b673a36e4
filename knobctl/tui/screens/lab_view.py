"""The floor lab as it is drawn: the floor in a line, the plots, the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.containers import Vertical, VerticalScroll

from knobctl.errors import UsageError
from knobctl.fusion.numbers import number_text
from knobctl.report import evidence_words as words
from knobctl.report.floor_plots import curve_rows, reach_rows, score_rows
from knobctl.report.floor_table import floor_table
from knobctl.report.plot_parts import Ink, Role, said
from knobctl.tui.screens.place import Place
from knobctl.tui.ui import Field, Words, line
from knobctl.tui.widgets.plot_view import PlotView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult

    from knobctl.report.plot_parts import Row
    from knobctl.tui.lab import Lab
    from knobctl.tui.ui import Part

HEIGHTS: Final = ((38, 11, 4), (30, 7, 3), (0, 5, 2))
"""From how many rows of the screen on: rows of the curve, and of a panel of scores."""


class LabView(Place):
    """What is seen of one tenant's floor."""

    def __init__(self, tenant: str) -> None:
        super().__init__()
        self.tenant = tenant
        self.shown_lab: Lab | None = None
        """None until the tenant is read."""
        self.ink = Ink.FINE

    @property
    def lab(self) -> Lab:
        """What is being moved.

        Raises:
            UsageError: While the tenant is being read.
        """
        if self.shown_lab is None:
            raise UsageError(f"{self.tenant} is being read; a moment")
        return self.shown_lab

    def body(self) -> ComposeResult:
        """The floor in a line, the plots, the table, and a line to type in."""
        yield Words(line(f" LAB  {self.tenant}  reading ..."), id="lab-floor")
        with VerticalScroll(id="lab-plots", can_focus=True):
            with Vertical(id="lab-measured"):
                yield PlotView(id="lab-curve")
                yield PlotView(id="lab-scores")
            with Vertical(id="lab-arithmetic"):
                yield PlotView(id="lab-reach")
                yield PlotView(id="lab-origin")
        with VerticalScroll(id="lab-table", can_focus=True):
            yield Words(id="lab-numbers")
        yield Field(id="lab-typed")

    def draw_lab(self) -> None:
        """Draw everything anew: the floor moved, or something else came."""
        lab = self.shown_lab
        if lab is None or not self.is_mounted:
            return
        view, screen = lab.view, self.size.height
        curve, scores = next((curve, scores) for rows, curve, scores in HEIGHTS if screen >= rows)
        ink = self.ink
        self.query_one("#lab-floor", Words).update(line(*_headline(lab)))
        self.query_one("#lab-curve", PlotView).show(
            lambda width: curve_rows(view, width=width, height=curve, ink=ink)
        )
        self.query_one("#lab-scores", PlotView).show(
            lambda width: score_rows(view, width=width, height=scores, ink=ink)
        )
        self.query_one("#lab-scores").display = view.evidence is not None
        self.query_one("#lab-reach", PlotView).show(
            lambda width: reach_rows(view, width=width, ink=ink)
        )
        self.query_one("#lab-origin", PlotView).show(lambda width: _origin(lab, width))
        if self.query_one("#lab-table").display:
            self.query_one("#lab-numbers", Words).update(line(floor_table(view)))
        self.refresh_frame()

    def on_resize(self) -> None:
        """Fit the heights too."""
        super().on_resize()
        self.draw_lab()

    @property
    def seen(self) -> VerticalScroll:
        """What is seen of the two: plots or table."""
        table = self.query_one("#lab-table", VerticalScroll)
        return table if table.display else self.query_one("#lab-plots", VerticalScroll)

    def action_down(self) -> None:
        """A line down."""
        self.seen.scroll_down(animate=False)

    def action_up(self) -> None:
        """A line up."""
        self.seen.scroll_up(animate=False)

    def action_page_down(self) -> None:
        """A screen down."""
        self.seen.scroll_page_down(animate=False)

    def action_page_up(self) -> None:
        """A screen up."""
        self.seen.scroll_page_up(animate=False)

    def action_top(self) -> None:
        """The first line."""
        self.seen.scroll_home(animate=False)

    def action_bottom(self) -> None:
        """The last line."""
        self.seen.scroll_end(animate=False)

    def action_ascii(self) -> None:
        """Draw with ASCII characters, or finely again: not every font has braille."""
        self.ink = Ink.FINE if self.ink is Ink.ASCII else Ink.ASCII
        self.draw_lab()


def _headline(lab: Lab) -> Iterator[Part]:
    """The floor, the one in force, and what it costs by the evidence."""
    view = lab.view
    yield " LAB  "
    yield (lab.tenant, "strong")
    yield "  floor "
    yield (number_text(view.floor), "edited")
    if view.now is not None:
        yield f"  now {number_text(view.now)}"
    if view.measured:
        yield f"  evidence {view.measured.heading.made_at.date()}, n {view.measured.curve.counted:,}"
    yield f"\n {words.figures(view)}"


def _origin(lab: Lab, width: int) -> Iterator[Row]:
    measured = lab.view.measured
    if measured is None:
        return
    yield from said(words.origin(measured), width, Role.AXIS)
    for caution in words.cautions(measured):
        yield from said(f"! {caution}", width, Role.CUT)
    if lab.view.other:
        yield from said(words.origin(lab.view.other.measured), width, Role.AXIS)
