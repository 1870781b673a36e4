"""The `:` commands: what a typed line means, how it may go on, and what was typed before. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from knobctl.errors import UsageError
from knobctl.text import nearest, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from knobctl.tui.actions import Action

Offer: TypeAlias = "Callable[[str], Iterable[str]]"
"""Gives what an argument can be, by what stands there already."""

MOST: Final = 50
"""So many completions are offered at most: nobody reads more, and a fleet has 100,000 tenants."""


@dataclass(frozen=True, slots=True)
class Call:
    """An action, and what it is told."""

    action: Action
    argument: str = ""


def parse(text: str, actions: Sequence[Action]) -> Call:
    """Understand a line, with or without the colon before it.

    Args:
        text: What was typed.
        actions: The actions that can be called here.

    Raises:
        UsageError: In words, with the nearest command.
    """
    word, _, argument = text.strip().removeprefix(":").strip().partition(" ")
    if not word:
        raise UsageError("no command; type ? for help")
    names = {name: action for action in actions for name in names_of(action)}
    if word not in names:
        close = nearest(word, names)
        known = f"did you mean :{close}?" if close else "Tab lists all, ? explains them"
        raise UsageError(f"there is no command :{visible(word)} here; {known}")
    action, argument = names[word], argument.strip()
    if argument and not action.argument:
        raise UsageError(f":{word} takes nothing after it; {visible(argument)!r} is too much")
    return Call(action, argument)


def names_of(action: Action) -> tuple[str, ...]:
    """The names by which an action can be called; the first is the one that is told."""
    return (action.command, *action.aliases)


def usage(action: Action) -> str:
    """Write a command with what it takes: `:open TENANT`."""
    return f":{action.command} {action.argument.upper()}".rstrip()


def completions(text: str, actions: Sequence[Action], offers: Mapping[str, Offer]) -> list[str]:
    """The lines that a typed line may become, at most 50.

    Args:
        text: What was typed so far, with or without the colon before it.
        actions: The actions that can be called here.
        offers: By the kind of an argument, what it can be.
    """
    typed = text.lstrip().removeprefix(":").lstrip()
    word, space, argument = typed.partition(" ")
    if not space:
        first = [action.command for action in actions if action.command.startswith(word)]
        short = [name for action in actions for name in action.aliases if name.startswith(word)]
        return [*dict.fromkeys((*sorted(first), *sorted(short) * bool(word)))][:MOST]
    action = next((one for one in actions if word in names_of(one)), None)
    offer = offers.get(action.argument) if action else None
    if offer is None:
        return []
    found: list[str] = []
    for one in offer(argument.lstrip()):
        found.append(f"{word} {one}")
        if len(found) == MOST:
            break
    return found


def common_start(lines: Sequence[str]) -> str:
    """What all of some lines begin with: so far Tab goes on by itself."""
    if not lines:
        return ""
    first, last = min(lines), max(lines)
    at = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first[: min(len(first), len(last)) if at is None else at]


@dataclass(slots=True)
class History:
    """What was typed before, newest last; the arrows walk in it."""

    lines: list[str] = field(default_factory=list)
    _at: int | None = None
    _draft: str = ""

    @property
    def walks(self) -> bool:
        """Whether somebody is walking in it."""
        return self._at is not None

    def rest(self) -> None:
        """End the walk."""
        self._at = None

    def add(self, text: str) -> None:
        """Remember a line that was carried out; the walk ends."""
        self.rest()
        if text and self.lines[-1:] != [text]:
            self.lines = [*self.lines, text][-100:]

    def older(self, typed: str) -> str:
        """The line before, from what stands there now."""
        if not self.lines:
            return typed
        if self._at is None:
            self._draft, self._at = typed, len(self.lines)
        self._at = max(self._at - 1, 0)
        return self.lines[self._at]

    def newer(self, typed: str) -> str:
        """The line after; at the end what was being typed."""
        if self._at is None:
            return typed
        self._at += 1
        if self._at < len(self.lines):
            return self.lines[self._at]
        self._at = None
        return self._draft
