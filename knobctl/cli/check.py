"""`knobctl check`: validate, then the policies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from knobctl.cli.adopting import AdoptionOptions, adoption_options, write_waivers
from knobctl.cli.options import Settings, common_options
from knobctl.cli.remembered import Hearing, Memory
from knobctl.cli.showing import answer, keep_documents, showing_options, shown
from knobctl.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from knobctl.changes.comparing import TenantDiff
    from knobctl.changes.foresight import Foreseen
    from knobctl.checks.report import Report
    from knobctl.cli.session import Session
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import LiveSet
    from knobctl.errors import ExitCode


@click.command(name="check")
@showing_options
@click.option(
    "--base",
    metavar="REV",
    help="A Git revision: what it had too, where HEAD left it, is standing and fails nothing.",
)
@click.option("--live", is_flag=True, help="Add the engine's state: what a push would reset.")
@adoption_options
@click.option(
    "--no-cache",
    is_flag=True,
    envvar="KNOBCTL_NO_CACHE",
    help="Judge anew what an earlier run judged.",
)
@common_options(engine=True, formats=tuple(FORMATS))
def command(
    settings: Settings,
    paths: tuple[str, ...],
    tenant: str | None,
    fail_on: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    exit_zero: bool,
    base: str | None,
    live: bool,
    adoption: AdoptionOptions,
    no_cache: bool,
) -> ExitCode:
    """Validate documents, then say what the values do: the policies, with the arithmetic.

    PATH is a file, a folder (searched for *.yaml, *.yml, *.json) or - for standard input;
    the working folder if there is none. Warnings fail the run with --fail-on warning only.

    With --base the answer is about what the branch changes, as a pull request's diff is:
    from the commit at which HEAD left REV, judged by its own settings, schema, policies and
    waivers. With --base or --live it shows for each changed tenant what changes in force.
    """
    from knobctl.cli.session import Session

    # A change is judged by the minute, as freezes are; an engine and a pipe may say something else next time.
    is_lasting = not (
        no_cache or live or base is not None or adoption.write_waivers or "-" in paths
    )
    hearing = Hearing() if is_lasting else None
    settings = replace(settings, hearing=hearing)
    with Session(settings, engine=live) as session:
        last_day = adoption.last_day(
            session.today, compares=live or base is not None, piped="-" in paths
        )
        opening = session.opening(paths, tenant=tenant)
        memory = (
            Memory.of(session, opening, click.get_current_context().params) if hearing else None
        )
        if memory and (code := memory.answer(settings)) is not None:
            return code
        from knobctl.checks.judging import check_repository
        from knobctl.checks.policies import rule_ids

        whole = session.understood(opening)
        fleet = whole.fleet(session.fleet) if session.fleet else None
        repository = whole.within(fleet)
        earlier = session.base(whole, base, paths, tenant=tenant) if base is not None else None
        keep_documents()
        held = _held(session, repository) if live else None
        report = check_repository(
            repository,
            today=session.today,
            live={name: one.knobs for name, one in held.items()} if held is not None else None,
            base=earlier,
            fleet=fleet,
        )
        changes, removed = _changes(repository, earlier, held, fleet, report.unsure)
        guards = _guards(session, repository, changes, report, fleet) if changes else ()
        adopted = None
        if last_day is not None:
            adopted = write_waivers(session, report, repository, adoption, last_day, paths)
            if adopted.files:
                report = _again(session, paths, tenant)
        code = answer(
            settings,
            report,
            findings=shown(report, select, ignore, rule_ids(repository.policies)),
            fail_on=fail_on,
            exit_zero=exit_zero,
            base=base,
            changes=changes,
            removed=removed,
            guards=guards,
            adopted=adopted,
            now=session.now(),
        )
        if memory and hearing:
            memory.keep(code, hearing)
        return code


def _held(session: Session, repository: Repository) -> Mapping[str, LiveSet]:
    from knobctl.changes.comparing import live_sets

    return live_sets(repository, session.engine)


def _changes(
    repository: Repository,
    earlier: Repository | None,
    held: Mapping[str, LiveSet] | None,
    fleet: Document | None,
    unsure: Collection[str],
) -> tuple[list[TenantDiff] | None, list[str]]:
    """The tenants of which something changes in force, and those that have no document any more."""
    if earlier is None and held is None:
        return None, []
    from knobctl.changes.comparing import diff_base, diff_live, removed_tenants
    from knobctl.checks.selecting import Selection

    removed: list[str] = []
    if earlier is not None:
        diffs = diff_base(repository, earlier, unsure=unsure)
        removed = removed_tenants(repository, earlier, fleet, Selection())
    else:
        diffs = diff_live(repository, held or {}, unsure=unsure)
    return [diff for diff in diffs if diff.changes], removed


def _guards(
    session: Session,
    repository: Repository,
    changes: Sequence[TenantDiff],
    report: Report,
    fleet: Document | None,
) -> Sequence[Foreseen]:
    from knobctl.changes.foresight import foresee

    return foresee(repository, changes, report, named=fleet, now=session.now())


def _again(session: Session, paths: tuple[str, ...], tenant: str | None) -> Report:
    """Check once more: what is left after waivers were written is what the next run says."""
    from knobctl.checks.judging import check_repository

    whole = session.repository(paths, tenant=tenant)
    fleet = whole.fleet(session.fleet) if session.fleet else None
    return check_repository(whole.within(fleet), today=session.today, fleet=fleet)
