"""`--rate`, and the rate of a context: how many requests a second an engine gets from one run."""

from __future__ import annotations

import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.engine.pace import Pace
from knobctl.knobs import load_catalogue
from knobctl.server.knobs import open_service
from tests.cli.engines import fits
from tests.cli.fleets import ANNA, fleet_of, live_sets, over_http, runs, started
from tests.cli.killing import in_child
from tests.engine.cutting import Cut, CuttingProxy
from tests.engine.rates import NotedPace, most_in_a_second
from tests.server.doors import served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knobctl.server.knobs import KnobsService
    from tests.cli.inside import Inside

PUSH = ("apply", "t", "--yes", "--reason", "why", "--parallelism", "16")


@contextmanager
def watched(
    inside: Inside, tmp_path: Path, kind: type[CuttingProxy] = CuttingProxy
) -> Iterator[tuple[KnobsService, CuttingProxy, Any]]:
    """An engine behind a proxy that sees when calls come; the service, the proxy, and the options."""
    store = f"embedded:{tmp_path / 'served.db'}"
    service = open_service(store, load_catalogue(), clock=lambda: datetime.now(UTC))
    with (
        closing(service),
        served(service) as address,
        kind(address) as proxy,
    ):
        yield service, proxy, over_http(inside, service, proxy.url)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the requests of a command that runs inside this process were sent."""
    moments: list[float] = []

    class Noted(NotedPace):
        def __init__(self, per_s: int) -> None:
            super().__init__(per_s)
            self.moments = moments

    monkeypatch.setattr("knobctl.engine.pace.Pace", Noted)
    return moments


def test_the_workers_of_an_apply_keep_the_rate_together(
    inside: Inside, tmp_path: Path, noted: list[float]
) -> None:
    """P24: reads, writes, reading back, and what is sent again after a refusal."""
    sets = fleet_of(inside, 60)
    with watched(inside, tmp_path) as (service, proxy, engine):
        chance = random.Random(24)
        proxy.cuts = [chance.choice([Cut.LATER, Cut.GATEWAY, Cut.AFTER_SENDING]) for _ in range(20)]
        result = inside(*PUSH, "--rate", "80", *engine)
        assert result.code == 0, result.err
        assert len(service.audit_events(ANNA).items) == len(sets)
        assert len(proxy.arrivals) > 2 * len(sets) + 20
    assert len(proxy.arrivals) == len(noted)  # each request took its turn
    assert most_in_a_second(noted) <= 88


class Storm(CuttingProxy):
    """Turns every call away, with 429 and 503 by turns, until a time."""

    until = 0.0

    def next_cut(self, path: str) -> Cut | None:
        super().next_cut(path)
        if time.monotonic() > self.until:
            return None
        return Cut.LATER if len(self.arrivals) % 2 else Cut.TOO_MANY


@pytest.mark.parametrize(
    ("seconds", "rate"), [(0.5, 100), pytest.param(30.0, 50, marks=pytest.mark.slow)]
)
def test_fifty_workers_outlast_a_storm_under_their_rate(
    inside: Inside, tmp_path: Path, noted: list[float], seconds: float, rate: int
) -> None:
    """P24: nothing is given up, nothing is written twice, and the engine is never pressed."""
    sets = fleet_of(inside, 60)
    with watched(inside, tmp_path, Storm) as (service, proxy, engine):
        assert isinstance(proxy, Storm)
        proxy.until = time.monotonic() + seconds
        result = inside(*PUSH, "--parallelism", "50", "--rate", str(rate), *engine)
        assert result.code == 0, result.err
        assert len(service.audit_events(ANNA).items) == len(sets)
        seen = most_in_a_second(proxy.arrivals)
    print(f"{seconds:g} s of refusals, 50 workers: {len(noted)} calls, {seen} seen in a second")
    assert len(proxy.arrivals) == len(noted)
    assert most_in_a_second(noted) <= rate * 1.1


@pytest.mark.slow
def test_fifty_commands_that_are_started_together_outlast_a_storm(
    inside: Inside, tmp_path: Path
) -> None:
    """P24: each has a rate of its own, and all of them together no more than all rates; 30 s of refusals."""
    with watched(inside, tmp_path, Storm) as (service, proxy, engine):
        assert isinstance(proxy, Storm)
        _, url, *token = engine
        inside("context", "add", "one", "--engine", url, *token, "--rate", "2")
        proxy.until = time.monotonic() + 30
        line = ("set", "{}", "rrf_k=30", "--yes", "--reason", "why", "--context", "one")
        with ThreadPoolExecutor(50) as pool:
            lines = [tuple(word.format(f"t{number}") for word in line) for number in range(50)]
            ended = list(pool.map(lambda words: in_child(words, lambda: None), lines))
        assert ended == [(0, said) for _, said in ended]
        assert len(service.audit_events(ANNA).items) == 50
        most = most_in_a_second(proxy.arrivals)
    print(f"30 s of refusals, 50 commands: {len(proxy.arrivals)} calls, at most {most} in a second")
    assert most <= 110


def test_a_context_has_a_rate_and_a_flag_beats_it(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flag before variable before context."""
    fleet_of(inside, 12)
    with watched(inside, tmp_path) as (_, proxy, engine):
        _, url, *token = engine
        added = inside(
            *("context", "add", "slow", "--engine", url, *token, "--rate", "25", "--format", "json")
        )
        fits(added.json, "context")
        assert added.json["contexts"][0]["rate"] == 25
        assert "rate    25" in inside("context", "show", "slow").out

        rates: list[int] = []

        class Told(Pace):
            def __init__(self, per_s: int) -> None:
                super().__init__(per_s)
                rates.append(per_s)

        monkeypatch.setattr("knobctl.engine.pace.Pace", Told)

        def seconds(rate: int, *options: str) -> float:
            rates.clear()
            begun = time.monotonic()
            assert inside("drift", "t", "--context", "slow", *options).code == 3
            assert rates == [rate]
            return time.monotonic() - begun

        proxy.arrivals.clear()
        seconds(100_000, "--rate", "100000")
        turns = len(proxy.arrivals) - 1
        assert turns > 10
        assert seconds(25) > turns / 25
        monkeypatch.setenv("KNOBCTL_RATE", "15")
        assert seconds(15) > turns / 15
        seconds(100_000, "--rate", "100000")


@pytest.mark.parametrize("rate", ["0", "-1", "nan", "1e9", "0.5", "100001"])
def test_what_is_no_rate_is_a_wrong_command_line(inside: Inside, rate: str) -> None:
    """Nothing is read or written under a limit that means nothing."""
    fleet_of(inside, 1)
    assert inside(*PUSH, "--rate", rate).code == 2
    assert inside("context", "add", "a", "--engine", "https://a.example", "--rate", rate).code == 2
    inside.write(
        "../home/config/knobctl/contexts.yaml",
        f"contexts: {{a: {{engine: 'embedded:', rate: {rate}}}}}\n",
    )
    listed = inside("context", "list")
    assert (listed.code, "rate" in listed.err) == (4, True)


def test_a_stop_does_not_wait_for_turns(inside: Inside) -> None:
    """P23, P24: eight workers wait at eight requests a second; none of them writes after the signal."""
    sets = fleet_of(inside, 10)
    with started(inside, *PUSH, "--rate", "8", "--engine", "embedded:e.db") as process:
        for _ in range(1000):
            if live_sets(inside):
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        at_signal = len(live_sets(inside))
        begun = time.monotonic()
        process.communicate(timeout=60)
        took = time.monotonic() - begun
    assert process.returncode == 9
    assert len(live_sets(inside)) - at_signal <= 1
    assert took < 15  # a moment, on a machine that has nothing else to do
    run = runs(inside)[0]
    assert run["outcomes"]["applied"] + run["outcomes"]["skipped"] == len(sets)
    assert inside("apply", "--resume", run["run"], "--engine", "embedded:e.db").code == 0
