"""Header and footer: where one is, whether it can write, and the keys that work now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.tui.keymap import key_words, keys_of
from knobctl.tui.ui import Words, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from knobctl.tui.actions import Action
    from knobctl.tui.keymap import Keymap
    from knobctl.tui.ui import Part
    from knobctl.tui.workplace import Where


_ROOMY = 100
"""From so many columns on the header has room for more than what is needed."""


class Header(Words):
    """The first line, the same everywhere: PROD, engine, actor, mode, then what the place says."""

    def show(
        self, where: Where, badge: str, notes: Sequence[str], *, clearance: int | None = None
    ) -> None:
        """Draw it.

        Args:
            where: Which engine, and who asks it.
            badge: `RO`, or how long it is armed.
            notes: What else there is to say, most needed first: the rest is cut at a narrow terminal.
            clearance: What the engine lets them do, where that is known.
        """
        environment: list[Part] = [(" PROD ", "reverse"), " "] if where.production else [" "]
        engine = f"{where.context} {where.engine}" if where.context else where.engine
        known = clearance is not None and self.size.width >= _ROOMY
        who = f"{where.actor} L{clearance}" if known else where.actor
        armed = badge != "RO"
        self.update(
            line(
                *environment,
                (engine, "strong"),
                f"  {who}  ",
                (f" {badge} " if armed else badge, "reverse" if armed else "strong"),
                *(f"  {note}" for note in notes if note),
            )
        )


class Footer(Words):
    """The last line: the keys that work now; a click is as good as the key."""

    def __init__(self) -> None:
        super().__init__(id="footer")
        self._places: list[tuple[int, int, str]] = []

    def show(self, own: Sequence[Action], always: Sequence[Action], keymap: Keymap) -> None:
        """Draw it.

        Args:
            own: What can be done here now, most used first; as many as there is room for.
            always: What stands at the end whatever the width.
            keymap: The user's own keys.
        """
        kept = [_item(action, keymap) for action in always]
        room = self.size.width - sum(len(key) + len(title) + 3 for key, title, _ in kept) - 1
        shown = []
        for action in own:
            key, title, id_ = _item(action, keymap)
            room -= len(key) + len(title) + 3
            if room < 0:
                break
            shown.append((key, title, id_))
        parts: list[Part] = [" "]
        self._places, at = [], 1
        for key, title, id_ in (*shown, *kept):
            width = len(key) + len(title) + 1
            self._places.append((at, at + width, id_))
            parts += [(key, "strong"), f" {title}  "]
            at += width + 2
        self.update(line(*parts))

    async def on_click(self, event: events.Click) -> None:
        """Do what stands under the pointer."""
        for start, end, id_ in self._places:
            if start <= event.x < end:
                await self.run_action(f"app.perform({id_!r})")


def _item(action: Action, keymap: Keymap) -> tuple[str, str, str]:
    return key_words(keys_of(action, keymap)[0]), action.title, action.id
