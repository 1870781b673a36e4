"""The audit: every change newest first, ours told from others', each field, the proof, back to an earlier set."""

from __future__ import annotations

import re
import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from knobctl.engine.embedded import open_embedded
from knobctl.knobs import load_catalogue
from knobctl.tui.draft import understand
from knobctl.tui.screens.audit import AuditScreen
from knobctl.tui.screens.tenant import TenantScreen
from knobctl.tui.widgets.virtual_table import VirtualTable
from tests.cli.engines import Clock
from tests.cli.inside import Inside
from tests.cli.serving import serving
from tests.given_engine import GivenEngine
from tests.tui.desks import NOW
from tests.tui.hostile import hostile_engine, unseen
from tests.tui.persons import Person, sit_down
from tests.tui.pictures import assert_picture

if TYPE_CHECKING:
    from tests.tui.desks import Desk

FIRST = {"retrieval_min_score": 0.4, "rrf_k": 70}
SECOND = {"retrieval_min_score": 0.3, "retrieval_vector_top_k": 40}


def history(desk: Desk) -> None:
    """Two changes of acme by anna, one of bolt by somebody else, each on its day."""
    desk.live({"acme": FIRST}, NOW - timedelta(days=3))
    desk.live({"acme": SECOND}, NOW - timedelta(days=2))
    others = open_embedded(
        f"embedded:{desk.folder / 'engine.db'}",
        load_catalogue(),
        actor="bo",
        clock=Clock(NOW - timedelta(hours=2)),
    )
    others.replace(
        "bolt",
        {"rrf_k": 80},
        expected_revision=None,
        reason="incident [ticket: OPS-7] [allowed: freeze=winter]",
        idempotency_key="1",
    )
    others.close()


def rows(person: Person) -> list[str]:
    """The lines of the list."""
    screen = person.app.screen
    assert isinstance(screen, AuditScreen)
    table = screen.query_one(VirtualTable)
    return [row for row in person.picture.splitlines()[3:] if row][: len(table.view)]


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
def test_every_change_stands_there_newest_first_and_ours_are_marked(
    desk: Desk, size: tuple[int, int]
) -> None:
    """With who, when, which fields and why; in full below."""

    async def act(person: Person) -> None:
        await person.press("3")
        assert [("you" in one, "bolt" in one, "acme" in one) for one in rows(person)] == [
            (False, True, False),
            (True, False, True),
            (True, False, True),
        ]
        assert "ticket OPS-7" in person.picture
        assert "allowed freeze=winter" in person.picture
        await person.press("j", "enter")
        found = re.sub(r"hash [0-9a-f]{16}", "hash 0123456789abcdef", person.picture)
        assert_picture(f"audit-{size[0]}x{size[1]}", found)

    history(desk)
    sit_down(desk, act, size=size)


def test_the_tenant_that_is_open_is_the_one_whose_changes_are_shown(desk: Desk) -> None:
    """`:audit NAME` shows another's; Esc goes back to where one was."""

    async def act(person: Person) -> None:
        await person.say("tenant acme")
        await person.press("3")
        assert "audit acme: 2 events" in person.header
        await person.say("audit bolt")
        assert "audit bolt: 1 event" in person.header
        await person.press("escape", "escape")
        assert isinstance(person.app.screen, TenantScreen)

    history(desk)
    sit_down(desk, act)


def test_words_narrow_the_list_with_each_key(desk: Desk) -> None:
    """In any field; Esc takes them away before it goes back."""

    async def act(person: Person) -> None:
        await person.press("3", "slash", *"OPS-7")
        assert "1 of 3 events" in person.header
        await person.press("escape")
        assert "audit: 3 events" in person.header
        await person.say("words !bolt top_k")
        assert "1 of 3 events" in person.header
        assert "retrieval_vector_top_k" in "".join(rows(person)) or "r2" in "".join(rows(person))
        await person.press("slash", *" nothing", "enter")
        assert "no event holds these words" in person.picture
        await person.press("escape", "escape")
        assert not isinstance(person.app.screen, AuditScreen)

    history(desk)
    sit_down(desk, act)


def test_going_back_to_a_set_makes_a_draft_and_pushes_nothing(desk: Desk) -> None:
    """The tenant's screen shows it; the engine holds what it held."""

    async def act(person: Person) -> None:
        await person.press("3", "G")
        await person.say("restore")
        assert isinstance(person.app.screen, TenantScreen)
        assert person.app.screen.tenant == "acme"
        draft = person.app.workplace.draft("acme")
        assert draft is not None
        assert understand(draft, person.app.workplace.catalogue).desired == FIRST
        assert "nothing is pushed" in person.told

    history(desk)
    sit_down(desk, act)
    assert desk.revision("acme") == "r2"


def test_going_back_from_the_open_tenant_comes_back_to_it(desk: Desk) -> None:
    """Its draft is read anew: it is there once, not twice."""

    async def act(person: Person) -> None:
        await person.say("tenant acme")
        before = len(person.app.screen_stack)
        await person.press("3", "G")
        await person.say("restore")
        assert len(person.app.screen_stack) == before
        screen = person.app.screen
        assert isinstance(screen, TenantScreen)
        assert screen.draft is not None
        assert understand(screen.draft, person.app.workplace.catalogue).desired == FIRST

    history(desk)
    sit_down(desk, act)


def test_the_chain_is_proved_as_history_verify_does(desk: Desk) -> None:
    """A change past the engine is found, and its event marked."""

    async def act(person: Person) -> None:
        await person.press("3", "V")
        assert "chain BROKEN" in person.header
        assert [one[2:3] == "x" for one in rows(person)] == [False, True, False]
        assert "2 tenants: BROKEN: acme" in person.told
        await person.press("Y")
        assert "knobctl history --verify" in person.told

    history(desk)
    with sqlite3.connect(desk.folder / "engine.db") as store:
        for (trigger,) in store.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            store.execute(f"DROP TRIGGER {trigger}")
        store.execute(
            "UPDATE config_audit_events SET event = replace(event, '0.3', '0.2') WHERE tenant_id = 'acme' AND revision = 2"
        )
    sit_down(desk, act)


def test_an_unbroken_chain_is_said_to_be_so(desk: Desk) -> None:
    """With how much was proved."""

    async def act(person: Person) -> None:
        await person.press("3", "V")
        assert "chain unbroken" in person.header
        assert "3 events of 2 tenants: every chain is unbroken" in person.told

    history(desk)
    sit_down(desk, act)


def test_an_engine_without_events_is_told_of_with_what_is_left(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs of this machine."""

    async def act(person: Person) -> None:
        await person.press("3")
        assert "knobctl runs" in person.picture
        assert "does not offer" in person.picture
        await person.press("enter", "V", "R", "escape")

    monkeypatch.setenv("KNOBCTL_TOKEN", "acme-token")
    with GivenEngine() as given:
        sit_down(desk, act, engine=given.url)


def test_events_of_an_engine_elsewhere_are_ours_by_the_run_that_wrote_them(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """The engine knows us by the subject of a token, the journals by what was written."""
    inside = Inside(desk.folder, capsys)
    store = ("--store", "embedded:served.db")
    with serving(desk.folder, *store) as (_, address):
        made = inside(
            "engine", "token", "--subject", "ci", "--clearance", "L4", "--tenant", "acme", *store
        )
        desk.write("token", made.out)
        place = ("--engine", address, "--token-file", "token")
        for value in ("30", "40"):
            written = inside(
                "set", "acme", f"rrf_k={value}", "--yes", "--reason", "because", *place
            )
            assert written.code == 0, written.err
        run = inside("runs", "--format", "json").json["runs"][0]["run"]

        async def act(person: Person) -> None:
            await person.press("3")
            assert all("you" in one and "ci" in one for one in rows(person))
            assert f"run   {run}" in person.picture
            await person.press("enter")
            assert "~ change  rrf_k  30  -> 40" in person.picture

        sit_down(desk, act, engine=address, token_file=desk.folder / "token")


def test_hostile_actors_and_reasons_are_shown_and_nothing_is_obeyed(desk: Desk) -> None:
    """In the list, in full, in words that are looked for, and in a draft that goes back to their set."""

    async def act(person: Person) -> None:
        await person.press("3")
        table = person.app.screen.query_one(VirtualTable)
        for place in range(len(table.view)):
            table.move(place)
            await person.pilot.pause()
            assert unseen(person.picture.replace("\n", "")) == []
        await person.press("enter")
        assert unseen(person.picture.replace("\n", "")) == []
        await person.press("slash", *"[/]", "enter")
        assert unseen(person.picture.replace("\n", "")) == []
        assert person.app.is_running

    hostile_engine(desk.folder / "engine.db", Clock(NOW - timedelta(days=1)))
    sit_down(desk, act, size=(100, 30))
