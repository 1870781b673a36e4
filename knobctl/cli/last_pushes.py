"""Pushes that are under way when the terminal UI ends: they are finished before the process is."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from knobctl.cli.stopping import stopping_on_signals
from knobctl.errors import ExitCode, gravest
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.cli.session import Session
    from knobctl.tui.pushes import Push, Pushes


def finish_pushes(session: Session, pushes: Pushes) -> ExitCode:
    """Wait for them, and say what became of each; a signal stops what is not sent yet.

    Returns:
        The code of the gravest; `OK` where none was under way.
    """
    left = pushes.under_way
    if not left:
        return ExitCode.OK
    for push in left:
        _say(f"finishing the push of {visible(push.tenant)}{_run(push)}; Ctrl-C stops it")
    with _deaf_to_hangups(), stopping_on_signals(session.stop) as stopping:
        pushes.wait()
    for push in left:
        _say(_told(push, session.typed_place))
    codes = [push.carried.done.code for push in left if push.carried]
    codes += [push.error.exit_code for push in left if push.error]
    return gravest([*codes, *([stopping.code] if stopping.code else [])])


def _run(push: Push) -> str:
    return f" (run {push.run})" if push.run else ""


def _told(push: Push, place: str) -> str:
    from knobctl.report.pushes import how_to_go_on
    from knobctl.tui.push_view import headline

    words = visible(headline(push)) + _run(push)
    if push.error:
        return f"{words}: {visible(push.error.message)}"
    done = push.carried.done if push.carried else None
    how = how_to_go_on(push.found.proposal, done, place) if done else None
    return f"{words}; {how}" if how else words


def _say(words: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        sys.stderr.write(f"{words}\n")
        sys.stderr.flush()


@contextmanager
def _deaf_to_hangups() -> Iterator[None]:
    """A terminal that goes now is no reason to leave a write halfway."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
