"""Signals and the emergency stop while writes are under way: finish those in flight, begin none."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

import click

from knobctl.changes.stop_marks import StopMarks
from knobctl.errors import ExitCode, RefusedError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from knobctl.changes.stop_marks import Mark
    from knobctl.cli.push_options import PushOptions
    from knobctl.cli.session import Session

LOOK_S: Final = 0.1
"""How often it is looked whether runs are to stop; a stop has to hold within a second."""
_CODES: Final = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
}
_WORDS: Final = "the writes in flight are finished, no other is begun"


@dataclass(slots=True)
class Stopping:
    """Whether the run was asked to stop, and how."""

    requested: Event = field(default_factory=Event)
    """Set where no further write may begin, for whatever reason."""
    code: ExitCode | None = None
    """The code of the signal, if it was one."""
    emergency: Event = field(default_factory=Event)
    """Set by the emergency stop: it stops what a signal does not, such as taking back."""


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
            with suppress(OSError):  # where the terminal is gone nobody is to be told
                # The stream itself may be in the middle of a write.
                os.write(sys.stderr.fileno(), f"\nstopping: {_WORDS}\n".encode())
        stopping.requested.set()

    before = {number: signal.signal(number, request) for number in _CODES}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop_marks(session: Session) -> StopMarks:
    """The files of this user that stop runs."""
    return StopMarks(session.state_folder)


def refuse_stopped(session: Session, options: PushOptions) -> Mark | None:
    """Refuse where all runs are stopped and nobody acknowledged that stop; give what was acknowledged.

    Raises:
        RefusedError: Naming the stop, the flag and how to lift it.
    """
    from knobctl.changes.guards import read_allowances, stop_refusal
    from knobctl.report.plan import refusal_words

    mark = stop_marks(session).mark()
    if mark:
        refusal = stop_refusal(mark)
        if refusal.allowance not in read_allowances(options.allow):
            message, hint = refusal_words([refusal])
            raise RefusedError(message, hint=hint)
    return mark


def say_stopped(words: str) -> None:
    """Say on stderr that a run is stopped, below whatever moves there."""
    click.echo(f"\n{words}\n", nl=False, err=True)


@contextmanager
def stopping_on_marks(
    stopping: Stopping,
    marks: StopMarks,
    run: str,
    acknowledged: Mark | None,
    *,
    tell: Callable[[str], object] = say_stopped,
) -> Iterator[None]:
    """Turn the files of an emergency stop into a request, for as long as the block runs.

    Args:
        stopping: What is requested.
        marks: The files.
        run: The run that is under way.
        acknowledged: The stop of all runs in spite of which it was begun.
        tell: Says that it is stopped.
    """
    done = Event()

    def is_stopped() -> bool:
        found = marks.stops(run, acknowledged)
        if found is None:
            return False
        stopping.emergency.set()
        stopping.requested.set()
        tell(f"stopped by {visible(str(found))}: {_WORDS}")
        return True

    def watch() -> None:
        while not done.wait(LOOK_S):
            if is_stopped():
                return

    marks.forget(run)  # what an attempt that was killed left behind stops no other
    watching = Thread(target=watch, name="stop", daemon=True)
    if not is_stopped():
        watching.start()
    try:
        yield
    finally:
        done.set()
        if watching.ident is not None:
            watching.join()
        marks.forget(run)
