"""`knobctl runs`: the journals of applies, and how to go on with one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from knobctl.cli.options import Settings, common_options
from knobctl.cli.selection import complete_runs
from knobctl.errors import ExitCode, InputError, UsageError

if TYPE_CHECKING:
    from knobctl.changes.journal import Ended, Run
    from knobctl.cli.session import Session


@click.command(name="runs")
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@click.option(
    "--stop",
    is_flag=True,
    help="Stop RUN; without RUN every run, and let none begin until --lift.",
)
@click.option("--lift", is_flag=True, help="Let runs begin again.")
@common_options()
def command(settings: Settings, run: str | None, stop: bool, lift: bool) -> ExitCode:
    """List this user's runs, newest first; with RUN, or its beginning, show what became of each tenant.

    Every command that writes keeps a journal: what it was about to send ahead of each write, what
    became of it after. An unfinished run is finished with apply --resume RUN.
    --stop holds within a second and needs no network: writes in flight are finished and noted, no
    other is begun, taking back included. It reaches the runs of this user on this machine; where
    knobctl itself cannot be started, the file "stop" in its state folder does the same: on Linux
    touch ~/.local/state/knobctl/stop
    """
    if lift and (stop or run):
        raise UsageError("--lift lets all runs begin again; it goes with nothing else")
    from knobctl.cli.session import Session
    from knobctl.cli.stopping import stop_marks

    with Session(settings, engine=False) as session:
        if stop or lift:
            from knobctl.cli.stop_runs import lift_stop, stop_runs

            return lift_stop(session) if lift else stop_runs(session, run)
        from knobctl.cli.journals import runs_of
        from knobctl.report.runs import run_json, run_text, runs_json, runs_text

        mark, under_way = stop_marks(session).mark(), stop_marks(session).under_way()
        now, colored = session.now(), settings.colored(sys.stdout)
        if run is not None:
            found = runs_of(session).read(run)
            settings.answer(
                {
                    "text": lambda: run_text(
                        found,
                        under_way=under_way,
                        now=now,
                        colored=colored,
                        everything=bool(settings.verbose),
                    ),
                    "json": lambda: run_json(found, under_way=under_way, mark=mark),
                }
            )
            return ExitCode.OK
        listed = _readable(session)
        settings.answer(
            {
                "text": lambda: runs_text(
                    listed, under_way=under_way, mark=mark, now=now, colored=colored
                ),
                "json": lambda: runs_json(listed, under_way=under_way, mark=mark),
            }
        )
    return ExitCode.OK


def _readable(session: Session) -> list[Run | Ended]:
    """The runs whose journals are whole, newest first; the others are told of."""
    from knobctl.cli.journals import runs_of

    found: list[Run | Ended] = []
    for run in runs_of(session).all():
        if isinstance(run, InputError):
            session.notice(f"not listed: {run.message}")
        else:
            found.append(run)
    return sorted(found, key=lambda one: (one.heading.number, one.heading.started_at), reverse=True)
