"""What the palette and the help offer for what is typed: actions, arguments, tenants. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.tui.commands import MOST, completions, names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from knobctl.tui.actions import Action
    from knobctl.tui.commands import Offer

TENANT_PREFIX: Final = "tenant:"
_NO_MATCH: Final = 9


@dataclass(frozen=True, slots=True)
class Row:
    """One offer."""

    line: str
    """The command line that it stands for."""
    action: Action | None = None
    """The action, where it is one; None for an argument or a tenant."""


def rows(typed: str, actions: Sequence[Action], offers: Mapping[str, Offer]) -> list[Row]:
    """The offers for what is typed, best first.

    Args:
        typed: A command line, words of what is wanted, or `tenant:` and a part of a name.
        actions: What can be done now.
        offers: By the kind of an argument, what it can be.
    """
    text = typed.strip().removeprefix(":").lstrip()
    if text.startswith(TENANT_PREFIX):
        return [Row(f"tenant {name}") for name in _first(offers, "tenant", text)]
    word, space, _ = text.partition(" ")
    named = next((one for one in actions if word in names_of(one)), None)
    if named and named.argument and (space or typed.endswith(" ")):
        line = text if space else f"{text} "
        return [Row(each) for each in completions(line, actions, offers)]
    return [Row(action.command, action) for action in matching(text, actions)]


def _first(offers: Mapping[str, Offer], kind: str, text: str) -> Iterable[str]:
    offer = offers.get(kind)
    found = offer(text.removeprefix(TENANT_PREFIX).strip()) if offer else ()
    return [name for name, _ in zip(found, range(MOST), strict=False)]


def matching(text: str, actions: Sequence[Action]) -> list[Action]:
    """The actions that the words of a text speak of: those named so first, then those explained so.

    Among equals those come first that are worth a place in the footer.
    """
    words = text.lower().split()
    ranked = [(max((_rank(word, one) for word in words), default=0), one) for one in actions]
    found = [(rank, not one.footer, one) for rank, one in ranked if rank < _NO_MATCH]
    return [one for _, _, one in sorted(found, key=lambda each: each[:2])]


def _rank(word: str, action: Action) -> int:
    names, title = names_of(action), action.title.lower()
    tests: tuple[Callable[[], bool], ...] = (
        lambda: word in names,
        lambda: action.command.startswith(word),
        lambda: any(part.startswith(word) for part in title.split()),
        lambda: word in action.command or word in title,
        lambda: word in action.help.lower(),
    )
    return next((rank for rank, holds in enumerate(tests) if holds()), _NO_MATCH)
