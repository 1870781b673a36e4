"""A limit of requests a second: no window over it, shared by all threads, and no stop that waits for it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Timer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.engine.embedded import open_embedded
from knobctl.engine.http import HttpEngine
from knobctl.engine.network import Network
from knobctl.engine.pace import SLOWER, Pace
from knobctl.engine.tokens import GivenToken
from knobctl.knobs import load_catalogue
from tests.cli.engines import Clock
from tests.engine.rates import NotedPace, most_in_a_second
from tests.given_engine import GET, Fault, GivenEngine

TOKEN = GivenToken("acme-token", "the test")


@given(
    per_s=st.integers(1, 2000),
    late=st.lists(st.floats(0, 0.2), min_size=1, max_size=5),
    work=st.lists(st.floats(0, 1.5), min_size=1, max_size=5),
)
@settings(max_examples=60)
def test_no_window_of_a_second_holds_a_tenth_too_many(
    per_s: int, late: list[float], work: list[float]
) -> None:
    """Also where sleepers oversleep, and after idle times: nothing is saved up."""
    now = 0.0
    turns: list[float] = []

    def pause(seconds: float) -> None:
        nonlocal now
        now += seconds + late[len(turns) % len(late)] / per_s

    pace = Pace(per_s, monotonic=lambda: now, pause=pause)
    for number in range(min(3 * per_s, 1000)):
        pace.turn()
        turns.append(now)
        if number % 50 == 49:
            now += work[number // 50 % len(work)]
    assert most_in_a_second(turns) <= max(per_s, 1.1 * per_s)


def test_who_oversleeps_a_little_still_gets_the_whole_rate() -> None:
    """A tenth of a turn late each time: made up for, as far as a twentieth of a second goes."""
    now = 0.0

    def pause(seconds: float) -> None:
        nonlocal now
        now += seconds + 0.001

    pace = Pace(100, monotonic=lambda: now, pause=pause)
    for _ in range(1001):
        pace.turn()
    assert now == pytest.approx(10.2, rel=0.01)


def test_fifty_threads_share_one_limit() -> None:
    """And get nearly all of it."""
    pace = NotedPace(400)
    with ThreadPoolExecutor(50) as pool:
        list(pool.map(lambda _: pace.turn(), range(500)))
    assert most_in_a_second(pace.moments) <= 440
    assert pace.moments[-1] - pace.moments[0] < 5  # 1.3 s on a machine that has nothing else to do


def test_a_stop_is_not_kept_waiting_by_those_who_would_begin() -> None:
    """P23: they are sent home, all of them, and their turns are not used up."""
    pace, stop = Pace(1), Event()
    pace.turn()
    Timer(0.1, stop.set).start()
    start = time.monotonic()
    with ThreadPoolExecutor(20) as pool:
        assert not any(pool.map(lambda _: pace.begin(stop), range(20)))
    assert time.monotonic() - start < 5  # twenty turns take 20 s


def test_what_finishes_goes_before_what_begins() -> None:
    """Thirty that would begin, and one that reads back: it waits for two turns at most."""
    pace, stop = Pace(10), Event()
    with ThreadPoolExecutor(30) as pool:
        begun = [pool.submit(pace.begin, stop) for _ in range(30)]
        time.sleep(0.05)
        start = time.monotonic()
        pace.turn()
        waited = time.monotonic() - start
        stop.set()
        assert waited < 1.5  # thirty turns take 3 s
        assert sum(one.result() for one in begun) < 10


def test_a_turn_that_was_waited_for_is_taken_once() -> None:
    """By the next request of that thread, and by no other."""
    waits: list[float] = []
    pace = Pace(1, monotonic=lambda: 0.0, pause=waits.append)
    assert pace.begin(Event())
    pace.turn()
    assert waits == []
    pace.turn()
    assert waits == [SLOWER]


@pytest.mark.parametrize("seconds", [1.5, pytest.param(30.0, marks=pytest.mark.slow)], ids=str)
def test_fifty_clients_that_start_together_stay_under_their_limit_in_a_storm(
    seconds: float,
) -> None:
    """P24: 429 and 503 for a while, repetitions counted in; then all have succeeded."""
    pace = NotedPace(100)

    def read(_: int) -> bool:
        network = Network(pace=pace)
        with closing(
            HttpEngine(
                storm.url, load_catalogue(), tokens=TOKEN, network=network, notice=lambda _: None
            )
        ) as engine:
            return engine.read("acme").knobs == {}

    with GivenEngine() as storm, ThreadPoolExecutor(50) as pool:
        storm.fail(Fault.UNAVAILABLE, method=GET, times=60, argument=0)
        storm.fail(Fault.TOO_MANY, method=GET, times=10**6, argument=0)
        Timer(seconds, storm.troubles.clear).start()
        assert all(pool.map(read, range(50)))
    peak, seen = (
        most_in_a_second(one) for one in (pace.moments, (call.at for call in storm.calls))
    )
    print(
        f"{seconds:g} s of refusals, 50 clients: {len(storm.calls)} calls, {seen} seen in a second"
    )
    assert len(pace.moments) == len(storm.calls) + 50  # each asks once whether there are lists
    assert 50 < peak <= 110


def test_the_engine_in_this_process_is_asked_by_turns_too(tmp_path: Path) -> None:
    """One meaning of the limit, whatever the engine."""
    waits: list[float] = []
    pace = Pace(1, monotonic=lambda: 0.0, pause=waits.append)
    with closing(
        open_embedded(
            f"embedded:{tmp_path}/e.db",
            load_catalogue(),
            actor="anna",
            clock=Clock(datetime.now(UTC)),
            pace=pace,
        )
    ) as engine:
        engine.read("acme")
        engine.read("acme")
        list(engine.list())
    assert waits == [SLOWER, 2 * SLOWER]
