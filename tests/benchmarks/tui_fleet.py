"""The fleet's place of the terminal UI over a large repository whose index is warm.

Run: python -m tests.benchmarks.tui_fleet [TENANTS]

Measured in a real terminal (tmux, 80x24): how soon after the first picture all tenants are listed, how soon
after a key of the filter the list is repainted, and what the program takes of memory. What a look at the
screen takes is part of all of these; it is printed too. And without a terminal, as nothing else can be seen
there: the longest time that the loop which draws did not get its turn while rows, verdicts and live sets
are read. It is counted in seconds of a processor that the program itself took meanwhile: what other programs
take of the machine is no freeze of ours, and is printed beside it, as the longest that a process which only
sleeps was kept waiting. The engine is served by a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import multiprocessing.connection
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.benchmarks.live import filled
from tests.benchmarks.plan import KINDS, repository, run
from tests.benchmarks.serving import served
from tests.benchmarks.timing import line
from tests.tui.terminal.driving import terminal

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

    from tests.tui.terminal.driving import Tmux

TENANTS = 100_000
READY_S = 1.5
KEY_S = 0.060
FREEZE_S = 0.050
LIMIT_MIB = 250
BEAT_S = 0.005
KEYS = "0712345"


def main() -> None:
    """Print what was measured, each beside its limit."""
    if sys.argv[1:2] == ["--inside"]:
        asyncio.run(_inside(*sys.argv[2:]))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else TENANTS
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        store, root = f"embedded:{folder / 'engine.db'}", folder / "repository"
        filled(store, count, KINDS)
        repository(root, count, KINDS)
        with served(store) as (url, token):
            (folder / "token").write_text(token)
            (folder / "token").chmod(0o600)
            options = ["--engine", url, "--token-file", str(folder / "token")]
            home = root.with_name(f"{root.name}-home")  # which a terminal in that folder has
            home.mkdir()
            _warm(root, home, options)
            _in_a_terminal(root, options, count)
            _freezes(root, home, options)


def _environment(home: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


def _warm(root: Path, home: Path, options: list[str]) -> None:
    """Have everything read and judged once."""
    knobctl = str(Path(sys.executable).parent / "knobctl")
    run([knobctl, "drift", *options], root, _environment(home))


def _in_a_terminal(root: Path, options: list[str], count: int) -> None:
    with terminal(root) as tmux:
        tmux.run("tui", *options)
        tmux.wait("quit")
        painted = time.perf_counter()
        tmux.wait(f"{count:,} tenants")
        ready = time.perf_counter() - painted
        print(line(f"{count:,} tenants listed after the first picture, s", ready, READY_S))
        tmux.wait("live every", without="judging", within_s=300)
        keys = [_key(tmux, key) for key in ("/", *KEYS)][1:]
        looks = [_seconds(tmux) for _ in KEYS]
        print(line("a key of the filter repainted, median s", statistics.median(keys), KEY_S))
        print(
            f"{'':12}of that the look at the screen {statistics.median(looks):.3f} s; "
            f"each key: {', '.join(f'{key * 1000:.0f}' for key in keys)} ms"
        )
        print(line("memory at its peak, MiB", _peak(tmux.program()), LIMIT_MIB), flush=True)
        tmux.send("Enter")
        tmux.type("q")
        tmux.back()


def _key(tmux: Tmux, key: str) -> float:
    """Press a key, and look until the screen is another one."""
    before = tmux.screen()
    start = time.perf_counter()
    tmux.type(key)
    while tmux.screen() == before:
        pass
    taken = time.perf_counter() - start
    time.sleep(0.5)  # what follows the cursor rests
    return taken


def _seconds(tmux: Tmux) -> float:
    start = time.perf_counter()
    tmux.screen()
    return time.perf_counter() - start


def _peak(process: int) -> float:
    for told in Path(f"/proc/{process}/status").read_text().splitlines():
        if told.startswith("VmHWM:"):
            return int(told.split()[1]) / 1024
    raise ValueError("the process tells no peak")


def _freezes(root: Path, home: Path, options: list[str]) -> None:
    """Run the place without a terminal, beside a process that only sleeps."""
    here, there = multiprocessing.Pipe()
    stop = multiprocessing.Event()
    idle = multiprocessing.Process(target=_sleep, args=(there, stop), daemon=True)
    idle.start()
    command = [sys.executable, "-m", "tests.benchmarks.tui_fleet", "--inside"]
    done = subprocess.run(
        [*command, str(root), *(options[1::2])],
        cwd=Path(__file__).parents[2],
        env=_environment(home),
        check=True,
        capture_output=True,
        text=True,
    )
    stop.set()
    noise = here.recv()
    for what, told in json.loads(done.stdout.splitlines()[-1]).items():
        print(line(f"the loop's longest wait, {what}, s of a processor", told["busy"], FREEZE_S))
        print(
            f"{'':12}by the clock {told['wait']:.3f} s; all of it took {told['taken']:.2f} s, "
            f"{told['own']:.2f} s of a processor"
        )
    print(f"{'':12}a process that only sleeps was kept waiting {noise:.3f} s at the most")


def _sleep(told: multiprocessing.connection.Connection, stop: Event) -> None:
    worst, before = 0.0, time.perf_counter()
    while not stop.is_set():
        time.sleep(BEAT_S)
        now = time.perf_counter()
        worst, before = max(worst, now - before - BEAT_S), now
    told.send(worst)


async def _inside(root: str, engine: str, token: str) -> None:
    """Open the place, and note how long the loop waits for its turn."""
    from knobctl.cli.options import Settings
    from knobctl.cli.screen import give_turns
    from knobctl.cli.session import Session
    from knobctl.cli.workplace import SessionWorkplace
    from knobctl.tui.app import KnobctlApp
    from knobctl.tui.screens.fleet import FleetScreen

    os.chdir(root)
    give_turns()
    waits: list[_Wait] = []

    async def beat() -> None:
        before, busy = time.perf_counter(), time.process_time()
        while True:
            await asyncio.sleep(BEAT_S)
            now, taken = time.perf_counter(), time.process_time()
            waits.append(_Wait(now, now - before - BEAT_S, taken - busy))
            before, busy = now, taken

    settings = Settings(command="tui", engine=engine, token_file=Path(token))
    with Session(settings) as session:
        app = KnobctlApp(SessionWorkplace(session, ".", read_only=True))
        async with app.run_test(size=(80, 24)):
            place = app.screen
            assert isinstance(place, FleetScreen)
            beats = asyncio.create_task(beat())
            times = [_Time.now()]
            while place.reading.is_reading_rows:
                await asyncio.sleep(BEAT_S)
            times.append(_Time.now())
            while not place.reading.is_done:
                await asyncio.sleep(BEAT_S)
            times.append(_Time.now())
            beats.cancel()
    told = zip(("rows", "verdicts and live sets"), times[:-1], times[1:], strict=True)
    print(json.dumps({what: _told(waits, since, until) for what, since, until in told}))


class _Wait(NamedTuple):
    """From one turn of the loop to the next."""

    at: float
    wait: float
    """By the clock, longer than was asked for."""
    busy: float
    """What the program took of a processor meanwhile."""


class _Time(NamedTuple):
    clock: float
    own: float

    @classmethod
    def now(cls) -> _Time:
        """The clock, and what the program took of a processor so far."""
        return cls(time.perf_counter(), time.process_time())


def _told(waits: list[_Wait], since: _Time, until: _Time) -> dict[str, float]:
    during = [one for one in waits if since.clock <= one.at <= until.clock]
    return {
        "wait": max(one.wait for one in during),
        "busy": max(one.busy for one in during),
        "taken": until.clock - since.clock,
        "own": until.own - since.own,
    }


if __name__ == "__main__":
    main()
