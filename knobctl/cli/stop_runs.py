"""`knobctl runs --stop` and `--lift`: the emergency stop, from another terminal, without a network."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from knobctl.cli.stopping import stop_marks
from knobctl.errors import ExitCode, InputError

if TYPE_CHECKING:
    from knobctl.changes.journal import Run
    from knobctl.cli.session import Session

PATIENCE_S: Final = 10.0
"""How long a write in flight is waited for before it is told of."""
_LOOK_S: Final = 0.05


def stop_runs(session: Session, run: str | None) -> ExitCode:
    """Stop one run, or all of them, and say what became of those that were under way.

    Raises:
        UsageError: If there is no such run.
        RefusedError: If the file that stops cannot be made.
    """
    marks = stop_marks(session)
    if run is None:
        marks.stop_all()  # before all else: what the words of the answer need takes time to load
    from knobctl.cli.journals import runs_of
    from knobctl.report.runs import runs_json, stopped_text

    folder = runs_of(session)
    name = folder.named(run) if run is not None else None
    stopped = [one for one in marks.under_way() if name in {None, one}]
    end = time.monotonic() + PATIENCE_S
    while still := [one for one in marks.under_way() if name in {None, one}]:
        stopped += [one for one in still if one not in stopped]
        if name is not None:
            marks.stop(name)  # again: a run that was just begun takes away what an earlier one left
        if time.monotonic() >= end:
            break
        time.sleep(_LOOK_S)
    found: list[Run] = []
    for one in stopped or ([name] if name else []):
        try:
            found.append(folder.read(one))
        except InputError as error:  # it is stopped all the same
            session.notice(error.message)
    mark, now, colored = marks.mark(), session.now(), session.settings.colored(sys.stdout)
    session.settings.answer(
        {
            "text": lambda: stopped_text(
                found, asked=name, under_way=still, now=now, colored=colored
            ),
            "json": lambda: runs_json(found, under_way=still, mark=mark),
        }
    )
    return ExitCode.OK


def lift_stop(session: Session) -> ExitCode:
    """Let runs begin again.

    Raises:
        RefusedError: If the file that stops them cannot be removed.
    """
    from knobctl.report.runs import lifted_text, runs_json

    lifted = stop_marks(session).lift()
    now = session.now()
    session.settings.answer(
        {
            "text": lambda: lifted_text(lifted, now),
            "json": lambda: runs_json([], under_way=(), mark=None),
        }
    )
    return ExitCode.OK
