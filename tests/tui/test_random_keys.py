"""Keys pressed at random, and the mouse, and pastes, and other sizes: nothing is written, nothing breaks."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from textual.errors import NoWidget
from textual.events import Key, Paste
from textual.pilot import OutOfBounds, Pilot

from knobctl.tui.actions import ACTIONS
from knobctl.tui.app import KnobctlApp
from tests.tui.desks import Desk, settled
from tests.tui.persons import PRODUCTION

KEYS: Final = [
    *sorted({key for action in ACTIONS for key in action.keys}),
    *"abcdefghijklmnopqrstuvwxyzGLRUY0123456789.",
    *("enter", "escape", "tab", "shift+tab", "up", "down", "left", "right", "home", "end"),
    *("pageup", "pagedown", "space", "backspace", "delete", "ctrl+c", "ctrl+d", "ctrl+u", "f5"),
    *("slash", "colon", "question_mark", "less_than_sign", "greater_than_sign", "plus", "minus"),
]
COMMANDS: Final = sorted({action.command for action in ACTIONS} - {"quit"})
WORDS: Final = ("", "acme", "rrf_k", "0.4", "x", "[/]", "because the report says so")
SIZES: Final = ((60, 20), (80, 24), (100, 30), (140, 40), (30, 8))
KEY_NAMES: Final = {
    " ": "space",
    "_": "underscore",
    ".": "full_stop",
    "-": "minus",
    "[": "left_square_bracket",
    "]": "right_square_bracket",
    "/": "slash",
    ":": "colon",
}
CHARACTERS: Final = {name: key for key, name in KEY_NAMES.items()} | {
    "question_mark": "?",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "plus": "+",
}
STEPS: Final = 25
SEEDS: Final = range(5)
ARMED_SEEDS: Final = range(1)
MANY_SEEDS: Final = range(1, 500)


class Monkey:
    """Does one thing after another, chosen by a seed."""

    def __init__(self, seed: int, pilot: Pilot[Any]) -> None:
        self._random = random.Random(seed)
        self._pilot = pilot
        self.done: list[str] = []
        self._typed_at = 0.0
        self._steps: list[tuple[Callable[[], Awaitable[None]], int]] = [
            (self._key, 40),
            (self._command, 8),
            (self._word, 4),
            (self._paste, 2),
            (self._click, 4),
            (self._size, 1),
            (self._patience, 6),
        ]

    async def step(self) -> None:
        steps, weights = zip(*self._steps, strict=True)
        await self._random.choices(steps, weights)[0]()

    async def _press(self, *keys: str) -> None:
        """Press keys; nothing waits for what the one before it did."""
        self.done += keys
        for key in keys:
            name = key if len(key) > 1 else KEY_NAMES.get(key, key)
            character = key if len(key) == 1 else CHARACTERS.get(key)
            event = Key(name, character)
            self._typed_at += 1.0  # to the program this is no burst, which it would not obey
            event.time = self._typed_at
            self._pilot.app.post_message(event)
            await asyncio.sleep(0)

    async def _key(self) -> None:
        await self._press(self._random.choice(KEYS))

    async def _command(self) -> None:
        words = f"{self._random.choice(COMMANDS)} {self._random.choice(WORDS)}".strip()
        await self._press("escape", "colon", *words, "enter")

    async def _word(self) -> None:
        await self._press(*self._random.choice(WORDS), "enter")

    async def _paste(self) -> None:
        text = self._random.choice((":push\n", "bolt\n", "y\n", "\x1b[A", "x" * 5000))
        self.done.append(f"paste {text[:9]!r}")
        self._pilot.app.post_message(Paste(text))
        await self._pilot.pause()

    async def _click(self) -> None:
        width, height = self._pilot.app.size
        place = self._random.randrange(width), self._random.randrange(height)
        self.done.append(f"click {place}")
        # Another place has come and is not laid out yet, or the size has just changed.
        with suppress(NoWidget, OutOfBounds):
            await self._pilot.click(offset=place)

    async def _size(self) -> None:
        size = self._random.choice(SIZES)
        self.done.append(f"size {size}")
        await self._pilot.resize_terminal(*size)

    async def _patience(self) -> None:
        await settled(self._pilot)


def files_of(folder: Path) -> dict[str, str]:
    """All files of the documents, by what is in them."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def play(app: KnobctlApp, seed: int, *first: str) -> list[str]:
    """Press what a seed says, until the program is left; gives what was done."""
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        monkey = Monkey(seed, pilot)
        await settled(pilot)
        try:
            for keys in first:
                await pilot.press(*keys.split())
                await settled(pilot)
            for _ in range(STEPS):
                if not app.is_running:
                    break
                await monkey.step()
        except BaseException:
            print("what was done:", monkey.done)
            raise
    return monkey.done


def prepared(desk: Desk) -> tuple[dict[str, str], dict[str, str | None]]:
    """The example with an engine whose sets differ from it; gives files and revisions."""
    folder = desk.example()
    desk.live({"delta": {"retrieval_min_score": 0.3, "rrf_k": 50}, "bolt": {"rrf_k": 40}})
    return files_of(folder), {tenant: desk.revision(tenant) for tenant in ("acme", "bolt", "delta")}


def unchanged(desk: Desk, before: tuple[dict[str, str], dict[str, str | None]]) -> None:
    files, revisions = before
    assert files_of(desk.folder / "fleet") == files
    assert {tenant: desk.revision(tenant) for tenant in revisions} == revisions


@pytest.mark.parametrize("seed", SEEDS)
def test_random_keys_write_nothing_and_break_nothing(desk: Desk, seed: int) -> None:
    """A session that is not armed changes neither files nor the engine."""
    before = prepared(desk)
    with desk.app(read_only=bool(seed % 2)) as app:
        asyncio.run(play(app, seed))
    unchanged(desk, before)


@pytest.mark.parametrize("seed", ARMED_SEEDS)
def test_random_keys_push_nothing_to_production_without_the_name(desk: Desk, seed: int) -> None:
    """An armed session that looks at a plan pushes nothing while nobody types the tenant's name."""
    before = prepared(desk)
    desk.write("../home/config/knobctl/contexts.yaml", PRODUCTION)
    arm = ("escape colon a r m space w h y enter", "enter O P S minus 1 enter")
    plan = ("colon t e n a n t space b o l t enter", "colon p u s h enter wait:900", "a", "a", "a")
    with desk.app(engine=None, context="live") as app:
        done = asyncio.run(play(app, seed, *arm, *plan))
    revisions = {tenant: desk.revision(tenant) for tenant in before[1]}
    assert revisions == before[1], done


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY_SEEDS)
def test_many_random_keys_write_nothing_and_break_nothing(desk: Desk, seed: int) -> None:
    """The same, hundreds of times."""
    if seed % 4 == 0:
        test_random_keys_push_nothing_to_production_without_the_name(desk, seed)
    else:
        test_random_keys_write_nothing_and_break_nothing(desk, seed)
