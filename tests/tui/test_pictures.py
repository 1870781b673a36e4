"""Golden pictures of the frame: the palette and the help of the first place, and the ids of all actions."""

from __future__ import annotations

from knobctl.tui.actions import ACTIONS
from tests.tui.desks import Desk
from tests.tui.persons import Person, sit_down
from tests.tui.pictures import assert_picture


def test_the_palette_offers_what_works_here(desk: Desk) -> None:
    """By its command, its keys and what it does."""

    async def act(person: Person) -> None:
        await person.press("colon")
        assert_picture("palette-80x24", person.picture)

    sit_down(desk, act)


def test_the_help_explains_the_place(desk: Desk) -> None:
    """What is next, all that can be done, and the chosen one in full."""

    async def act(person: Person) -> None:
        await person.press("question_mark")
        assert_picture("help-80x24", person.picture)

    sit_down(desk, act)


def test_the_ids_are_a_public_interface() -> None:
    """Keymaps name them: an id that vanishes breaks somebody's file."""
    lines = [f"{one.id} {one.danger.value} :{one.command}" for one in ACTIONS]
    assert len(lines) == len({one.id for one in ACTIONS})
    assert_picture("action-ids", "\n".join(sorted(lines)) + "\n")
