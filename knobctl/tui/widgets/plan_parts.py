"""The parts of the plan screen: lines with a cursor that Enter means nothing to, and the field for the name."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from knobctl.tui.ui import Choices, Field, tell

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from textual import events
    from textual.content import Content


class Lines(Choices, inherit_bindings=False):
    """Lines to go through; nothing is chosen by Enter, which confirms the whole plan."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor_up", "up", show=False),
        Binding("down", "cursor_down", "down", show=False),
        Binding("pageup,ctrl+u", "page_up", "page up", show=False),
        Binding("pagedown,ctrl+d", "page_down", "page down", show=False),
        Binding("home", "first", "first", show=False),
        Binding("end", "last", "last", show=False),
    ]

    def put(self, texts: Sequence[Content], fixed: Collection[int]) -> None:
        """Replace the lines; the cursor stays at its place.

        Args:
            texts: The lines.
            fixed: Those that the cursor passes over.
        """
        at = self.highlighted
        self.show(texts)
        for number in fixed:
            self.disable_option_at_index(number)
        free = [number for number in range(len(texts)) if number not in fixed]
        self.highlighted = at if at in free else next(iter(free), None)


class TypedName(Field):
    """The field for the name of what is pushed; it is typed, not pasted."""

    class Typed(Message):
        """Enter was pressed in it."""

        def __init__(self, *, is_whole: bool) -> None:
            super().__init__()
            self.is_whole = is_whole
            """Whether the name is the one that was asked for."""

    def __init__(self, name: str) -> None:
        """Take the name that has to be typed."""
        super().__init__(id="typed-name")
        self._wanted = name

    def _on_paste(self, event: events.Paste) -> None:
        """Refuse it."""
        event.prevent_default()
        event.stop()
        self.action_paste()

    def action_paste(self) -> None:
        """Refuse it."""
        tell(self.app, "the name is typed, not pasted: that is what it is asked for", "warning")

    async def action_submit(self) -> None:
        """Tell whether the name is whole; an incomplete one does nothing."""
        self.post_message(self.Typed(is_whole=self.value == self._wanted))
