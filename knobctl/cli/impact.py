"""`knobctl impact`: who follows a platform default and would change with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from knobctl.cli.choosing import answer_errors, choose, surroundings
from knobctl.cli.completing import complete_assignments
from knobctl.cli.options import Settings, common_options
from knobctl.cli.selection import selection_of, selection_options
from knobctl.cli.session import Session
from knobctl.errors import ExitCode, RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.changes.impact import Holder
    from knobctl.checks.report import Report
    from knobctl.checks.selecting import Selection
    from knobctl.documents.model import Document
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
@click.option(
    "--allow",
    multiple=True,
    metavar="GUARD=VALUE",
    help="Acknowledge what a limit of the fleet refused; repeatable.",
)
@selection_options
@common_options(engine=True)
def command(
    settings: Settings,
    paths: tuple[str, ...],
    assignment: str,
    live: bool,
    allow: tuple[str, ...],
    labels: tuple[str, ...],
    where: str | None,
) -> ExitCode:
    """Show who follows a platform default and would change with it, and who pins the knob.

    A default moves for every tenant that follows it, so that it counts as a push to all of them:
    where that is more than the fleet allows, the answer is given and the exit code is 6.
    """
    from knobctl.changes.guards import read_allowances
    from knobctl.changes.impact import impact_of, impact_verdict
    from knobctl.changes.limits import limits_of
    from knobctl.changes.single import judge_literals, read_assignments
    from knobctl.report.impact import impact_json, impact_text
    from knobctl.report.plan import refusal_words

    with Session(settings, engine=live) as session:
        selection = selection_of((), labels, where)
        allowances = read_allowances(allow)
        who = _live_holders if live else _file_holders
        asked = who(session, paths, selection)
        report = asked.report
        if report is not None and report.errors:
            return answer_errors(session, "impact", report)
        ((name, literal),) = read_assignments([assignment], session.catalogue).items()
        values, judged = judge_literals("default", {name: literal}, session.catalogue)
        if judged.errors:
            return answer_errors(session, "impact", judged)
        _refuse_unset(session.catalogue[name], values[name], literal)
        impact = impact_of(
            session.catalogue, session.catalogue[name], values[name], literal, asked.holders
        )
        verdict = impact_verdict(
            impact,
            session.catalogue,
            limits_of(asked.fleet),
            managed=asked.managed,
            now=session.now(),
            allowances=allowances,
        )
        source = session.engine.name if live else "the files"
        document = impact_json(
            impact,
            verdict,
            fleet=asked.fleet.name if asked.fleet else None,
            source="live" if live else "files",
            code=ExitCode.REFUSED if verdict.refusals else ExitCode.OK,
        )
        settings.answer(
            {
                "text": lambda: impact_text(impact, source=source),
                "json": lambda: json.dumps(document, indent=2),
            }
        )
        if verdict.refusals:
            message, hint = refusal_words(verdict.refusals)
            raise RefusedError(message, hint=hint)
    return ExitCode.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """Whose defaults are looked at."""

    holders: list[Holder]
    fleet: Document | None
    managed: int
    """The base of a share: the tenants of the fleet, or all that the engine holds."""
    report: Report | None = None


def _refuse_unset(knob: Knob, value: KnobValue, literal: str) -> None:
    """Refuse what only points to the default, as a default."""
    if value == knob.unset and (knob.minimum is None or knob.minimum > 0):
        raise UsageError(
            f"{knob.name} {literal} can be no platform default: it means the default, whatever it is",
            hint=f"what can be one: {knob.range_text}",
        )


def _file_holders(session: Session, paths: Sequence[str], selection: Selection) -> _Asked:
    from knobctl.changes.impact import Holder
    from knobctl.checks import validate_repository

    repository, fleet = choose(session, paths, selection=selection)
    return _Asked(
        holders=[Holder.of_documents(repository.effective(one)) for one in repository.tenants],
        fleet=fleet,
        managed=len(repository.managed_by(fleet)),
        report=validate_repository(repository),
    )


def _live_holders(session: Session, paths: Sequence[str], selection: Selection) -> _Asked:
    from dataclasses import replace

    from knobctl.changes.impact import Holder
    from knobctl.changes.preparing import fleet_of, refuse_unread
    from knobctl.cli.live import live_sets

    if paths:
        repository, fleet = choose(session, paths)
        selection = replace(selection, names=tuple(one.name for one in repository.tenants))
    else:
        repository = surroundings(session, wanted=session.fleet is not None)
        fleet = fleet_of(repository, session.fleet)
    refuse_unread(repository, fleet)
    holders = [Holder.of_live(one.live) for one in live_sets(session, selection)]
    return _Asked(holders=holders, fleet=fleet, managed=len(holders))
