"""The table of actions: complete, wired, and a public interface."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from string import ascii_letters, digits
from typing import Final

import pytest

import knobctl.tui.screens
from knobctl.tui.actions import (
    ACTIONS,
    EVERYWHERE,
    PLAN,
    Action,
    action_called,
    actions_of,
    bindings_of,
)
from knobctl.tui.app import KnobctlApp
from knobctl.tui.commands import names_of
from knobctl.tui.keymap import clash
from knobctl.tui.screens.place import Place

LEGAL: Final = frozenset(
    (
        *ascii_letters,
        *digits,
        *(f"f{number}" for number in range(1, 13)),
        *("slash", "colon", "question_mark", "less_than_sign", "greater_than_sign"),
        *("left_square_bracket", "right_square_bracket", "plus", "minus"),
        *("escape", "enter", "tab", "shift+tab", "space", "up", "down", "left", "right"),
        *("home", "end", "pageup", "pagedown", "ctrl+d", "ctrl+u", "ctrl+p"),
    )
)
"""Keys that every terminal and every keyboard sends."""


def places() -> dict[str, type[Place]]:
    """The places, by their names in the table."""
    for module in pkgutil.iter_modules(knobctl.tui.screens.__path__):
        importlib.import_module(f"knobctl.tui.screens.{module.name}")
    found, rest = {}, [Place]
    while rest:
        kind = rest.pop()
        rest += kind.__subclasses__()
        if kind.PLACE and not inspect.isabstract(kind):
            found[kind.PLACE] = kind
    return found


PLACES: Final = places()
named = pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)


@named
def test_an_action_is_explained(action: Action) -> None:
    """A title for the footer, a sentence for the help, a `:` command for who has no such key."""
    assert 0 < len(action.title) <= 16
    assert action.help.endswith(".")
    assert action.help[0].isupper()
    assert len(action.help) <= 110
    assert action.command == action.command.strip().lower()
    assert " " not in action.command


@named
def test_an_action_works_wherever_it_is_offered(action: Action) -> None:
    """Each place that it names exists, and it or the application has the code for it."""
    kinds = (
        PLACES.values() if EVERYWHERE in action.places else [PLACES[one] for one in action.places]
    )
    for kind in kinds:
        code = getattr(kind, f"action_{action.id}", None) or getattr(
            KnobctlApp, f"action_{action.id}"
        )
        takes = inspect.signature(code).parameters
        assert all(one.default is not one.empty for one in list(takes.values())[1:]), takes
        assert (len(takes) > 1) == bool(action.argument), f"{kind.__name__} {takes}"


@named
def test_an_action_has_keys_that_reach_us(action: Action) -> None:
    """From the set that every terminal sends."""
    assert set(action.keys) <= LEGAL


def test_nothing_that_writes_to_the_engine_is_a_key_away() -> None:
    """Only a command leads to the plan, and the plan alone has a key that confirms it."""
    reaching = {one.id for one in ACTIONS if one.danger.value == "push" and one.keys}
    assert reaching == {"confirm"}
    assert action_called("confirm").places == (PLAN,)
    assert not action_called("push").keys


def test_no_key_means_two_things_in_one_place() -> None:
    """Nor does a command."""
    assert clash(ACTIONS) is None
    for place in PLACES:
        words = [name for action in actions_of(place) for name in names_of(action)]
        assert sorted(words) == sorted(set(words)), place


@pytest.mark.parametrize("place", PLACES)
def test_a_place_binds_exactly_what_the_table_says(place: str) -> None:
    """Screens add no keys of their own."""
    assert bindings_of(place) == PLACES[place].BINDINGS
    assert bindings_of(EVERYWHERE) == KnobctlApp.BINDINGS


def test_esc_is_back_in_every_place_but_the_first() -> None:
    """The first one has nothing behind it."""
    backs = [one for one in ACTIONS if "escape" in one.keys]
    covered = {place for one in backs for place in one.places}
    assert set(PLACES) - {"fleet"} <= covered
