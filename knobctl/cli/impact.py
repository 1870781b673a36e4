"""`knobctl impact`: who follows a platform default and would change with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from knobctl.cli.choosing import answer_errors, choose
from knobctl.cli.completing import complete_assignments
from knobctl.cli.options import Settings, common_options
from knobctl.cli.selection import selection_of, selection_options
from knobctl.cli.session import Session
from knobctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.changes.impact import Holder
    from knobctl.checks.report import Report
    from knobctl.checks.selecting import Selection
    from knobctl.knobs import Knob, KnobValue


@click.command(name="impact")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option(
    "--default",
    "assignment",
    required=True,
    metavar="KNOB=VALUE",
    shell_complete=complete_assignments,
    help="The platform default as it would be.",
)
@click.option("--live", is_flag=True, help="Ask the engine instead of the files.")
@selection_options
@common_options(engine=True)
def command(
    settings: Settings,
    paths: tuple[str, ...],
    assignment: str,
    live: bool,
    labels: tuple[str, ...],
    where: str | None,
) -> ExitCode:
    """Show who follows a platform default and would change with it, and who pins the knob."""
    from knobctl.changes.impact import impact_of
    from knobctl.changes.single import judge_literals, read_assignments
    from knobctl.report.impact import impact_json, impact_text

    with Session(settings, engine=live) as session:
        selection = selection_of((), labels, where)
        holders, report = (
            (_live_holders(session, paths, selection), None)
            if live
            else _file_holders(session, paths, selection)
        )
        if report is not None and report.errors:
            return answer_errors(session, "impact", report)
        ((name, literal),) = read_assignments([assignment], session.catalogue).items()
        values, judged = judge_literals("default", {name: literal}, session.catalogue)
        if judged.errors:
            return answer_errors(session, "impact", judged)
        _refuse_unset(session.catalogue[name], values[name], literal)
        impact = impact_of(
            session.catalogue, session.catalogue[name], values[name], literal, holders
        )
        source = session.engine.name if live else "the files"
        document = impact_json(impact, source="live" if live else "files", code=ExitCode.OK)
        settings.answer(
            {
                "text": lambda: impact_text(impact, source=source),
                "json": lambda: json.dumps(document, indent=2),
            }
        )
    return ExitCode.OK


def _refuse_unset(knob: Knob, value: KnobValue, literal: str) -> None:
    """Refuse what only points to the default, as a default."""
    if value == knob.unset and (knob.minimum is None or knob.minimum > 0):
        raise UsageError(
            f"{knob.name} {literal} can be no platform default: it means the default, whatever it is",
            hint=f"what can be one: {knob.range_text}",
        )


def _file_holders(
    session: Session, paths: Sequence[str], selection: Selection
) -> tuple[list[Holder], Report]:
    from knobctl.changes.impact import Holder
    from knobctl.checks import validate_repository

    repository, _ = choose(session, paths, selection=selection)
    holders = [Holder.of_documents(repository.effective(one)) for one in repository.tenants]
    return holders, validate_repository(repository)


def _live_holders(session: Session, paths: Sequence[str], selection: Selection) -> list[Holder]:
    from dataclasses import replace

    from knobctl.changes.impact import Holder
    from knobctl.cli.live import live_sets

    if paths:
        repository, _ = choose(session, paths)
        selection = replace(selection, names=tuple(one.name for one in repository.tenants))
    return [Holder.of_live(one.live) for one in live_sets(session, selection)]
