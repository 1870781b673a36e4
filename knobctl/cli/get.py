"""`knobctl get`: the sets that the engine holds."""

from __future__ import annotations

import sys

import click

from knobctl.cli.options import Settings, common_options
from knobctl.cli.selection import list_options, selection_of, selection_options, tenants_argument
from knobctl.errors import ExitCode


@click.command()
@tenants_argument
@selection_options
@list_options
@click.option(
    "--all", "every_knob", is_flag=True, help="List the knobs at the platform default too."
)
@common_options(engine=True)
def command(
    settings: Settings,
    tenants: tuple[str, ...],
    labels: tuple[str, ...],
    where: str | None,
    sort_by: str | None,
    columns: str | None,
    every_knob: bool,
) -> ExitCode:
    """Show what the engine holds: values that are set, values in force, revision.

    Without TENANT, every tenant that the token opens.
    """
    from knobctl.cli.live import live_sets
    from knobctl.cli.session import Session
    from knobctl.report.sets import read_columns, sets_json, sets_text, sort_sets

    with Session(settings) as session:
        selection = selection_of(tenants, labels, where)
        wanted = read_columns(columns, session.catalogue)
        columned = " ".join((columns or "", sort_by or ""))
        found = live_sets(
            session, selection, with_labels="owner" in columned or "labels." in columned
        )
        shown = sort_sets(found, sort_by, session.catalogue)
        if not shown:
            settings.say(f"{session.engine.name} holds no set")
        settings.answer(
            {
                "text": lambda: sets_text(
                    shown,
                    columns=wanted,
                    every_knob=every_knob,
                    now=session.now(),
                    colored=settings.colored(sys.stdout),
                ),
                "json": lambda: sets_json(shown),
            }
        )
    return ExitCode.OK
