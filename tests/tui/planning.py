"""A person who plans a push of acme and looks at it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final, cast

from knobctl.changes.limits import Limits
from knobctl.tui.screens import plan as plan_module
from knobctl.tui.screens.plan import PlanScreen
from knobctl.tui.screens.push import PushScreen
from knobctl.tui.screens.tenant import TenantScreen
from tests.tui.desks import NOW, settled
from tests.tui.persons import PRODUCTION, Person

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import pytest

    from tests.tui.desks import Desk

PATIENCE_S: Final = 60.0
"""For a machine that is busy with other things."""
FILE = """# acme's knobs
tenant: acme
knobs:
  retrieval_min_score: 0.3   # measured
  mmr_lambda: 0.7
"""
LIVE = {"retrieval_min_score": 0.3, "rrf_k": 50, "mmr_lambda": 0.5}


class Planner(Person):
    """Opens acme, edits it, and goes to the plan."""

    async def arm(self, reason: str = "lower floors", ticket: str | None = None) -> None:
        """Let the session write, as `:arm` does."""
        arming = self.app.arming
        self.app.arming = arming.arm(reason, ticket, Limits(), self.app.workplace.now())

    async def open(self) -> TenantScreen:
        """Open acme."""
        self.app.action_tenant("acme")
        await self.until(lambda: isinstance(self.app.screen, TenantScreen))
        screen = cast("TenantScreen", self.app.screen)
        await self.until(lambda: screen.draft is not None and screen.judgement is not None)
        return screen

    async def plan(self, **literals: str) -> PlanScreen:
        """Edit knobs and go to the plan."""
        screen = await self.open()
        for knob, literal in literals.items():
            assert screen.draft is not None
            screen.take(screen.draft.put(knob, literal))
        await settled(self.pilot)
        await self.say("push")
        await self.until(lambda: isinstance(self.app.screen, PlanScreen))
        return await self.planned()

    async def planned(self) -> PlanScreen:
        """Wait until a plan is seen."""
        await self.until(
            lambda: isinstance(self.app.screen, PlanScreen) and self.app.screen.is_open
        )
        return cast("PlanScreen", self.app.screen)

    async def acknowledge_all(self) -> None:
        """Look at every line and acknowledge it."""
        screen = cast("PlanScreen", self.app.screen)
        while screen.left:
            before = len(screen.left)
            await self.press("tab", "a")
            assert len(screen.left) == before - 1

    async def pushed(self) -> PushScreen:
        """Wait until the push is over."""
        await self.until(lambda: isinstance(self.app.screen, PushScreen))
        screen = cast("PushScreen", self.app.screen)
        await self.until(lambda: screen.push.is_over)
        await settled(self.pilot)
        return screen

    async def until(self, good: Callable[[], bool]) -> None:
        """Wait for something that another thread, or the next turn, brings about."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            await settled(self.pilot)
            if good():
                return
            await asyncio.sleep(0.005)
        raise AssertionError(f"it does not come about:\n{self.picture}")


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a plan be confirmed at once, and keys come as fast as they like: tests do not wait."""
    from knobctl.tui import frame

    monkeypatch.setattr(plan_module, "MOMENT_S", 0.001)
    monkeypatch.setattr(frame, "BURST_S", 0.0)


def planning(
    desk: Desk,
    act: Callable[[Planner], Awaitable[None]],
    *,
    size: tuple[int, int] = (80, 24),
    production: bool = False,
    armed: bool = True,
    path: str = "fleet",
    **options: Any,
) -> None:
    """Open the terminal UI over acme's file and set, and do something there."""
    if production:
        desk.write("../home/config/knobctl/contexts.yaml", PRODUCTION)
        options |= {"engine": None, "context": "live"}

    async def run() -> None:
        with desk.app(path, clock=lambda: NOW, **options) as app:
            async with app.run_test(size=size, notifications=True) as pilot:
                await settled(pilot)
                planner = Planner(pilot)
                if armed:
                    await planner.arm(ticket="OPS-7" if production else None)
                await act(planner)
                app.pushes.wait()

    asyncio.run(run())


def acme(desk: Desk, text: str = FILE) -> None:
    """Lay acme's file there, and let the engine hold a set."""
    desk.write("fleet/knobctl.toml", "")
    desk.write("fleet/acme.yaml", text)
    desk.live({"acme": LIVE})
