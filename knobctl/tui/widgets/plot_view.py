"""A plot on the screen: drawn anew for each width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from knobctl.report.plot_parts import Role
from knobctl.tui.ui import Words, line, lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual import events

    from knobctl.report.plot_parts import Row
    from knobctl.tui import ui

Draw: TypeAlias = "Callable[[int], Iterable[Row]]"
"""Gives the rows of a plot for a width in columns."""

ROLES: Final[dict[Role, ui.Role]] = {
    Role.TITLE: "strong",
    Role.AXIS: "muted",
    Role.DATA: "",
    Role.OTHER: "accent",
    Role.CUT: "error",
    Role.FLOOR: "edited",
    Role.NOW: "strong",
    Role.CEILING: "muted",
    Role.PLAIN: "",
}
"""What a role of a plot is on the screen."""


class PlotView(Words):
    """A plot, as wide as there is room."""

    _draw: Draw | None = None

    def show(self, draw: Draw) -> None:
        """Draw something from now on."""
        self._draw = draw
        self._drawn()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the plot to the new width."""
        del event
        self._drawn()

    def _drawn(self) -> None:
        width = self.size.width
        if self._draw is None or width <= 0:
            return
        rows = (line(*((text, ROLES[role]) for text, role in row)) for row in self._draw(width))
        self.update(lines(*rows))
