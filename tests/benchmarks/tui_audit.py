"""How long the audit of 100,000 events takes to be there and to be filtered, and how long the screen stands still.

Run: python -m tests.benchmarks.tui_audit [EVENTS]

Counted in seconds of a processor that the program itself took meanwhile; by the clock it is printed beside it.
"""

import asyncio
import os
import resource
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from knobctl.cli.screen import give_turns
from knobctl.tui.app import KnobctlApp
from knobctl.tui.screens.audit import AuditScreen
from knobctl.tui.ui import Field
from tests.benchmarks.timing import line
from tests.cli.engines import Clock, embedded
from tests.tui.desks import NOW, Desk, settled

TENANTS = 500
BEAT_S = 0.005
MOST_STILL_S = 0.05
"""No freeze is to be longer."""
FILTERED_S = 0.06
"""A key of the filter is to be on the screen by then."""


def main() -> None:
    """Print each figure beside its limit."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.environ |= {f"XDG_{name}_HOME": place for name in ("DATA", "CONFIG", "STATE", "CACHE")}
        desk = Desk(Path(place))
        desk.example()
        fill(desk, number)
        with desk.app() as app:
            asyncio.run(look(app, number))


def fill(desk: Desk, number: int) -> None:
    """Write so many sets, one after another: a minute or two."""
    with embedded(desk.folder / "engine.db", Clock(NOW - timedelta(days=90))) as engine:
        for turn in range(number):
            engine.replace(
                f"t{turn % TENANTS}",
                {"retrieval_min_score": 0.2 + turn % 60 / 100, "rrf_k": 30 + turn % 7},
                expected_revision=None,
                reason=f"turn {turn // TENANTS}",
                idempotency_key=str(turn),
            )


class Heart:
    """Beats while the screen is alive; knows the longest time between two beats."""

    def __init__(self) -> None:
        self.still = self.busy = 0.0

    async def beat(self) -> None:
        """Go on for ever."""
        last, busy = time.perf_counter(), time.process_time()
        while True:
            await asyncio.sleep(BEAT_S)
            now, taken = time.perf_counter(), time.process_time()
            self.still = max(self.still, now - last - BEAT_S)
            self.busy = max(self.busy, taken - busy)
            last, busy = now, taken


async def look(app: KnobctlApp, number: int) -> None:
    """Open the audit, filter it, prove it."""
    give_turns()
    heart = Heart()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        beating = asyncio.create_task(heart.beat())
        for name in ("audit", "verify"):
            heart.still = heart.busy = 0.0
            start = time.perf_counter()
            await app.action_perform(name)
            await settled(pilot)
            taken = time.perf_counter() - start
            print(line(f"{name}: longest stop, s of a processor", heart.busy, MOST_STILL_S))
            print(f"{'':12}by the clock {heart.still:.3f} s; {number:,} events in {taken:.1f} s")
        await _filter(app, pilot)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"{'':12}memory added {(after - before) >> 10} MiB")
        beating.cancel()


async def _filter(app: KnobctlApp, pilot: Pilot[Any]) -> None:
    screen = app.screen
    assert isinstance(screen, AuditScreen)
    slowest = busiest = 0.0
    for words in ("t", "t4", "t42", "t42 anna", "!t4", "nothing"):
        start, busy = time.perf_counter(), time.process_time()
        screen.query_one("#words", Field).value = words
        await pilot.pause()
        slowest = max(slowest, time.perf_counter() - start)
        busiest = max(busiest, time.process_time() - busy)
    print(line("filter: slowest key, s of a processor", busiest, FILTERED_S))
    print(f"{'':12}by the clock {slowest:.3f} s")


if __name__ == "__main__":
    main()
