"""What is typed faster than it is drawn goes where it was meant to go."""

from __future__ import annotations

from textual.events import Key

from knobctl.tui.screens.tenant import TenantScreen
from tests.tui.desks import Desk, settled
from tests.tui.persons import Person, sit_down


def test_what_is_typed_ahead_goes_where_the_key_before_it_led(desk: Desk) -> None:
    """The letters after `/` are words of the filter, those after `:` a command; none is one of the list's keys."""

    async def act(person: Person) -> None:
        letters = [(letter, letter) for letter in "delta"]
        words = [("space" if letter == " " else letter, letter) for letter in "theme plain"]
        typed = [("slash", "/"), *letters, ("enter", ""), ("enter", ""), ("colon", ":"), *words]
        for key, character in [*typed, ("enter", "")]:
            person.app.post_message(Key(key, character or None))
        for _ in range(400):
            await person.pilot.pause(0.05)
            if person.app.theme == "plain":
                break
        await settled(person.pilot)
        assert isinstance(person.app.screen, TenantScreen)
        assert person.app.screen.tenant == "delta"
        assert person.app.theme == "plain"

    sit_down(desk, act)


def test_a_text_that_comes_as_keys_is_not_obeyed(desk: Desk) -> None:
    """A terminal without bracketed paste types what is pasted: of 10,000 letters only the first few can be meant."""

    async def act(person: Person) -> None:
        for _ in range(2500):
            for key, character in [("slash", "/"), ("x", "x"), ("enter", ""), ("j", "j")]:
                person.app.post_message(Key(key, character or None))
        for _ in range(400):
            await person.pilot.pause(0.05)
            if "as of a pasted text: ignored" in person.told:
                break
        await settled(person.pilot)
        assert person.told.count("as of a pasted text: ignored") == 1
        await person.press("escape")  # the first `/` was obeyed
        await person.say("theme plain")
        assert person.app.theme == "plain"

    sit_down(desk, act)
