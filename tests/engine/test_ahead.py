"""Things that are fetched while other work is done."""

from __future__ import annotations

import gc
import sys
import threading
import time
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest

from knobctl.engine.ahead import MOST_AHEAD, SHORT_TURN_S, Ahead
from knobctl.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize("number", [0, 1, MOST_AHEAD - 1, MOST_AHEAD, MOST_AHEAD + 1, 1000])
def test_items_come_once_and_in_order(number: int) -> None:
    """However many there are; nothing is no end."""
    items = [None, *range(number), None]
    assert list(Ahead(iter(items)).items()) == items


def test_it_begins_before_anybody_asks() -> None:
    """The first item is fetched while nobody waits for it."""
    begun = threading.Event()

    def fetched() -> Iterator[int]:
        begun.set()
        yield 1

    ahead = Ahead(fetched())
    assert begun.wait(5)
    assert list(ahead.items()) == [1]


def test_a_failure_comes_where_it_happened() -> None:
    """The items before it come before it."""

    def fetched() -> Iterator[int]:
        yield from range(40)
        raise EngineError("gone")

    items = Ahead(fetched()).items()
    assert list(islice(items, 40)) == list(range(40))
    with pytest.raises(EngineError, match="gone"):
        next(items)


@pytest.mark.parametrize("looked_at", [False, True])
def test_nothing_is_fetched_once_nobody_wants_more(looked_at: bool) -> None:
    """A list without an end is given up, looked at or not."""
    fetched = 0

    def endless() -> Iterator[int]:
        nonlocal fetched
        while True:
            fetched += 1
            yield fetched

    ahead = Ahead(endless())
    if looked_at:
        items = ahead.items()
        assert next(items) == 1
        items.close()  # type: ignore[attr-defined]  # a generator
    else:
        ahead.stop()
    time.sleep(0.05)
    then = fetched
    time.sleep(0.05)
    assert fetched == then


def test_no_more_is_fetched_ahead_than_fits() -> None:
    """Of a list without an end, at which nobody looks yet."""
    fetched = count(1)
    ahead = Ahead(fetched)
    time.sleep(0.05)
    assert next(fetched) <= MOST_AHEAD + 2
    ahead.stop()


def ended() -> None:
    """Wait until nothing is fetched in this process, not even what an earlier test let go of."""
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "knobctl-ahead":
            thread.join(30)


def test_threads_take_short_turns_while_anything_is_fetched_and_their_usual_ones_afterwards() -> (
    None
):
    """Of two lists the one that ends first leaves the other its short turns."""
    ended()  # what an earlier test fetched
    usual = sys.getswitchinterval()
    first, second = threading.Event(), threading.Event()

    def held(until: threading.Event) -> Iterator[float]:
        yield sys.getswitchinterval()
        until.wait(5)
        yield sys.getswitchinterval()

    lists = [Ahead(held(first)).items(), Ahead(held(second)).items()]
    assert [next(one) for one in lists] == [pytest.approx(SHORT_TURN_S)] * 2
    for until, one in zip((first, second), lists, strict=True):
        until.set()
        assert list(one) == [pytest.approx(SHORT_TURN_S)]
    ended()
    assert sys.getswitchinterval() == usual
