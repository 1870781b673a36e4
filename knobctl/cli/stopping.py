"""SIGINT and SIGTERM while writes are under way: finish those in flight, begin none."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Final

from knobctl.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_CODES: Final = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
}
_WORDS: Final = b"\nstopping: the writes in flight are finished, no other is begun\n"


@dataclass(slots=True)
class Stopping:
    """Whether the run was asked to stop, and how."""

    requested: Event = field(default_factory=Event)
    code: ExitCode | None = None


@contextmanager
def stopping_on_signals(requested: Event | None = None) -> Iterator[Stopping]:
    """Turn the signals into a request for as long as the block runs.

    Args:
        requested: What is set by them, where somebody waits for it.
    """
    stopping = Stopping(requested=requested or Event())

    def request(number: int, _frame: FrameType | None) -> None:
        if stopping.code is None:
            stopping.code = _CODES[signal.Signals(number)]
            os.write(
                sys.stderr.fileno(), _WORDS
            )  # the stream itself may be in the middle of a write
        stopping.requested.set()

    before = {number: signal.signal(number, request) for number in _CODES}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
