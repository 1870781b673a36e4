"""The fleet's place: found by words, sorted, marked, looked at more closely; read in the background, again and again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from knobctl.tui.screens.fleet import FleetScreen
from knobctl.tui.screens.tenant import TenantScreen
from knobctl.tui.ui import Field
from tests.given_engine import GivenEngine
from tests.tui.desks import ENGINE, Desk, settled
from tests.tui.hostile import TAKEN, hostile_fleet
from tests.tui.persons import Person, sit_down
from tests.tui.pictures import assert_picture, strips

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LIVE = {
    "acme": {"retrieval_min_score": 0.3, "retrieval_vector_top_k": 32},
    "delta": {"retrieval_min_score": 0.15},
    "stray": {"retrieval_min_score": 0.2},
}


def fleet_of(person: Person) -> FleetScreen:
    """The place, which is seen."""
    screen = person.app.screen
    assert isinstance(screen, FleetScreen)
    screen.draw_news()
    return screen


async def rested(person: Person) -> Person:
    """Wait until somebody has looked more closely, and all that is known is drawn."""
    fleet_of(person).look()
    await drawn(person)
    return person


async def drawn(person: Person) -> None:
    """Wait until nothing is asked, and have drawn what has become known."""
    await settled(person.pilot)
    fleet_of(person)
    await settled(person.pilot)


def names(person: Person) -> list[str]:
    """The tenants that the list shows, in its order."""
    screen = fleet_of(person)
    return [screen.fleet.names[row] for row in screen.table.view]


async def typed(person: Person, text: str) -> None:
    """Type letters, each a key."""
    await person.press(*("space" if letter == " " else letter for letter in text))


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (140, 40)])
def test_the_fleet_as_it_is_seen(desk: Desk, size: tuple[int, int]) -> None:
    """State, floor, live floor, who wrote last, what was found; and the tenant under the cursor in words."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        await rested(person)
        assert_picture(f"fleet-{size[0]}x{size[1]}", person.picture)

    sit_down(desk, act, size=size)


def test_the_filter_follows_every_key_and_stays(desk: Desk) -> None:
    """Enter keeps it, a chip for each word; going away and back does not lose it; Esc drops the last word."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        everybody = names(person)
        await person.press("slash")
        await typed(person, "e")
        assert names(person) == [name for name in everybody if "e" in name]
        assert "[e]" in person.picture
        await typed(person, " state:drift")
        await person.press("enter")
        assert names(person) == ["acme", "cinder", "delta", "ember"]
        assert "[e] [state:drift] 4 of 7" in person.picture
        await person.press("enter", "escape")
        assert isinstance(person.app.screen, FleetScreen)
        assert names(person) == ["acme", "cinder", "delta", "ember"]
        await person.press("escape")
        assert names(person) == [name for name in everybody if "e" in name]
        await person.press("escape")
        assert names(person) == everybody
        await person.press("escape")
        assert "no filter is set; / sets one" in person.told

    sit_down(desk, act)


def test_esc_in_the_field_takes_what_was_there_before(desk: Desk) -> None:
    """Nobody loses a filter by looking for something else."""

    async def act(person: Person) -> None:
        await person.say("filter acme")
        await person.press("slash")
        await typed(person, "x")
        assert names(person) == []
        assert "no tenant fits" in person.picture
        await person.press("escape")
        assert names(person) == ["acme"]
        await person.press("slash", "enter")
        assert names(person) == ["acme"]

    sit_down(desk, act)


def test_a_word_that_is_not_understood_is_told_as_it_is_typed(desk: Desk) -> None:
    """It filters nothing, and does not stay."""

    async def act(person: Person) -> None:
        await person.press("slash")
        await typed(person, "flor>0.3")
        assert "there is no knob flor; did you mean floor?" in person.picture
        assert len(names(person)) == 6
        await person.press("enter")
        assert "[flor" not in person.picture
        await person.press("slash")
        await typed(person, "[/]")
        assert names(person) == []

    sit_down(desk, act)


def test_a_tenant_that_is_open_is_not_opened_twice(desk: Desk) -> None:
    """Nor is one that only the engine knows refused by name."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        await rested(person)
        await person.say("tenant stray")
        await person.say("lab")
        await person.say("tenant stray")
        await settled(person.pilot)
        assert isinstance(person.app.screen, TenantScreen)
        assert "no document" in person.picture
        await person.press("escape")
        assert isinstance(person.app.screen, FleetScreen)

    sit_down(desk, act)


def test_nothing_is_in_order_while_it_is_not_known_what_the_engine_holds(desk: Desk) -> None:
    """A tenant without findings may have drifted: `ok` is said of what was compared."""

    async def act(person: Person) -> None:
        await rested(person)
        assert "live not read" in person.picture
        screen = fleet_of(person)
        states = [str(screen.fleet.state(row)) for row in screen.table.view]
        assert states == ["...", "! warn", "...", "! warn", "...", "..."]
        assert "ok" not in person.picture.splitlines()[1]
        await person.say("filter state:ok")
        assert names(person) == []
        await person.say("filter state:waiting")
        assert names(person) == ["acme", "cinder", "ember", "fjord"]

    with GivenEngine() as engine:
        url = engine.url
    sit_down(desk, act, size=(140, 40), engine=url)


def test_without_documents_there_is_what_the_engine_holds(desk: Desk) -> None:
    """Who has no repository at hand still finds, opens and edits a tenant's live set."""
    desk.live({"zed": {"retrieval_min_score": 0.35}})
    (desk.folder / "nothing").mkdir()

    async def act(person: Person) -> None:
        await rested(person)
        assert names(person) == ["zed"]
        assert "0.35" in person.picture
        await person.press("enter")
        await settled(person.pilot)
        assert isinstance(person.app.screen, TenantScreen)
        assert "no document" in person.picture
        assert "retrieval_min_score = 0.35" in person.picture

    sit_down(desk, act, path="nothing")


def test_where_there_is_no_tenant_at_all_it_is_said(desk: Desk) -> None:
    """Neither documents nor live sets: that is no mistake, and no trouble."""
    (desk.folder / "nothing").mkdir()

    async def act(person: Person) -> None:
        await rested(person)
        assert "no tenant in nothing, and none on the engine" in person.picture

    sit_down(desk, act, path="nothing")


def test_a_chip_is_taken_away_by_a_click(desk: Desk) -> None:
    """And what is right of the chips takes nothing away."""

    async def act(person: Person) -> None:
        await person.say("filter !acme !bolt")
        assert names(person) == ["cinder", "delta", "ember", "fjord"]
        await person.pilot.click("#chips", offset=(30, 0))
        await person.pilot.click("#chips", offset=(3, 0))
        await settled(person.pilot)
        assert names(person) == ["acme", "cinder", "delta", "ember", "fjord"]

    sit_down(desk, act)


def test_sorting_goes_round(desk: Desk) -> None:
    """By name, by state, by floor and so on; `:sort` takes one by its word."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        await person.press("s")
        assert "by state" in person.picture
        assert names(person)[-1] == "fjord"
        await person.press("s")
        assert names(person)[:3] == ["acme", "ember", "delta"]
        await person.press("s", "s", "s", "s")
        assert names(person) == sorted(names(person))
        await person.say("sort last change")
        assert names(person)[0] == "stray"
        await person.say("sort colour")
        assert "there is no order colour; there are name, state, floor" in person.told

    sit_down(desk, act)


def test_marks_make_a_command_for_all_of_them(desk: Desk) -> None:
    """Space marks and goes on; `Y` names the files; `:unmark` forgets them."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        screen = fleet_of(person)
        assert screen.twin().startswith("knobctl get")
        await person.press("space", "j", "space")
        assert "* 2 marked" in person.picture
        assert screen.twin().startswith(
            "knobctl diff fleet/tenants/acme.yaml fleet/tenants/cinder.yaml"
        )
        await person.say("filter acme")
        assert "* 2 marked" in person.picture
        await person.say("unmark")
        assert "marked" not in person.picture
        await person.say("filter state:drift label:tier=enterprise")
        assert screen.twin().startswith("knobctl drift fleet -l tier=enterprise")
        await person.say("filter state:warn")
        assert screen.twin() == "knobctl check fleet"
        await person.say("filter l !stray")
        assert screen.twin() == "knobctl get bolt delta"
        await person.say("filter stray")
        await person.press("space")
        assert screen.twin().startswith("knobctl get stray")

    sit_down(desk, act)


@pytest.mark.parametrize(
    ("tenant", "said"),
    [
        (
            "acme",
            ["~ acme  edited live", "retrieval_vector_top_k", "anna", "owner search-relevance"],
        ),
        ("bolt", ["! zero-means-default", "write 0.0001", "ok live is as the files say"]),
        ("stray", ["no document asks for it", "by anna", "retrieval_min_score  0.2"]),
    ],
)
def test_the_closer_look_says_what_is_wrong_and_who_did_it(
    desk: Desk, tenant: str, said: list[str]
) -> None:
    """In the words of the commands."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        await person.say(f"filter {tenant}")
        await rested(person)
        words = " ".join(person.picture.split())
        for word in said:
            assert " ".join(word.split()) in words

    sit_down(desk, act, size=(120, 40))


def test_a_file_that_gives_no_tenant_is_a_line_and_says_why(desk: Desk) -> None:
    """It cannot be opened, and does not hide."""

    async def act(person: Person) -> None:
        await person.say("filter state:unreadable")
        assert names(person) == ["No Name", "torn"]
        await rested(person)
        assert "x error" in person.picture
        await person.press("enter")
        assert isinstance(person.app.screen, FleetScreen)
        assert "gives no tenant" in person.told

    desk.write("fleet/tenants/torn.yaml", "tenant: torn\nknobs: {rrf_k: [1\n")
    desk.write("fleet/tenants/odd.yaml", 'tenant: "No Name"\nknobs: {}\n')
    shown(desk, act)


def shown(desk: Desk, act: Callable[[Person], Awaitable[None]]) -> None:
    """As `sit_down`, over what lies there already."""
    desk.write("fleet/tenants/acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.45}\n")
    opened(desk, act, "fleet")


def opened(
    desk: Desk,
    act: Callable[[Person], Awaitable[None]],
    path: str,
    *,
    size: tuple[int, int] = (80, 24),
    engine: str = ENGINE,
) -> None:
    """Open the documents of a path and do something there."""

    async def run() -> None:
        with desk.app(path, engine=engine) as app:
            async with app.run_test(size=size, notifications=True) as pilot:
                await settled(pilot)
                await act(Person(pilot))

    asyncio.run(run())


def test_nothing_to_read_is_said_in_the_list(desk: Desk) -> None:
    """The reason stands where the tenants would."""

    async def act(person: Person) -> None:
        assert "there is no file or folder nowhere" in person.picture
        await person.press("enter")
        assert "no tenant is shown" in person.told

    opened(desk, act, "nowhere")


def test_what_another_place_did_is_seen_on_the_way_back(desk: Desk) -> None:
    """The set that was pushed, and the file that was written, of the tenant that was open."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        screen = fleet_of(person)
        await person.say("filter acme")
        await person.press("enter")
        assert isinstance(person.app.screen, TenantScreen)
        desk.live({"acme": {"retrieval_min_score": 0.6}})
        await person.press("escape")
        row = screen.fleet.at["acme"]
        assert screen.fleet.live_floors[row] == 0.6
        await person.say("tenant acme")
        path = desk.folder / "fleet" / "tenants" / "acme.yaml"
        path.write_text(path.read_text().replace("0.45", "0.25"))
        person.app.workplace.reload()
        await person.press("escape")
        assert screen.fleet.value(screen.fleet.at["acme"], "retrieval_min_score") == 0.25
        assert names(person) == ["acme"]

    sit_down(desk, act)


def test_refresh_reads_files_and_engine_and_keeps_marks(desk: Desk) -> None:
    """What came is there, what went is gone, the cursor stays on its tenant."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        screen = fleet_of(person)
        await person.press("j", "j", "space")
        assert {screen.fleet.names[row] for row in screen.lines.marked} == {"cinder"}
        desk.write("fleet/tenants/aaa.yaml", "tenant: aaa\nknobs: {}\n")
        desk.live({"stray": {"retrieval_min_score": 0.9}})
        await person.press("R")
        await drawn(person)
        assert names(person)[0] == "aaa"
        assert {screen.fleet.names[row] for row in screen.lines.marked} == {"cinder"}
        assert screen.fleet.names[screen.table.row or 0] == "delta"
        assert screen.fleet.live_floors[screen.fleet.at["stray"]] == 0.9

    sit_down(desk, act)


def test_live_is_read_again_and_again_unless_paused(desk: Desk) -> None:
    """One key stops all of it, and the header says so."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        screen = fleet_of(person)
        await drawn(person)
        assert "live every 15 s" in person.picture
        desk.live({"acme": {"retrieval_min_score": 0.5}})
        screen.reading.read_live()
        await settled(person.pilot)
        assert screen.fleet.live_floors[screen.fleet.at["acme"]] == 0.5
        await person.press("p")
        assert "paused: p goes on" in person.header
        await person.press("p")
        await drawn(person)
        assert "live every 15 s" in person.header

    sit_down(desk, act)


def test_an_engine_out_of_reach_is_said_and_the_files_are_shown(desk: Desk) -> None:
    """Nothing drifts that nobody has compared."""

    async def act(person: Person) -> None:
        await rested(person)
        assert "live not read" in person.header
        assert "2 ! warn" in person.picture
        assert "drift" not in person.picture
        assert "? the engine:" in person.picture

    desk.example()
    opened(desk, act, "fleet", size=(120, 40), engine="http://127.0.0.1:9")


def test_an_engine_that_lists_nothing_is_read_one_by_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of the given contract is: without who wrote it, as nobody tells."""
    monkeypatch.setenv("KNOBCTL_TOKEN", "acme-token")
    with GivenEngine(sets={"acme": {"retrievalMinScore": 0.5}}) as engine:

        async def act(person: Person) -> None:
            await drawn(person)
            screen = fleet_of(person)
            assert screen.fleet.live_floors[screen.fleet.at["acme"]] == 0.5
            assert "~ drift" in person.picture

        desk.write("one/acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.45}\n")
        opened(desk, act, "one", engine=engine.url)


def test_a_hostile_fleet_is_shown_and_drives_nothing(desk: Desk) -> None:
    """Names, owners, labels, files, actors: escaped in every line and in the closer look of each."""
    hostile_fleet(desk.folder / "fleet")

    async def act(person: Person) -> None:
        screen = fleet_of(person)
        for row in screen.table.view[::2]:
            screen.table.move(screen.table.view.index(row))
            screen.show_look(await asyncio.to_thread(screen.reading.look, row))
            await person.pilot.pause()
            for strip in strips(person.app):
                for segment in strip:
                    assert "\x1b" not in segment.text
                    assert not (segment.style and "@click" in segment.style.meta)
        await person.press("slash")
        field = person.app.screen.query_one("#filter", Field)
        field.value = f"\x1b]0;{TAKEN}\x07[/] \u202e"
        await person.press("enter")
        assert "\x1b" not in person.picture

    opened(desk, act, "fleet")


def test_the_filter_is_completed(desk: Desk) -> None:
    """`:filter` offers fields and knobs, `:sort` orders."""

    async def act(person: Person) -> None:
        screen = fleet_of(person)
        assert list(screen.offers("filter", "acme lab") or ()) == ["acme label:"]
        assert "retrieval_min_score" in list(screen.offers("filter", "retrieval_m") or ())
        assert list(screen.offers("order", "fl") or ()) == ["floor"]
        assert screen.offers("theme", "x") is None
        assert "/ finds a tenant" in screen.next_step()
        await person.say("filter a")
        assert "Esc drops" in screen.next_step()

    sit_down(desk, act)
