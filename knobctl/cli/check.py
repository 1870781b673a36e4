"""`knobctl check`: validate, then the policies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from knobctl.cli.adopting import AdoptionOptions, adoption_options, write_waivers
from knobctl.cli.choosing import tell_unjudged
from knobctl.cli.options import Settings, common_options
from knobctl.cli.remembered import Hearing, remembered
from knobctl.cli.showing import answer, keep_documents, showing_options, shown
from knobctl.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.changes.review import Review
    from knobctl.cli.session import Session
    from knobctl.documents.opening import Opening
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
    waivers. With --base or --live it shows for each changed tenant what changes in force,
    with --base also which rules the branch changes: that fails nothing, and is for a review.
    """
    from knobctl.cli.session import Session

    compares, piped = live or base is not None, "-" in paths
    # A change is judged by the minute, as freezes are; an engine and a pipe may say something else next time.
    is_lasting = not (no_cache or compares or piped or adoption.write_waivers)
    hearing = Hearing() if is_lasting else None
    with Session(replace(settings, hearing=hearing), engine=live) as session:
        approval = adoption.approval(session.today, compares=compares, piped=piped)
        opening = session.opening(paths, tenant=tenant)

        def judge() -> ExitCode:
            from knobctl.checks.policies import rule_ids

            reviewed, repository = _reviewed(session, opening, paths, tenant, base, live=live)
            if hearing:
                hearing.evidence = repository.evidence
            adopted = None
            if approval:
                adopted = write_waivers(session, reviewed.report, repository, approval, paths)
            if adopted and adopted.files:  # what is left is what the next run says
                again = session.opening(paths, tenant=tenant)
                reviewed, repository = _reviewed(session, again, paths, tenant, base, live=live)
            return answer(
                session.settings,
                reviewed.report,
                findings=shown(reviewed.report, select, ignore, rule_ids(repository.policies)),
                fail_on=fail_on,
                exit_zero=exit_zero,
                base=base,
                changes=reviewed.changes,
                removed=reviewed.removed,
                rules_changed=reviewed.rules_changed,
                guards=reviewed.guards,
                adopted=adopted,
                now=session.now(),
            )

        return remembered(session, opening, hearing, judge) if hearing else judge()


def _reviewed(
    session: Session,
    opening: Opening,
    paths: tuple[str, ...],
    tenant: str | None,
    base: str | None,
    *,
    live: bool,
) -> tuple[Review, Repository]:
    """Read the documents, the base and the engine, and review what was read."""
    from knobctl.changes.corpora import Corpora
    from knobctl.changes.review import review

    whole = session.understood(opening)
    fleet = whole.fleet(session.fleet) if session.fleet else None
    repository = whole.within(fleet)
    earlier = session.base(whole, base, paths, tenant=tenant) if base is not None else None
    keep_documents()
    reviewed = review(
        repository,
        base=earlier,
        live=_held(session, repository) if live else None,
        fleet=fleet,
        today=session.today,
        now=session.now(),
        corpora=Corpora(lambda: session.engine) if live else None,
    )
    tell_unjudged(session, reviewed.report)
    return reviewed, repository


def _held(session: Session, repository: Repository) -> Mapping[str, LiveSet]:
    from knobctl.changes.comparing import live_sets

    return live_sets(repository, session.engine)
