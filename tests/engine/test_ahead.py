"""A list that is fetched while other work is done."""

from __future__ import annotations

import threading
import time
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from knobctl.engine.ahead import Ahead
from knobctl.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize("number", [0, 1, 199, 200, 201, 1000])
def test_items_come_once_and_in_order(number: int) -> None:
    """However many there are."""
    assert list(Ahead(iter(range(number))).items()) == list(range(number))


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
    """The items before it come before it, in whole pieces."""

    def fetched() -> Iterator[int]:
        yield from range(400)
        raise EngineError("gone")

    items = Ahead(fetched()).items()
    assert list(islice(items, 400)) == list(range(400))
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
