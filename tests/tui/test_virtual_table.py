"""The list draws any number of rows, whatever their texts, and draws only what is seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from knobctl.text import INVISIBLE
from knobctl.tui.ui import Role, fitted
from knobctl.tui.widgets.virtual_table import Column, VirtualTable
from tests.tui.hostile import HOSTILE
from tests.tui.pictures import picture


class Texts:
    """So many lines of two columns; counts which rows were asked for."""

    def __init__(self, texts: Sequence[str], times: int = 1) -> None:
        self.texts, self.number = texts, len(texts) * times
        self.revision: object = 0
        self.asked: set[int] = set()
        self.marked: set[int] = set()

    def columns(self, width: int) -> Sequence[Column]:
        """The first takes what the second leaves."""
        return [Column("text", "text", max(width - 12, 1)), Column("row", "row", 7, right=True)]

    def cell(self, row: int, column: str) -> tuple[str, Role]:
        """What it says."""
        self.asked.add(row)
        return (str(row), "muted") if column == "row" else (self.texts[row % len(self.texts)], "")

    def is_marked(self, row: int) -> bool:
        """Whether it is marked."""
        return row in self.marked


class ListApp(App[None]):
    """Nothing but the list."""

    def __init__(self, lines: Texts) -> None:
        super().__init__()
        self.lines = lines
        self.opened: list[int] = []
        self.moved: list[int | None] = []

    def compose(self) -> ComposeResult:
        yield VirtualTable(self.lines, id="list")

    @property
    def table(self) -> VirtualTable:
        """The list."""
        return self.query_one(VirtualTable)

    def on_mount(self) -> None:
        self.table.show(range(self.lines.number))
        self.table.focus()

    def on_virtual_table_opened(self, event: VirtualTable.Opened) -> None:
        self.opened.append(event.row)

    def on_virtual_table_moved(self, event: VirtualTable.Moved) -> None:
        self.moved.append(event.row)


def look(
    lines: Texts,
    act: Callable[[ListApp, Pilot[None]], Awaitable[None]],
    size: tuple[int, int] = (40, 10),
) -> None:
    """Show a list and do something there."""

    async def run() -> None:
        app = ListApp(lines)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await act(app, pilot)

    asyncio.run(run())


def seen(app: App[Any]) -> list[str]:
    """The lines of the screen, the header first."""
    return picture(app).splitlines()


def test_only_what_is_seen_is_drawn() -> None:
    """Of a hundred thousand rows those of one screen are asked for."""

    async def act(app: ListApp, pilot: Pilot[None]) -> None:
        assert len(app.lines.asked) < 40
        app.table.move(10**9)
        await pilot.pause()
        assert seen(app)[-1].split() == [">", "b", "99999"]
        assert len(app.lines.asked) < 80
        app.table.move(-5)
        await pilot.pause()
        assert seen(app)[1].split() == [">", "a", "0"]

    look(Texts(["a", "b"], 50_000), act)


def test_the_header_stays_and_the_cursor_is_seen() -> None:
    """Wherever one goes: a sign, reverse video, and the line is on the screen."""

    async def act(app: ListApp, pilot: Pilot[None]) -> None:
        for place in (0, 8, 9, 30, 29, 21, 20, 99, 55):
            app.table.move(place)
            await pilot.pause()
            header, *rows = seen(app)
            assert header.split()[:2] == ["text", "row"]
            (here,) = (row for row in rows if row.startswith(">"))
            assert f" {place}" in here
            assert app.table.row == place
            assert place in app.table.seen

    look(Texts(["x"], 100), act)


def test_the_cursor_stays_on_its_row() -> None:
    """Another order or a filter takes it along where the row is still there."""

    async def act(app: ListApp, pilot: Pilot[None]) -> None:
        table = app.table
        table.move(5)
        table.show([9, 8, 7, 6, 5, 4], keep=table.row)
        assert (table.row, table.place) == (5, 4)
        table.show([1, 2], keep=table.row)
        assert table.row == 2
        table.show([])
        await pilot.pause()
        assert not table.seen
        assert len(seen(app)) == 1
        table.show([3])
        await pilot.pause()
        assert [row for row in app.moved if row is not None][-1] == 3

    look(Texts(["x"], 10), act)


def test_a_click_chooses_and_two_open() -> None:
    """The header and what lies below the last row are no rows."""

    async def act(app: ListApp, pilot: Pilot[None]) -> None:
        await pilot.click(VirtualTable, offset=(4, 3))
        assert (app.table.row, app.opened) == (2, [])
        await pilot.click(VirtualTable, offset=(4, 2), times=2)
        assert (app.table.row, app.opened) == (1, [1])
        await pilot.click(VirtualTable, offset=(4, 0))
        await pilot.click(VirtualTable, offset=(4, 8))
        assert app.table.row == 1

    look(Texts(["x"], 4), act)


def test_marks_and_news_are_drawn() -> None:
    """A line is drawn anew where it is marked, where the cursor is, and where something else is known."""

    async def act(app: ListApp, pilot: Pilot[None]) -> None:
        app.lines.marked.add(0)
        app.table.redraw()
        await pilot.pause()
        assert seen(app)[1].startswith(">*x")
        app.lines.texts = ["y"]
        app.table.redraw()
        await pilot.pause()
        assert seen(app)[1].startswith(">*x")
        app.lines.revision = 1
        app.table.redraw()
        await pilot.pause()
        assert seen(app)[1].startswith(">*y")
        app.theme = "textual-light"
        await pilot.pause()
        assert seen(app)[1].startswith(">*y")

    look(Texts(["x"], 3), act)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (140, 40), (13, 4)])
def test_hostile_texts_stay_in_their_cells(size: tuple[int, int]) -> None:
    """Each line is as wide as the list, and nothing in it drives the terminal."""

    async def act(app: ListApp, pilot: Pilot[None]) -> None:
        table = app.table
        for place in range(0, app.lines.number, size[1] - 2):
            table.move(place)
            await pilot.pause()
            for y in range(table.size.height):
                strip = table.render_line(y)
                text = "".join(segment.text for segment in strip)
                assert cell_len(text) == strip.cell_length == table.size.width
                assert not INVISIBLE.search(text)
                assert not any(segment.style and segment.style.meta for segment in strip)
        await pilot.resize_terminal(size[0] + 20, size[1])
        await pilot.pause()
        assert table.render_line(1).cell_length == table.size.width

    look(Texts(list(HOSTILE.values())), act, size)


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=80), st.integers(0, 60), st.booleans())
def test_a_text_fits_exactly(text: str, width: int, right: bool) -> None:
    """Cut or padded by columns of the terminal, not by characters."""
    assert cell_len(fitted(text, width, right=right)) == width
