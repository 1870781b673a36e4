"""A list that is fetched while other work is done."""

from __future__ import annotations

import sys
import threading
import time
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from knobctl.engine.ahead import SHORT_TURN_S, Ahead
from knobctl.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize("number", [0, 1, 199, 200, 201, 1000])
def test_items_come_once_and_in_order(number: int) -> None:
    """However many there are, and however large the pieces; an empty one is no end."""
    pieces = [range(start, min(start + 200, number)) for start in range(0, number, 200)]
    assert list(Ahead(iter([(), *pieces, ()])).items()) == list(range(number))


def test_it_begins_before_anybody_asks() -> None:
    """The first item is fetched while nobody waits for it."""
    begun = threading.Event()

    def fetched() -> Iterator[list[int]]:
        begun.set()
        yield [1]

    ahead = Ahead(fetched())
    assert begun.wait(5)
    assert list(ahead.items()) == [1]


def test_a_failure_comes_where_it_happened() -> None:
    """The pieces before it come before it."""

    def fetched() -> Iterator[range]:
        yield range(400)
        raise EngineError("gone")

    items = Ahead(fetched()).items()
    assert list(islice(items, 400)) == list(range(400))
    with pytest.raises(EngineError, match="gone"):
        next(items)


@pytest.mark.parametrize("looked_at", [False, True])
def test_nothing_is_fetched_once_nobody_wants_more(looked_at: bool) -> None:
    """A list without an end is given up, looked at or not."""
    fetched = 0

    def endless() -> Iterator[list[int]]:
        nonlocal fetched
        while True:
            fetched += 1
            yield [fetched]

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


def test_threads_take_short_turns_while_anything_is_fetched_and_their_usual_ones_afterwards() -> (
    None
):
    """Of two lists the one that ends first leaves the other its short turns."""
    usual = sys.getswitchinterval()
    first, second = threading.Event(), threading.Event()

    def held(until: threading.Event) -> Iterator[list[float]]:
        yield [sys.getswitchinterval()]
        until.wait(5)
        yield [sys.getswitchinterval()]

    lists = [Ahead(held(first)).items(), Ahead(held(second)).items()]
    assert [next(one) for one in lists] == [pytest.approx(SHORT_TURN_S)] * 2
    for until, one in zip((first, second), lists, strict=True):
        until.set()
        assert list(one) == [pytest.approx(SHORT_TURN_S)]
    for thread in threading.enumerate():
        if thread.name == "knobctl-ahead":
            thread.join(5)
    assert sys.getswitchinterval() == usual
