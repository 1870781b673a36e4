"""`knobctl runs`: the journals of applies, and how to go on with one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import ExitCode, InputError

if TYPE_CHECKING:
    from knobctl.changes.journal import Ended, Run
    from knobctl.cli.session import Session


@click.command(name="runs")
@click.argument("run", required=False, metavar="[RUN]")
@common_options()
def command(settings: Settings, run: str | None) -> ExitCode:
    """List this user's runs, newest first; with RUN, or its beginning, show what became of each tenant.

    Every command that writes keeps a journal: what it was about to send ahead of each write, what
    became of it after. An unfinished run is finished with apply --resume RUN.
    """
    from knobctl.cli.pushing import runs_of
    from knobctl.cli.session import Session
    from knobctl.report.runs import run_json, run_text, runs_json, runs_text

    with Session(settings, engine=False) as session:
        now, colored = session.now(), settings.colored(sys.stdout)
        if run is not None:
            found = runs_of(session).read(run)
            settings.answer(
                {
                    "text": lambda: run_text(found, now=now, colored=colored),
                    "json": lambda: run_json(found),
                }
            )
            return ExitCode.OK
        listed = _readable(session)
        settings.answer(
            {
                "text": lambda: runs_text(listed, now=now, colored=colored),
                "json": lambda: runs_json(listed),
            }
        )
    return ExitCode.OK


def _readable(session: Session) -> list[Run | Ended]:
    """The runs whose journals are whole, newest first; the others are told of."""
    from knobctl.cli.pushing import runs_of

    found: list[Run | Ended] = []
    for run in runs_of(session).all():
        if isinstance(run, InputError):
            session.notice(f"not listed: {run.message}")
        else:
            found.append(run)
    return sorted(found, key=lambda one: one.heading.started_at, reverse=True)
