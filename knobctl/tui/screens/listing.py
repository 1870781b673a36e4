"""A place that is a list above all: its cursor goes by the keys that everybody's fingers know."""

from __future__ import annotations

from knobctl.tui.screens.place import Place
from knobctl.tui.widgets.virtual_table import VirtualTable


class Listing(Place):
    """A place with one list."""

    @property
    def table(self) -> VirtualTable:
        """The list."""
        return self.query_one(VirtualTable)

    def action_down(self) -> None:
        """One line down."""
        self.table.move(self.table.place + 1)

    def action_up(self) -> None:
        """One line up."""
        self.table.move(self.table.place - 1)

    def action_page_down(self) -> None:
        """A screen down."""
        self.table.move(self.table.place + self.table.height)

    def action_page_up(self) -> None:
        """A screen up."""
        self.table.move(self.table.place - self.table.height)

    def action_top(self) -> None:
        """The first line."""
        self.table.move(0)

    def action_bottom(self) -> None:
        """The last line."""
        self.table.move(len(self.table.view) - 1)
