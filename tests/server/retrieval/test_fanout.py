"""Asking rankers at once: limits of time, failures, and what is no ranker's own time."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from knobctl.server.request_id import begin_request, current_request_id
from knobctl.server.retrieval.fanout import FanOut, Stopwatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RANKERS = ("vector", "bm25", "recency")


@pytest.fixture
def fan_out() -> Iterator[FanOut]:
    opened = FanOut(RANKERS, monotonic=time.monotonic)
    yield opened
    opened.close()


@pytest.fixture
def until() -> Iterator[threading.Event]:
    """What a stuck ranker waits for; it comes at the end of the test at the latest."""
    event = threading.Event()
    yield event
    event.set()


def gives(value: str, *, after_s: float = 0.0) -> Callable[[Stopwatch], str]:
    def answer(_: Stopwatch) -> str:
        time.sleep(after_s)
        return value

    return answer


def fails(_: Stopwatch) -> str:
    raise LookupError("no such thing")


def test_rankers_run_beside_each_other(fan_out: FanOut) -> None:
    """The whole takes as long as the slowest, not as long as all."""
    begun = time.monotonic()
    answers = fan_out.ask({name: gives(name, after_s=0.5) for name in RANKERS}, timeout_s=5)
    assert time.monotonic() - begun < 1.3
    assert {name: answer.value for name, answer in answers.items()} == dict(
        zip(RANKERS, RANKERS, strict=True)
    )
    assert all(500 <= answer.latency_ms < 1300 for answer in answers.values())


def test_a_late_ranker_is_left_and_the_others_are_not(
    fan_out: FanOut, until: threading.Event
) -> None:
    """The call ends with the limit, and says who was late and how long was waited."""
    stuck = {"vector": lambda _: str(until.wait(30)), "bm25": gives("b")}
    begun = time.monotonic()
    answers = fan_out.ask(stuck, timeout_s=0.3)
    assert time.monotonic() - begun < 3
    assert answers["vector"].is_late
    assert answers["vector"].latency_ms >= 300
    assert answers["bm25"].value == "b"


def test_a_failure_is_kept_as_what_it_is(fan_out: FanOut) -> None:
    """It is neither raised nor mistaken for lateness."""
    answers = fan_out.ask({"vector": fails, "bm25": gives("b")}, timeout_s=5)
    assert isinstance(answers["vector"].error, LookupError)
    assert not answers["vector"].is_late
    assert answers["bm25"].value == "b"


def test_an_answer_behind_the_limit_does_not_count_although_others_are_waited_for(
    fan_out: FanOut,
) -> None:
    """bm25 answers while vector still gets ready, but too late for itself."""

    def prepares(watch: Stopwatch) -> str:
        with watch.preparation():
            time.sleep(1.2)
        return "v"

    answers = fan_out.ask({"vector": prepares, "bm25": gives("b", after_s=0.7)}, timeout_s=0.4)
    assert answers["bm25"].is_late
    assert answers["vector"].value == "v"


def test_getting_ready_is_not_the_rankers_time(fan_out: FanOut) -> None:
    """A model that loads or an index that is built may take longer than the limit; the answer may not."""

    def prepares(watch: Stopwatch) -> str:
        with watch.preparation():
            time.sleep(0.8)
        time.sleep(0.02)
        return "ready"

    answer = fan_out.ask({"vector": prepares}, timeout_s=0.5)["vector"]
    assert answer.value == "ready"
    assert 20 <= answer.latency_ms < 500


def test_a_ranker_stuck_in_many_calls_starves_no_other(
    fan_out: FanOut, until: threading.Event
) -> None:
    """Ten calls find bm25 answering, though none gets an answer of vector."""
    stuck = {"vector": lambda _: str(until.wait(30)), "bm25": gives("b")}
    for _ in range(10):
        answers = fan_out.ask(stuck, timeout_s=0.2)
        assert (answers["vector"].is_late, answers["bm25"].value) == (True, "b")


def test_a_rankers_thread_knows_the_call(fan_out: FanOut) -> None:
    """Its log lines carry the id of the request."""
    begin_request("r-17")
    answers = fan_out.ask({"bm25": lambda _: current_request_id()}, timeout_s=5)
    assert answers["bm25"].value == "r-17"
    begin_request("")
