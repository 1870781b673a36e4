"""Calls that are sent again: when, spread over time, said to the person, and cut short by a stop."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event

import pytest

from knobctl.engine.http import HttpEngine
from knobctl.engine.network import Network
from knobctl.engine.tokens import GivenToken
from knobctl.errors import EngineError
from knobctl.knobs import load_catalogue
from tests.given_engine import GET, Fault, GivenEngine

TOKEN = GivenToken("acme-token", "the test")
CAP = 20


class Waited(Event):
    """A stop that nobody asks for, and that writes down how long it was waited for instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.pauses.append(timeout)
        return False


def client(url: str, network: Network, said: list[str] | None = None) -> HttpEngine:
    """A client, and where its notices go."""
    told = [] if said is None else said
    return HttpEngine(url, load_catalogue(), tokens=TOKEN, network=network, notice=told.append)


def pauses(fault: Fault, times: int, argument: object, chance: float) -> list[float]:
    """How long a read waits where the engine answers with a fault some times."""
    waited = Waited()
    network = Network(longest_pause_s=CAP, chance=lambda: chance, stop=waited)
    with GivenEngine() as given, closing(client(given.url, network)) as engine:
        given.fail(fault, method=GET, times=times, argument=argument)
        engine.read("acme")
    return waited.pauses


@pytest.mark.parametrize("fault", [Fault.TOO_MANY, Fault.UNAVAILABLE])
@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_retry_after_is_honoured_spread_and_capped(fault: Fault, chance: float) -> None:
    """Never before its time, later by up to a quarter, and never beyond the cap."""
    (pause,) = pauses(fault, 1, 4, chance)
    assert 4 <= pause <= 4 * 1.25 + 0.3
    (pause,) = pauses(fault, 1, 86_400, chance)
    assert 0.75 * CAP <= pause <= CAP


def test_a_short_retry_after_again_and_again_is_outlasted() -> None:
    """An engine that says "in a second" for half a minute does not end a push, and is asked less and less."""
    found = pauses(Fault.UNAVAILABLE, 8, 1, 0.0)
    assert all(one >= 1 for one in found)
    assert found == sorted(found)
    assert sum(found) > 40


def test_who_was_refused_together_does_not_come_back_together() -> None:
    """P24: the chance decides."""
    assert len({pauses(Fault.UNAVAILABLE, 1, 4, chance / 8)[0] for chance in range(8)}) == 8


@pytest.mark.parametrize("argument", [0, "soon", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_without_a_time_to_come_back_the_pause_doubles(argument: object) -> None:
    """Also where Retry-After is none, or lies behind us; half a minute of refusals is outlasted."""
    found = pauses(Fault.UNAVAILABLE, 8, argument, 0.0)
    assert found == pytest.approx([0.75 * one for one in (0.3, 0.6, 1.2, 2.4, 4.8, 9.6, 19.2, 20)])
    assert sum(found) > 30


def test_a_time_to_come_back_is_capped_whatever_the_clock_says() -> None:
    """P34: a date far ahead, as a clock ten years off reads it."""
    (pause,) = pauses(Fault.UNAVAILABLE, 1, "Fri, 21 Oct 2089 07:28:00 GMT", 0.5)
    assert pause <= CAP


def test_waiting_is_said() -> None:
    """Not a minute of silence: which engine, what it answers, and that it is tried again."""
    said: list[str] = []
    network = Network(stop=Waited())
    with GivenEngine() as given, closing(client(given.url, network, said)) as engine:
        given.fail(Fault.UNAVAILABLE, method=GET, times=1, argument=0)
        engine.read("acme")
        said.remove(next(one for one in said if "the two given methods" in one))
        assert said == []  # a moment is not worth a word
        given.fail(Fault.UNAVAILABLE, method=GET, times=6, argument=0)
        engine.read("acme")
        assert set(said) == {f"{given.url} answers HTTP 503; waiting and trying again"}


def test_a_stop_cuts_the_waiting_short() -> None:
    """P23: the pause ends at once, and nothing is sent more than once after it."""
    stop = Event()
    with GivenEngine() as given, closing(client(given.url, Network(stop=stop))) as engine:
        given.fail(Fault.UNAVAILABLE, method=GET, times=100, argument=20)
        threading.Timer(0.3, stop.set).start()
        start = time.monotonic()
        with pytest.raises(EngineError):
            engine.read("acme")
        assert time.monotonic() - start < 2
        assert len(given.calls) == 2


def test_a_stop_cuts_short_what_cannot_be_reached() -> None:
    """As where an engine answers that it is busy."""
    stop = Event()
    stop.set()
    with closing(client("http://127.0.0.1:1", Network(stop=stop))) as engine:
        start = time.monotonic()
        with pytest.raises(EngineError, match="could not be reached"):
            engine.read("acme")
        assert time.monotonic() - start < 1


@pytest.mark.parametrize("seconds", [2.0, pytest.param(30.0, marks=pytest.mark.slow)], ids=str)
def test_fifty_clients_outlast_a_storm(seconds: float) -> None:
    """P24: refused with 503 and with 429 for a while, all succeed after it."""
    chance = random.Random(24)

    def read(_: int) -> bool:
        with closing(client(given.url, Network(chance=chance.random))) as engine:
            return engine.read("acme").knobs == {}

    with GivenEngine() as given, ThreadPoolExecutor(50) as pool:
        given.fail(Fault.UNAVAILABLE, method=GET, times=75, argument=1)
        given.fail(Fault.TOO_MANY, method=GET, times=10**6, argument=1)
        threading.Timer(seconds, given.troubles.clear).start()
        assert all(pool.map(read, range(50)))
        print(f"{seconds:g} s of refusals, 50 clients: {len(given.calls)} calls")
