"""A person at the terminal UI, who presses keys and looks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from knobctl.tui.ui import Field
from tests.tui.desks import NOW, Desk, settled
from tests.tui.pictures import picture

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from textual.pilot import Pilot

    from knobctl.tui.app import KnobctlApp

PRODUCTION = "contexts:\n  live: {engine: 'embedded:engine.db', production: true, ticket_pattern: 'OPS-[0-9]+'}\n"


class Person:
    """Presses keys and looks."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self.pilot = pilot
        self.app = cast("KnobctlApp", pilot.app)

    async def press(self, *keys: str) -> None:
        """Press keys one after another, and wait until all is drawn."""
        for key in keys:
            await self.pilot.press(key)
        await settled(self.pilot)

    async def say(self, text: str) -> None:
        """Type a `:` command."""
        await self.press("colon")
        self.app.screen.query_one(Field).value = text
        await self.press("enter")

    @property
    def picture(self) -> str:
        """What is seen."""
        return picture(self.app)

    @property
    def header(self) -> str:
        """The first line."""
        return self.picture.splitlines()[0]

    @property
    def told(self) -> str:
        """What was told, all of it."""
        return "\n".join(entry.text for entry in self.app.workplace.log.entries())


def sit_down(
    desk: Desk,
    act: Callable[[Person], Awaitable[None]],
    *,
    size: tuple[int, int] = (80, 24),
    production: bool = False,
    clock: Callable[[], datetime] = lambda: NOW,
    **options: Any,
) -> None:
    """Open the terminal UI over the example and do something there."""
    desk.example()
    if production:
        desk.write("../home/config/knobctl/contexts.yaml", PRODUCTION)
        options |= {"engine": None, "context": "live"}

    async def run() -> None:
        with desk.app(clock=clock, **options) as app:
            async with app.run_test(size=size, notifications=True) as pilot:
                await settled(pilot)
                await act(Person(pilot))

    asyncio.run(run())
