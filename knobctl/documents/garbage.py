"""Lets the garbage collector rest where a great many things are made that are no garbage."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def collector_paused() -> Iterator[None]:
    """Let the garbage collector rest: documents and sets are no garbage, and looking for it doubles the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # Into the oldest generation with them: what was made is not looked through at once.
        gc.freeze()
        gc.unfreeze()
        if was_on:
            gc.enable()
