"""A list of any number of lines: it owns none of them, and draws only those that are seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol, get_args

from rich.segment import Segment
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from knobctl.tui.ui import Role, fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual import events

_KEPT: Final = 512
"""So many drawn lines are kept."""
_SIGNS: Final = 2
"""Columns before the first: the cursor's sign and the mark's."""


class Column(NamedTuple):
    """One column of the list, as wide as it is drawn; a blank follows."""

    name: str
    title: str
    width: int
    right: bool = False
    """Whether its cells stand at the right end."""


class Lines(Protocol):
    """What a list shows. A line is called by its row, a number that stays its own."""

    @property
    def revision(self) -> object:
        """Another one whenever anything has changed that is seen."""

    def columns(self, width: int) -> Sequence[Column]:
        """The columns that fit into a width, the sign before them and the blanks between them counted."""

    def cell(self, row: int, column: str) -> tuple[str, Role]:
        """What one cell says, as it came from outside."""

    def is_marked(self, row: int) -> bool:
        """Whether a row is marked."""


class VirtualTable(ScrollView, can_focus=True, inherit_bindings=False):
    """The list: header, cursor, marks. Which rows it shows, and in which order, is given as numbers."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "virtual-table--header",
        "virtual-table--cursor",
        *(f"virtual-table--{role}" for role in get_args(Role) if role),
    }
    DEFAULT_CSS = """
    VirtualTable {
        background: $background;
        color: $text;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        & > .virtual-table--header { color: $text-muted; text-style: bold; }
        & > .virtual-table--cursor {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
            text-style: $block-cursor-text-style;
        }
        & > .virtual-table--muted { color: $text-muted; }
        & > .virtual-table--strong { text-style: bold; }
        & > .virtual-table--good { color: $text-success; }
        & > .virtual-table--warn { color: $text-warning; text-style: bold; }
        & > .virtual-table--error { color: $text-error; text-style: bold; }
        & > .virtual-table--drift { color: $text-accent; }
        & > .virtual-table--edited { color: $text-primary; text-style: bold; }
        & > .virtual-table--accent { color: $text-accent; }
        & > .virtual-table--reverse { text-style: bold reverse; }
    }
    """

    @dataclass
    class Moved(Message):
        """The cursor came to another row, or to none."""

        row: int | None

        def can_replace(self, message: Message) -> bool:
            """Only where it came to rest matters."""
            return isinstance(message, VirtualTable.Moved)

    @dataclass
    class Opened(Message):
        """Somebody wants a closer look at a row."""

        row: int

    def __init__(self, lines: Lines, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.lines = lines
        self.view: Sequence[int] = ()
        """The rows that are shown, in order."""
        self.place = 0
        """Where in the view the cursor is."""
        self._drawn: LRUCache[tuple[object, ...], Strip] = LRUCache(_KEPT)
        self._columns: tuple[int, Sequence[Column]] = (0, ())

    @property
    def row(self) -> int | None:
        """The row under the cursor."""
        return self.view[self.place] if self.place < len(self.view) else None

    @property
    def height(self) -> int:
        """How many lines are seen below the header."""
        return max(self.size.height - 1, 1)

    @property
    def seen(self) -> Sequence[int]:
        """The rows that are seen."""
        first = round(self.scroll_y)
        return self.view[first : first + self.height]

    def show(self, view: Sequence[int], *, keep: int | None = None) -> None:
        """Show other rows.

        Args:
            view: The rows, in order.
            keep: The row on which the cursor stays, if it is among them; else it stays where it is.
        """
        before = self.row
        self.view = view
        if keep is not None and self.row != keep and keep in view:
            self.place = view.index(keep)
        self.place = min(self.place, max(len(view) - 1, 0))
        # One line more: the header stands above.
        size = Size(self.size.width, len(view) + 1)
        if size != self.virtual_size:
            self.virtual_size = size
        self._look_at_cursor()
        self.refresh()
        if self.row != before:
            self.post_message(self.Moved(self.row))

    def move(self, place: int) -> None:
        """Put the cursor on a place of the view, or on its end where there is none so far."""
        place = min(max(place, 0), max(len(self.view) - 1, 0))
        if place == self.place:
            return
        for one in (self.place, place):
            self.refresh_line(one + 1)
        self.place = place
        self._look_at_cursor()
        self.post_message(self.Moved(self.row))

    def redraw(self) -> None:
        """Draw what is seen anew: something else is known of it."""
        self.refresh()

    def _look_at_cursor(self) -> None:
        first = round(self.scroll_target_y)
        last = max(len(self.view) - self.height, 0)
        wanted = min(max(first, self.place - self.height + 1), self.place, last)
        if wanted != first or self.scroll_y != wanted:
            self.scroll_to(y=wanted, animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        """Draw one line of what is seen: the header, or a row."""
        width = self.size.width
        if self._columns[0] != width:
            self._columns = width, self.lines.columns(width)
        if y == 0:
            return self._header(width)
        place = round(self.scroll_y) + y - 1
        if place >= len(self.view):
            return Strip.blank(width, self.rich_style)
        row, is_here = self.view[place], place == self.place
        is_marked = self.lines.is_marked(row)
        key = (row, width, self.lines.revision, is_here, is_marked)
        strip = self._drawn.get(key)
        if strip is None:
            strip = self._drawn[key] = self._line(row, width, is_here=is_here, is_marked=is_marked)
        return strip

    def _header(self, width: int) -> Strip:
        style = self.rich_style + self._style("header")
        titles = "".join(
            f"{fitted(one.title, one.width, right=one.right)} " for one in self._columns[1]
        )
        return Strip([Segment(fitted(" " * _SIGNS + titles, width), style)], width)

    def _line(self, row: int, width: int, *, is_here: bool, is_marked: bool) -> Strip:
        # The line of the cursor is of one kind: roles would make a patchwork of it, and its words say all.
        base = self._style("cursor") if is_here else self.rich_style
        segments = [Segment((">" if is_here else " ") + ("*" if is_marked else " "), base)]
        for column in self._columns[1]:
            text, role = self.lines.cell(row, column.name)
            style = base + self._style(role) if role and not is_here else base
            segments.append(Segment(fitted(text, column.width, right=column.right), style))
            segments.append(Segment(" ", base))
        return Strip(segments).adjust_cell_length(width, base)

    def _style(self, name: str) -> Style:
        is_whole = name == "cursor"
        return self.get_component_rich_style(f"virtual-table--{name}", partial=not is_whole)

    def lay_out(self) -> None:
        """Ask for the columns anew."""
        self._columns = 0, ()
        self._drawn.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Draw everything anew, in other colours."""
        super().notify_style_update()
        self._drawn.clear()
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.virtual_size = Size(self.size.width, len(self.view) + 1)
        self._look_at_cursor()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where it was clicked; twice opens."""
        place = round(self.scroll_y) + event.y - 1
        if event.y == 0 or place >= len(self.view):
            return
        self.move(place)
        if event.chain == 2:
            self.post_message(self.Opened(self.view[place]))

    def refresh_line(self, y: int) -> None:
        """Draw one line of the view anew, the header counted."""
        self.refresh(Region(0, y - round(self.scroll_y), self.size.width, 1))
