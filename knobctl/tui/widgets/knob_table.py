"""The table of a tenant's knobs: rows under their groups, a cursor, and what is typed at the place where it is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.containers import VerticalScroll
from textual.geometry import Region
from textual.message import Message

from knobctl.tui.knob_rows import Column, KnobRow, columns, head_line, row_line, table_lines
from knobctl.tui.ui import Words, line, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.content import Content


_EVERYTHING: Final = 100
"""From so many columns of the terminal on, default and range stand in the table too."""


class KnobTable(VerticalScroll, can_focus=True, inherit_bindings=False):
    """The rows. The cursor is on a knob, not on a line: rows may come and go under it."""

    DEFAULT_CSS = """
    KnobTable {
        height: 1fr;
        scrollbar-size-vertical: 1;
        background: $background;
        & > Words { width: 100%; text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """

    class Chosen(Message):
        """The cursor came to another knob."""

        def __init__(self, knob: str) -> None:
            super().__init__()
            self.knob = knob

    class Entered(Message):
        """A row was clicked that has the cursor already."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.rows: Sequence[KnobRow] = ()
        self.knob = ""
        """The knob that the cursor is on; empty while there are no rows."""
        self._typing: str | None = None
        self._lines: list[KnobRow | str] = []
        self._drawn = 0

    def compose(self) -> ComposeResult:
        """All rows in one text."""
        yield Words(id="rows")

    def show(self, rows: Sequence[KnobRow], typing: str | None = None) -> None:
        """Show rows.

        Args:
            rows: All of them.
            typing: What stands in the field for the knob under the cursor, while somebody types.
        """
        if self.rows and (self.rows, self._typing) == (rows, typing):
            return
        self.rows, self._typing = rows, typing
        self._lines = list(table_lines(rows))
        if rows and self.knob not in {row.knob.name for row in rows}:
            self.knob = rows[0].knob.name
        self.draw()

    @property
    def row(self) -> KnobRow | None:
        """The row that the cursor is on."""
        return next((row for row in self.rows if row.knob.name == self.knob), None)

    def draw(self) -> None:
        """Draw all rows; there are some dozens."""
        shown = self._columns
        drawn = [
            line((f" {one}", "muted"))
            if isinstance(one, str)
            else line(
                *row_line(
                    one,
                    shown,
                    chosen=one.knob.name == self.knob,
                    typing=self._typing if one.knob.name == self.knob else None,
                )
            )
            for one in self._lines
        ]
        # As many lines as before need no other place on the screen, which costs more than they do.
        grown = len(drawn) != self._drawn
        self._drawn = len(drawn)
        self.query_one("#rows", Words).update(lines(*drawn), layout=grown)

    def head(self) -> Content:
        """The titles of the columns."""
        return line(*head_line(self._columns))

    @property
    def _columns(self) -> list[Column]:
        whole = self.app.size.width
        return columns(self.rows, self.size.width or whole, everything=whole >= _EVERYTHING)

    def choose(self, knob: str, *, quietly: bool = False) -> None:
        """Put the cursor on a knob.

        Args:
            knob: Which.
            quietly: Whether who asks for it knows it, so that nobody need be told.
        """
        if knob == self.knob or knob not in {row.knob.name for row in self.rows}:
            return
        self.knob = knob
        self.draw()
        self.reveal()
        if not quietly:
            self.post_message(self.Chosen(knob))

    def reveal(self) -> None:
        """Scroll so that the cursor is seen; the first one with the name of its group."""
        at = self._line_of_cursor()
        top = at - 1 if at and isinstance(self._lines[at - 1], str) else at
        self.scroll_to_region(Region(0, top, 1, at - top + 1), animate=False, force=True)

    def _line_of_cursor(self) -> int:
        return next(
            (
                index
                for index, one in enumerate(self._lines)
                if not isinstance(one, str) and one.knob.name == self.knob
            ),
            0,
        )

    def move(self, by: int) -> None:
        """Move the cursor by so many rows."""
        names = [row.knob.name for row in self.rows]
        if names:
            at = names.index(self.knob) + by
            self.choose(names[max(0, min(len(names) - 1, at))])

    def page(self, by: int) -> None:
        """Move the cursor by as many as are seen."""
        self.move(by * max(self.size.height - 2, 1))

    def on_resize(self) -> None:
        """Fit the columns to the new width."""
        self.draw()
        self.call_after_refresh(self.reveal)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the pointer is; on its own row, edit."""
        at = int(event.y + self.scroll_offset.y) if event.widget is self else event.y
        if not 0 <= at < len(self._lines):
            return
        one = self._lines[at]
        if isinstance(one, str):
            return
        if one.knob.name == self.knob:
            self.post_message(self.Entered())
        else:
            self.choose(one.knob.name)
