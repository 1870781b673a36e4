"""The fleet's filter: its words as chips that can be taken away, and the field in which they are typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from knobctl.tui.ui import Field, Words, line, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from knobctl.tui.ui import Part

_LONGEST: int = 40
"""So many characters of a word are shown on its chip."""


class FilterLine(Words):
    """One line: the chips, then how many are shown; without a filter, how the fleet is."""

    @dataclass
    class Dropped(Message):
        """A chip was clicked: its word shall go."""

        word: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._spots: list[tuple[int, int, str]] = []

    def show(self, words: Sequence[str], rest: Sequence[Part]) -> None:
        """Draw it.

        Args:
            words: One chip each.
            rest: What stands behind them.
        """
        parts: list[Part] = [" "]
        self._spots, at = [], 1
        for word in words:
            chip = f"[{shown(word, most=_LONGEST)}]"
            width = cell_len(chip)
            self._spots.append((at, at + width, word))
            parts += [(chip, "edited"), " "]
            at += width + 1
        self.update(line(*parts, *rest), layout=False)

    def on_click(self, event: events.Click) -> None:
        """Drop the word whose chip was clicked."""
        for start, end, word in self._spots:
            if start <= event.x < end:
                self.post_message(self.Dropped(word))


class FilterField(Field):
    """The field; Enter keeps what is typed, Esc takes what was there before."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    @dataclass
    class Left(Message):
        """Somebody wants to go back without what was typed."""

    def action_leave(self) -> None:
        """Go back."""
        self.post_message(self.Left())
