"""Keys are obeyed one by one: the next one goes where the one before it led.

Textual hands a key down to what has the focus while the one before it is still on its way. Over a slow line
keys come in bursts: of `/delta`, typed fast, the letters would be commands to the list, and not words of the
filter that `/` opens.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from textual import events
from textual.app import App

from knobctl.text import count
from knobctl.tui.ui import tell

if TYPE_CHECKING:
    from textual.message_pump import MessagePump

PATIENCE_S: Final = 0.5
"""So long a key may be under way; then the next one is not kept waiting."""
MOST: Final = 256
"""So many keys may wait. Nobody types that far ahead: it is a text that a terminal pastes as if it were typed."""
CALM_S: Final = 0.5
"""So long nothing comes after the last of them."""


class InOrder(App[None]):
    """An application that takes a key when what the one before it did is done."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)  # type: ignore[arg-type]  # Textual's own, passed on
        self._waiting: deque[events.Key | events.Paste] = deque()
        self._taken: events.Event | None = None
        self._is_busy = False
        self._dropped = 0
        self._calm: asyncio.TimerHandle | None = None

    def take(self, event: events.Key | events.Paste) -> None:
        """Hear of a key whose turn it is."""

    async def on_event(self, event: events.Event) -> None:
        """Take a key, or let it wait for its turn."""
        if not isinstance(event, (events.Key, events.Paste)):
            await super().on_event(event)
        elif not self.screen_stack:
            return  # the program is being left: a key that comes up from below means nothing any more
        elif event.is_forwarded:
            await super().on_event(event)
        elif self._calm and event is not self._taken:
            self._drop(1)
        elif self._is_busy and event is not self._taken:
            self._waiting.append(event)
            if len(self._waiting) > MOST:
                self._drop(len(self._waiting))
                self._waiting.clear()
        else:
            self._is_busy, self._taken = True, event
            self.take(event)
            await super().on_event(event)
            self._done = asyncio.create_task(self._go_on())

    def _drop(self, keys: int) -> None:
        """Leave keys out, and all that come on their heels: of a pasted text each letter would be a command."""
        self._dropped += keys
        if self._calm:
            self._calm.cancel()
        self._calm = asyncio.get_running_loop().call_later(CALM_S, self._calmed)

    def _calmed(self) -> None:
        dropped, self._dropped, self._calm = self._dropped, 0, None
        if self.screen_stack:
            tell(
                self,
                f"{count(dropped, 'key')} came at once, as of a pasted text: ignored",
                "warning",
            )

    async def _go_on(self) -> None:
        """Wait until a key is obeyed: below, on its way up, and what it left to be done."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                below = self.focused or (self.screen if self.screen_stack else None)
                for node in below.ancestors_with_self if below else ():
                    await _quiet(node)
                await _quiet(self)  # where a new place was put on the stack
                if self.screen_stack:
                    await _quiet(self.screen)
                await _quiet(self)  # where it was said what has the focus
        self._is_busy, self._taken = bool(self._waiting), None
        if self._waiting:
            self._taken = self._waiting.popleft()
            self.post_message(self._taken)


async def _quiet(node: MessagePump) -> None:
    """Wait until what a node was told by now is done."""
    done = asyncio.Event()
    if node.call_later(done.set):
        await done.wait()
