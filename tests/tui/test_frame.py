"""The frame: where one is, what works now, the palette, the help, arming and leaving."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from textual import events

from knobctl.tui.actions import Action, Danger
from knobctl.tui.app import KnobctlApp
from knobctl.tui.fleet_reading import FleetReading
from knobctl.tui.screens.confirm import ConfirmScreen
from knobctl.tui.screens.fleet import FleetScreen
from knobctl.tui.screens.help import HelpScreen
from knobctl.tui.screens.palette import PaletteScreen
from knobctl.tui.screens.preview import PreviewScreen
from knobctl.tui.screens.tenant import TenantScreen
from knobctl.tui.ui import Choices, Field, line
from knobctl.tui.widgets.frame import Footer
from tests.tui.desks import NOW, Desk, settled
from tests.tui.persons import Person, sit_down


def test_the_header_says_where_one_is_and_that_nothing_can_be_written(desk: Desk) -> None:
    """Engine, who asks, and the mode."""

    async def act(person: Person) -> None:
        assert "embedded:engine.db" in person.header
        assert "anna" in person.header
        assert " RO" in person.header
        assert "PROD" not in person.header

    sit_down(desk, act)


def test_production_has_its_word_and_another_frame(desk: Desk) -> None:
    """Nobody takes it for something else."""

    async def act(person: Person) -> None:
        assert " PROD " in person.header
        assert all(row[:1] in "▐▌│█┃▎▊" for row in person.picture.splitlines()), person.picture

    sit_down(desk, act, production=True)


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (140, 40), (200, 60)])
def test_the_frame_fits_every_size(desk: Desk, size: tuple[int, int]) -> None:
    """The end of the footer, the way out and the help, is never cut."""

    async def act(person: Person) -> None:
        last = person.picture.splitlines()[-1]
        assert "? help" in last
        assert last.endswith("q quit")

    sit_down(desk, act, size=size)


@pytest.mark.parametrize("size", [(59, 24), (80, 15), (20, 5), (1, 1)])
def test_below_the_least_size_a_line_names_the_command(desk: Desk, size: tuple[int, int]) -> None:
    """And the keys still work."""

    async def act(person: Person) -> None:
        if size > (20, 5):
            assert "too small" in person.picture
            assert "knobctl get" in " ".join(person.picture.split())
        await person.press("q")
        assert not person.app.is_running or person.app._exit

    sit_down(desk, act, size=size)


def test_a_click_on_the_footer_is_as_good_as_the_key(desk: Desk) -> None:
    """The mouse is never needed, and always works."""

    async def act(person: Person) -> None:
        footer = person.app.screen.query_one(Footer)
        text = person.picture.splitlines()[-1]
        await person.pilot.click(footer, offset=(text.index("help"), 0))
        await settled(person.pilot)
        assert isinstance(person.app.screen, HelpScreen)

    sit_down(desk, act)


def test_a_click_on_an_offer_runs_it(desk: Desk) -> None:
    """In the palette as in the help."""

    async def act(person: Person) -> None:
        for key, typed in (("colon", "theme a"), ("question_mark", "another theme")):
            await person.press(key)
            person.app.screen.query_one(Field).value = typed
            await settled(person.pilot)
            before = person.app.theme
            await person.pilot.click(Choices, offset=(3, 0))
            await settled(person.pilot)
            assert isinstance(person.app.screen, FleetScreen)
            assert person.app.theme != before

    sit_down(desk, act)


def test_keys_of_ones_own_work_and_are_shown(desk: Desk) -> None:
    """In the footer and in the help; the usual ones mean nothing then."""
    desk.example()

    async def act() -> None:
        with desk.app() as made:
            app = KnobctlApp(made.workplace, keymap={"help": ("H",), "theme": ("f9", "T")})
            async with app.run_test(size=(80, 24), notifications=True) as pilot:
                await settled(pilot)
                person = Person(pilot)
                assert "H help" in person.picture.splitlines()[-1]
                await person.press("question_mark", "f1")
                assert isinstance(app.screen, FleetScreen)
                await person.press("H", *"another theme")
                assert "F9, T" in person.picture
                await person.press("escape", "T", "f9")
                assert app.theme == "high-contrast"

    asyncio.run(act())


@pytest.mark.parametrize("opened", ["colon", "ctrl+p"])
def test_a_command_is_typed_completed_and_run(desk: Desk, opened: str) -> None:
    """Tab goes on as far as all offers agree."""

    async def act(person: Person) -> None:
        await person.press(opened, *"them", "tab")
        assert person.app.screen.query_one(Field).value == "theme "
        await person.press("h", "tab", "enter")
        assert person.app.theme == "high-contrast"
        assert isinstance(person.app.screen, FleetScreen)

    sit_down(desk, act)


def test_what_only_a_place_knows_is_completed_too(desk: Desk) -> None:
    """The orders of the fleet's list."""

    async def act(person: Person) -> None:
        await person.press("colon", *"sort n", "tab")
        assert person.app.screen.query_one(Field).value == "sort name"

    sit_down(desk, act)


def test_words_of_what_is_wanted_find_the_command(desk: Desk) -> None:
    """Who does not know its name finds it by what it does."""

    async def act(person: Person) -> None:
        await person.press("ctrl+p", *"read-only again")
        assert ":disarm" in person.picture
        assert ":theme" not in person.picture

    sit_down(desk, act)


def test_a_mistyped_command_is_told_the_nearest_and_stays(desk: Desk) -> None:
    """It can be corrected where it stands."""

    async def act(person: Person) -> None:
        await person.press("colon", *"thxmex", "enter")
        assert "there is no command :thxmex here; did you mean :theme?" in person.picture
        assert isinstance(person.app.screen, PaletteScreen)
        await person.press("escape")
        assert isinstance(person.app.screen, FleetScreen)

    sit_down(desk, act)


def test_what_was_typed_before_comes_back_with_the_arrows(desk: Desk) -> None:
    """From an empty line."""

    async def act(person: Person) -> None:
        await person.say("theme ansi")
        await person.say("theme plain")
        await person.press("colon", "up", "up", "down", "up", "enter")
        assert person.app.theme == "ansi"

    sit_down(desk, act)


def test_a_tenant_is_found_by_a_part_of_its_name(desk: Desk) -> None:
    """Not among the commands: behind a prefix, however many there are."""

    async def act(person: Person) -> None:
        await person.press("ctrl+p", *"tenant:elt", "enter")
        assert isinstance(person.app.screen, TenantScreen)
        assert person.app.screen.tenant == "delta"
        await person.say("tenant acme")
        assert person.app.screen.tenant == "acme"
        await person.press("escape", "escape")
        assert isinstance(person.app.screen, FleetScreen)

    sit_down(desk, act)


def test_the_fleet_is_a_key_away_from_everywhere(desk: Desk) -> None:
    """However many places lie on it."""

    async def act(person: Person) -> None:
        await person.press("enter", "3", "L", "1")
        assert isinstance(person.app.screen, FleetScreen)
        await person.say("tenant delta")
        await person.say("fleet")
        assert isinstance(person.app.screen, FleetScreen)

    sit_down(desk, act)


def test_a_panel_is_given_the_room_of_all(desk: Desk) -> None:
    """The frame stays, and with it the word PROD; what needs another panel gets it."""

    async def act(person: Person) -> None:
        await person.press("enter", "tab", "z")
        assert "PROD" in person.header
        assert "rrf_weight_vector" not in person.picture
        await person.press("z")
        assert "rrf_weight_vector" in person.picture
        await person.press("escape", "z")
        assert "acme.yaml" not in person.picture
        await person.press("down", "slash", *"delt")
        assert "acme" not in person.picture
        assert "delta.yaml" in person.picture

    sit_down(desk, act, production=True)


def test_an_unknown_tenant_is_told_in_words(desk: Desk) -> None:
    """With the nearest one."""

    async def act(person: Person) -> None:
        await person.say("tenant acmee")
        assert "there is no tenant acmee; did you mean acme?" in person.told
        assert isinstance(person.app.screen, FleetScreen)

    sit_down(desk, act)


def test_the_help_is_searched_and_runs(desk: Desk) -> None:
    """Enter does what is chosen."""

    async def act(person: Person) -> None:
        await person.press("question_mark", *"another theme")
        assert ":theme" in person.picture
        assert ":disarm" not in person.picture
        await person.press("enter")
        assert person.app.theme == "knobctl-light"

    sit_down(desk, act)


def test_markup_that_is_typed_is_text(desk: Desk) -> None:
    """In the search of the help, in the palette, in a reason."""

    async def act(person: Person) -> None:
        for key in ("question_mark", "colon"):
            await person.press(key)
            person.app.screen.query_one(Field).value = "[/][@click=app.quit]x[/] \x1b[2J\u202e"
            await person.press("enter")
            assert "[@click=app.quit]" in person.picture
            assert "\x1b" not in person.picture
            assert "\u202e" not in person.picture
            await person.press("escape")

    sit_down(desk, act)


def test_arming_asks_for_the_reason_and_is_seen(desk: Desk) -> None:
    """Without one it stays as it is; with one the header counts the time."""

    async def act(person: Person) -> None:
        await person.say("arm")
        await person.press("enter")
        assert "arming needs a reason" in person.picture
        assert person.app.arming.touched is None
        await person.press(*"recall", "enter")
        assert "ARMED 15:00" in person.header
        assert person.app.arming.reason == "recall"
        await person.say("disarm")
        assert " RO" in person.header

    sit_down(desk, act)


def test_production_asks_for_the_ticket_as_well(desk: Desk) -> None:
    """The one that its pattern demands."""

    async def act(person: Person) -> None:
        await person.say("arm lower the floors")
        await person.press("enter", *"OPS", "enter")
        assert "x the ticket is OPS; context live" in person.picture
        assert person.app.arming.touched is None
        await person.press(*"-7", "enter")
        assert person.app.arming.reason == "lower the floors"
        assert person.app.arming.ticket == "OPS-7"

    sit_down(desk, act, production=True)


def test_nobody_at_the_keys_for_fifteen_minutes_ends_it(desk: Desk) -> None:
    """It is told, and each key before that begins the time anew."""
    times = [NOW]

    async def act(person: Person) -> None:
        await person.say("arm recall")
        await person.press("enter")
        times.append(NOW + timedelta(minutes=14))
        await person.press("down")
        times.append(NOW + timedelta(minutes=28))
        person.app._tick()
        await settled(person.pilot)
        assert "ARMED 01:00" in person.header
        times.append(NOW + timedelta(minutes=29))
        person.app._tick()
        await settled(person.pilot)
        assert " RO" in person.header
        assert "read-only again: 15 minutes without a key" in person.told

    sit_down(desk, act, clock=lambda: times[-1])


def test_a_session_that_was_started_read_only_cannot_be_armed(desk: Desk) -> None:
    """It says so instead of asking for a reason."""

    async def act(person: Person) -> None:
        await person.say("arm recall")
        assert "read-only: it was started so" in person.told
        assert isinstance(person.app.screen, FleetScreen)

    sit_down(desk, act, read_only=True)


@pytest.mark.parametrize("danger", [Danger.WRITE, Danger.PUSH])
def test_what_writes_is_refused_in_words_until_it_is_armed(desk: Desk, danger: Danger) -> None:
    """And what would allow it is said."""
    action = Action(id="x", title="x", help="X.", places=("fleet",), command="x", danger=danger)

    async def act(person: Person) -> None:
        assert isinstance(person.app.screen, FleetScreen)
        assert person.app.screen.refusal(action) == "read-only: type :arm to write"
        await person.say("arm recall")
        await person.press("enter")
        assert person.app.screen.refusal(action) is None

    sit_down(desk, act)


def test_a_refused_key_says_why_and_the_footer_leaves_it_out(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that silently does nothing is a defect to whoever presses it."""
    monkeypatch.setattr(
        FleetScreen,
        "refusal",
        lambda _self, action: "nothing is under the cursor" if action.id == "twin" else None,
    )

    async def act(person: Person) -> None:
        await person.press("Y")
        assert "nothing is under the cursor" in person.told
        await person.press("question_mark", *"command line")
        assert "not now: nothing is under the cursor" in person.picture
        await person.press("escape", "colon", *"twin")
        assert ":twin" not in person.picture
        await person.press("enter")
        assert person.told.count("nothing is under the cursor") == 2

    sit_down(desk, act)


def test_every_place_hands_out_the_command_that_does_the_same(desk: Desk) -> None:
    """Sent to the terminal, kept in the log; whether it arrived nobody can know."""

    async def act(person: Person) -> None:
        await person.press("Y")
        assert "knobctl " in person.told
        assert "sent to the terminal's clipboard" in person.told

    sit_down(desk, act)


def test_leaving_asks_only_where_something_is_open(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harmless answer has the focus, so Enter stays."""
    monkeypatch.setattr(FleetScreen, "unfinished", lambda _self: ["acme: 2 edits [/] in a draft"])

    async def act(person: Person) -> None:
        await person.press("q")
        assert isinstance(person.app.screen, ConfirmScreen)
        assert "acme: 2 edits [/] in a draft" in person.picture
        await person.press("ctrl+q", "enter")
        assert isinstance(person.app.screen, FleetScreen)
        await person.press("q", "escape")
        assert isinstance(person.app.screen, FleetScreen)
        await person.say("q")
        await person.press("y")
        assert person.app._exit

    sit_down(desk, act)


def test_leaving_with_nothing_open_asks_nothing(desk: Desk) -> None:
    """By the key and by the command."""

    async def act(person: Person) -> None:
        await person.say("q")
        assert person.app._exit

    sit_down(desk, act)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("enter",), False),
        (("tab", "enter"), False),
        (("right", "enter"), False),
        (("escape",), False),
        (("n",), False),
        (("y",), True),
    ],
)
def test_in_danger_enter_never_means_yes(desk: Desk, keys: tuple[str, ...], answer: bool) -> None:
    """Whatever was pressed before it."""
    answers: list[bool | None] = []

    async def act(person: Person) -> None:
        question = ConfirmScreen(line("Take it back?"), no="keep", yes="take back", danger=True)
        person.app.push_screen(question, answers.append)
        await settled(person.pilot)
        await person.press(*keys)

    sit_down(desk, act)
    assert answers == [answer]


def test_out_of_danger_enter_means_what_has_the_focus(desk: Desk) -> None:
    """The harmless answer first, the other after Tab."""
    answers: list[bool | None] = []

    async def act(person: Person) -> None:
        for keys in (("enter",), ("tab", "enter")):
            person.app.push_screen(ConfirmScreen(line("?"), no="n", yes="y"), answers.append)
            await settled(person.pilot)
            await person.press(*keys)

    sit_down(desk, act)
    assert answers == [False, True]


def test_a_box_that_is_left_before_it_stands_breaks_nothing(desk: Desk) -> None:
    """A key that comes too soon, or too late, means nothing to it; Esc leaves it all the same."""

    async def act(person: Person) -> None:
        for box in (
            PaletteScreen((), (), {}),
            ConfirmScreen(line("?"), no="n", yes="y"),
            PreviewScreen("what", []),
        ):
            person.app.push_screen(box)
            assert not box.check_action("down", ())
            assert box.check_action("leave", ())
            person.app.pop_screen()
            await settled(person.pilot)
            assert not box.stands
        assert isinstance(person.app.screen, FleetScreen)
        await person.press("colon")
        assert isinstance(person.app.screen, PaletteScreen)
        assert person.app.screen.stands

    sit_down(desk, act)


def test_ctrl_c_explains_how_to_leave_wherever_it_is_pressed(desk: Desk) -> None:
    """It never leaves, and closes nothing."""

    async def act(person: Person) -> None:
        await person.press("ctrl+c", "colon", "ctrl+c")
        assert person.told.count("press q or type :q to leave") == 2
        assert isinstance(person.app.screen, PaletteScreen)

    sit_down(desk, act)


def test_ctrl_c_stops_what_is_read_in_the_background(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As everywhere else; the key that goes on is said."""

    async def act(person: Person) -> None:
        await person.press("ctrl+c")
        assert "stopped reading" not in person.told
        monkeypatch.setattr(FleetReading, "is_busy", True)
        await person.press("ctrl+c")
        assert "stopped reading; p goes on" in person.told
        assert "paused: p goes on" in person.header

    sit_down(desk, act)


def test_what_is_pasted_into_a_list_does_nothing(desk: Desk) -> None:
    """Each letter would be a command."""

    async def act(person: Person) -> None:
        person.app.post_message(events.Paste("q:q\nqqq"))
        await settled(person.pilot)
        assert not person.app._exit
        assert isinstance(person.app.screen, FleetScreen)

    sit_down(desk, act)


def test_what_the_rooms_below_print_is_kept_and_not_drawn_over_the_screen(desk: Desk) -> None:
    """As the remark that links are not followed."""
    (desk.folder / "elsewhere.yaml").symlink_to("/etc/hostname")

    async def act(person: Person) -> None:
        assert "1 link is passed over" in person.told
        assert "passed over" not in person.picture

    sit_down(desk, act, path=".")
