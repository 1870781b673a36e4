"""A plot on the screen: drawn anew for each width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from knobctl.report.plot_parts import Role
from knobctl.tui.ui import Words, line, lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.content import Content
    from textual.geometry import Size

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
    _drawn: tuple[int, list[Content]] = (-1, [])
    """The lines of a width: they are asked for twice, for their height and to be seen."""

    def show(self, draw: Draw) -> None:
        """Draw something from now on."""
        self._draw, self._drawn = draw, (-1, [])
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as the plot has at a width."""
        del container, viewport
        return len(self._lines(width))

    def render(self) -> Content:
        """The plot at the width that there is."""
        return lines(*self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        if self._draw is None or width <= 0:
            return []
        if self._drawn[0] != width:
            rows = [line(*((text, ROLES[role]) for text, role in row)) for row in self._draw(width)]
            self._drawn = width, rows
        return self._drawn[1]
