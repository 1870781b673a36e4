"""The log: what was asked of the engine, what was told in full, newest last."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from knobctl.engine.telling import Call
from knobctl.errors import KnobctlError
from knobctl.tui.logbook import KEPT, Kind, Logbook
from knobctl.tui.screens.log import LogScreen
from knobctl.tui.ui import tell
from knobctl.tui.widgets.virtual_table import VirtualTable
from tests.tui.desks import NOW
from tests.tui.hostile import HOSTILE, unseen
from tests.tui.persons import Person, sit_down
from tests.tui.pictures import assert_picture

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.tui.desks import Desk


def test_every_call_and_every_error_stands_in_the_log(desk: Desk) -> None:
    """A message that went away, too, whole and with its hint."""

    async def act(person: Person) -> None:
        await person.say("tenant acme")
        await person.say("tenant nobody")
        person.app.clear_notifications()
        await person.press("L")
        entries = person.app.workplace.log.entries()
        assert ("engine", "read acme", "r1") in [(e.kind, e.text, e.outcome) for e in entries]
        assert entries[-1].kind is Kind.ERROR
        assert "read acme  r1" in person.picture
        assert "there is no tenant nobody; tenant: in the palette finds" in person.picture
        await person.press("k")
        assert "no tenant nobody" not in person.picture.splitlines()[-3]
        await person.press("escape")
        assert not isinstance(person.app.screen, LogScreen)

    desk.live({"acme": {"retrieval_min_score": 0.4}})
    sit_down(desk, act)


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
def test_it_is_one_line_a_call_with_the_last_one_in_full(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    in_zone: Callable[[str], None],
    size: tuple[int, int],
) -> None:
    """Time, kind, how long it took, what was asked and what came of it."""
    in_zone("UTC")

    async def act(person: Person) -> None:
        log = Logbook(lambda: NOW)  # one in which nothing stands by now
        monkeypatch.setattr(person.app.workplace, "log", log)
        for name in ("read", "evaluate"):
            log.called(Call(method=name, tenant="acme", seconds=0.012, outcome="r7", failed=False))
        told = "engine.example cannot be reached: the name is not known"
        log.called(Call(method="list", tenant="", seconds=12, outcome=told, failed=True))
        log.write(Kind.ERROR, f"{told}\ncheck the address: knobctl context show", failed=True)
        await person.press("L")
        assert_picture(f"log-{size[0]}x{size[1]}", person.picture)

    desk.live({"acme": {"retrieval_min_score": 0.4}})
    sit_down(desk, act, size=size)


def test_git_and_files_stand_there_too(desk: Desk) -> None:
    """What a checkout stands at, and a draft that was kept."""

    async def act(person: Person) -> None:
        await person.say("tenant acme")
        await person.press("x", "L")
        kinds = [entry.kind for entry in person.app.workplace.log.entries()]
        assert Kind.GIT in kinds
        assert "git rev-parse" in person.told
        assert "draft of acme" in person.told

    subprocess.run(["git", "init", "-q", str(desk.folder)], check=True)
    sit_down(desk, act)


def test_the_editor_stands_there_with_what_became_of_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ends with an error too."""
    desk.example()
    with desk.app() as app:
        kept = app.workplace.keep_text("acme", b"tenant: acme\n")
        monkeypatch.setenv("VISUAL", "true")
        app.workplace.edit(kept)
        monkeypatch.setenv("VISUAL", "false")
        with pytest.raises(KnobctlError):
            app.workplace.edit(kept)
        entries = [one for one in app.workplace.log.entries() if one.kind is Kind.EDITOR]
        assert [(one.text.split()[0], one.outcome) for one in entries] == [
            ("true", "ok"),
            ("false", "failed"),
        ]


def test_what_comes_while_one_looks_is_shown_and_the_cursor_stays_at_the_end(desk: Desk) -> None:
    """Unless somebody looks at an earlier line, which then stays under the cursor while it is kept."""

    async def act(person: Person) -> None:
        log = person.app.workplace.log
        for number in range(30):
            log.write(Kind.NOTE, f"note {number}")
        await person.say("log")
        screen = person.app.screen
        assert isinstance(screen, LogScreen)
        table = screen.query_one(VirtualTable)
        assert table.place == len(table.view) - 1
        log.write(Kind.NOTE, "another")
        screen.look()
        assert table.place == len(table.view) - 1
        await person.press("g", "j", "j", "j")
        for number in range(KEPT):
            log.write(Kind.NOTE, f"more {number}")
        screen.look()
        await person.press("k")
        assert table.place == 0
        assert "log: 1,000 entries, 0 failed" in person.header

    sit_down(desk, act)


def test_what_the_rooms_below_print_is_a_note(desk: Desk) -> None:
    """Nothing is written over the screen."""

    async def act(person: Person) -> None:
        print("note: the engine has no revisions")
        await person.press("L")
        assert "note: the engine has no revisions" in person.told
        assert "the engine has no revisions" in person.picture

    sit_down(desk, act)


def test_hostile_words_are_shown_and_nothing_is_obeyed(desk: Desk) -> None:
    """Neither in a line nor in full below."""

    async def act(person: Person) -> None:
        for text in HOSTILE.values():
            tell(person.app, text, "error")
        await person.press("L")
        for _ in range(len(HOSTILE) + 3):
            assert unseen(person.picture.replace("\n", "")) == []
            await person.press("k")
        assert person.app.is_running

    sit_down(desk, act, size=(100, 30))
