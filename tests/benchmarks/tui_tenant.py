"""How long a draft is judged with every key, and that it does not grow with the fleet around the tenant.

Run: python -m tests.benchmarks.tui_tenant [KEYS]
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from knobctl.cli.options import Settings
from knobctl.cli.session import Session
from knobctl.cli.workplace import SessionWorkplace
from knobctl.tui.app import KnobctlApp
from knobctl.tui.detail import detail_lines
from knobctl.tui.draft import Draft
from knobctl.tui.judging import TenantJudge
from knobctl.tui.knob_rows import knob_rows
from knobctl.tui.screens.tenant import TenantScreen
from tests.benchmarks.timing import line, tenant_files

FLEETS = (50, 10_000)
FLOOR = "retrieval_min_score"


def main() -> None:
    """Print the ratios beside their limits, and the milliseconds."""
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    judged = judging(keys)
    few, many = (statistics.median(judged[size]) for size in FLEETS)
    print(line(f"judging in {FLEETS[1]:,} tenants to judging in {FLEETS[0]}", many / few, 1.5))
    for size, times in judged.items():
        print(f"{'':12}{size:>6,} tenants: {_told(times)}")
    print(f"{'':12}from key to pane, headless, 140x40: {_told(asyncio.run(typing(keys)))}")


def judging(keys: int) -> dict[int, list[float]]:
    """By size of the fleet, seconds of CPU to judge a draft, make its rows and the pane, for one floor after another.

    In turn: what else the machine does is part of both.
    """
    with ExitStack() as stack:
        judges = {size: stack.enter_context(_judge(size)) for size in FLEETS}
        times: dict[int, list[float]] = {size: [] for size in FLEETS}
        for value in _floors(keys):
            for size, judge in judges.items():
                draft = judge.draft("engine").put(FLOOR, value)
                times[size].append(_seconds(partial(_look, judge, draft)))
        return {size: taken[1:] for size, taken in times.items()}


@contextmanager
def _judge(size: int) -> Iterator[TenantJudge]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "fleet"
        folder.mkdir()
        tenant_files(folder, size)
        with Session(_settings(Path(place))) as session:
            workplace = SessionWorkplace(session, str(folder), read_only=True)
            name = workplace.repository().tenants[size // 2].name
            yield TenantJudge(workplace.subject(name), workplace.read(name), session.today)


def _look(judge: TenantJudge, draft: Draft) -> None:
    judgement = judge.judge(draft)
    knob_rows(judge, judgement)
    detail_lines(judge, judgement, judge.catalogue[FLOOR], width=80)


async def typing(keys: int) -> list[float]:
    """Seconds from a key in the field until the pane speaks of the new value."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "fleet"
        folder.mkdir()
        tenant_files(folder, 50)
        with Session(_settings(Path(place))) as session:
            app = KnobctlApp(SessionWorkplace(session, str(folder), read_only=True))
            async with app.run_test(size=(140, 40)) as pilot:
                await pilot.pause(1)
                screen = TenantScreen(app.workplace.repository().tenants[0].name)
                await app.push_screen(screen)
                await pilot.pause(1)
                times = []
                for number in range(keys):
                    before, start = screen.judgement, time.perf_counter()
                    await pilot.press("plus" if number % 40 < 20 else "minus")
                    while screen.judgement is before:
                        await pilot.pause(0)
                    times.append(time.perf_counter() - start)
                return times[1:]


def _settings(place: Path) -> Settings:
    return Settings(command="tui", engine=f"embedded:{place / 'engine.db'}", quiet=True)


def _floors(number: int) -> list[str]:
    return [f"0.{100 + 7 * index % 900}" for index in range(number + 1)]


def _seconds(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _told(times: list[float]) -> str:
    ordered = sorted(times)
    late = ordered[int(len(ordered) * 0.95)]
    return f"median {statistics.median(times) * 1000:.1f} ms, 95 in 100 within {late * 1000:.1f} ms"


if __name__ == "__main__":
    main()
