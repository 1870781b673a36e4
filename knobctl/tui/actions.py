"""The table of actions: keys, footer, help, palette, `:` commands and the keymap derive from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from textual.binding import Binding, BindingType


class Danger(StrEnum):
    """How far an action reaches; how it is confirmed follows from it."""

    VIEW = "view"
    """It looks."""
    DRAFT = "draft"
    """It changes a draft, which lies in the user's own folder."""
    WRITE = "write"
    """It writes the tenant's file."""
    PUSH = "push"
    """It writes to the engine."""


FLEET: Final = "fleet"
TENANT: Final = "tenant"
EVERYWHERE: Final = "everywhere"
"""The place of an action that works on each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that a person can do."""

    id: str
    """Its name in keymaps: a public interface. The code is `action_<id>` of the screen or the app."""
    keys: tuple[str, ...] = ()
    """As Textual names them; none for what only a command does."""
    title: str
    """A word or two, for the footer."""
    help: str
    """A sentence: what it does."""
    places: tuple[str, ...]
    danger: Danger = Danger.VIEW
    command: str
    """Its `:` command."""
    argument: str = ""
    """What the command takes: `tenant`, `file`; empty for nothing."""
    footer: bool = True
    """Whether the footer has room for it."""


ACTIONS: Final = (
    Action(
        id="quit",
        keys=("q",),
        title="quit",
        help="Leave; asks first where a draft or a push is open.",
        places=(EVERYWHERE,),
        command="quit",
    ),
    Action(
        id="back",
        keys=("escape",),
        title="back",
        help="Go back one step; no draft is lost.",
        places=(TENANT,),
        command="back",
    ),
    Action(
        id="open",
        keys=("enter",),
        title="open",
        help="Open the tenant under the cursor.",
        places=(FLEET,),
        command="open",
        argument="tenant",
    ),
)


def actions_of(place: str) -> list[Action]:
    """The actions that work on a place, its own first."""
    own = [one for one in ACTIONS if place in one.places]
    return own + [one for one in ACTIONS if EVERYWHERE in one.places and place not in one.places]


def bindings_of(place: str) -> list[BindingType]:
    """The keys of a place, or of the app for those that work everywhere."""
    return [
        Binding(",".join(one.keys), one.id, one.title, show=one.footer, id=one.id)
        for one in ACTIONS
        if place in one.places and one.keys
    ]
