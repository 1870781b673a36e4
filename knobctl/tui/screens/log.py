"""The log: what was asked of the outside, what came of it, and everything that was told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.text import count
from knobctl.tui.actions import LOG, bindings_of
from knobctl.tui.logbook import Kind, duration_text
from knobctl.tui.screens.listing import Listing
from knobctl.tui.ui import Words, line, lines
from knobctl.tui.widgets.virtual_table import Column, VirtualTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from knobctl.tui.logbook import Entry
    from knobctl.tui.ui import Role

_EVERY: Final = 0.5
"""Seconds between two looks at whether there is more."""
_FIXED: Final = 8 + 1 + 7 + 1 + 7 + 1 + 3
"""Columns that time, kind and duration take, with the signs before them."""


class _Entries:
    """The entries as a table shows them."""

    def __init__(self) -> None:
        self.shown: tuple[Entry, ...] = ()

    @property
    def revision(self) -> int:
        """The number of the last entry: nothing older ever changes."""
        return self.shown[-1].number if self.shown else 0

    def columns(self, width: int) -> Sequence[Column]:
        """Time, kind and duration; what was asked and what came of it take the rest."""
        return (
            Column("at", "time", 8),
            Column("kind", "", 7),
            Column("took", "took", 7, right=True),
            Column("what", "what", max(width - _FIXED, 10)),
        )

    def cell(self, row: int, column: str) -> tuple[str, Role]:
        """What one cell says."""
        entry = self.shown[row]
        role: Role = "error" if entry.failed else "warn" if entry.kind is Kind.WARNING else ""
        match column:
            case "at":
                return f"{entry.at.astimezone():%H:%M:%S}", "muted"
            case "kind":
                return entry.kind.value, role or "muted"
            case "took":
                return ("" if entry.seconds is None else duration_text(entry.seconds)), "muted"
            case _:
                return "  ".join(filter(None, (entry.text, _outcome(entry)))), role

    def is_marked(self, row: int) -> bool:
        """Nothing is marked here."""
        del row
        return False


def _outcome(entry: Entry) -> str:
    return f"x {entry.outcome}" if entry.failed and entry.outcome else entry.outcome


class LogScreen(Listing):
    """The log, newest last; under it the entry of the cursor in full."""

    PLACE = LOG
    BINDINGS = bindings_of(LOG)
    DEFAULT_CSS = """
    LogScreen #detail {
        height: auto;
        max-height: 40%;
        border-top: solid $border-blurred;
        padding: 0 1;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._entries = _Entries()

    def body(self) -> ComposeResult:
        """The list, and the entry under the cursor."""
        yield VirtualTable(self._entries, id="entries")
        yield Words(id="detail")

    def on_mount(self) -> None:
        """Show what there is, and what comes."""
        if not self.stands:
            return
        self.look()
        self.set_interval(_EVERY, self.look)
        self.table.focus()

    def look(self) -> None:
        """Show what has come since."""
        entries = self.workplace.log.entries()
        if entries and entries[-1].number == self._entries.revision:
            return
        at_end = self.table.place >= len(self.table.view) - 1
        gone = entries[0].number - self._entries.shown[0].number if self._entries.shown else 0
        place = len(entries) - 1 if at_end else self.table.place - gone
        self._entries.shown = entries
        self.table.show(range(len(entries)))
        self.table.move(place)
        self._explain()
        self.refresh_frame()

    def on_virtual_table_moved(self) -> None:
        """Show the entry in full."""
        self._explain()

    def _explain(self) -> None:
        row = self.table.row
        if row is None:
            return
        entry = self._entries.shown[row]
        told = entry.text.split("\n")
        first = line((f"{entry.at.astimezone():%Y-%m-%d %H:%M:%S}  ", "muted"), (told[0], "strong"))
        rest = [line(one) for one in told[1:]]
        ending = [line((_outcome(entry), "error" if entry.failed else ""))] * bool(entry.outcome)
        self.query_one("#detail", Words).update(lines(first, *rest, *ending))

    def notes(self) -> Sequence[str]:
        """How many there are, and how many failed."""
        entries = self._entries.shown
        failed = sum(entry.failed for entry in entries)
        left = self._entries.revision - len(entries)
        earlier = f", {left:,} earlier are gone" if left else ""
        return (f"log: {count(len(entries), 'entry')}, {failed:,} failed{earlier}",)

    def twin(self) -> str:
        """The runs of this user: what commands wrote; what they asked no command keeps."""
        return "knobctl runs"

    def next_step(self) -> str:
        """What most people do next."""
        return "Look at a line that failed: what it says stands below in full. Esc goes back."

    async def action_back(self) -> None:
        """Go back to where one was."""
        await self.app.pop_screen()
