"""Goes on with a run that was killed, interrupted or stopped: what it did stays, what is left is done."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from knobctl.changes.outcomes import exit_code
from knobctl.changes.proposal import Done, Proposal
from knobctl.cli.choosing import limits_for, surroundings
from knobctl.cli.consent import require_consent
from knobctl.cli.journals import GoingOn, runs_of
from knobctl.cli.planned import (
    refuse_changed_evidence,
    refuse_moved,
    refuse_new_findings,
    refuse_other_engine,
    refuse_other_fleet,
)
from knobctl.cli.pushing import push
from knobctl.errors import ConflictError, UsageError
from knobctl.report.pushes import done_json
from knobctl.report.runs import finished_words
from knobctl.text import joined, visible

if TYPE_CHECKING:
    from knobctl.changes.journal import Run
    from knobctl.changes.journal_writing import Journal
    from knobctl.changes.plan import Plan
    from knobctl.changes.resuming import Rest
    from knobctl.cli.push_options import PushOptions
    from knobctl.cli.session import Session
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.errors import ExitCode


def resume_run(
    session: Session,
    name: str,
    options: PushOptions,
    *,
    max_tenants: int | None,
    max_share: str | None,
    max_pruned: int | None,
) -> ExitCode:
    """Finish what is left of a run; guards, policies and base revisions must hold as for a plan file.

    Raises:
        UsageError: If there is no such run, or it belongs to another engine or folder.
        ConflictError: If somebody else changed what is left, or another process is writing the run.
        RefusedError: If a guard stops it.
    """
    from knobctl.changes.planfile import recorded_plan

    run, journal = runs_of(session).reopen(name)
    with closing(journal):
        refuse_other_folder(session, run)
        if run.taking_back is not None and not run.is_finished:
            from knobctl.cli.taking_back import finish_taking_back

            return finish_taking_back(session, run, journal, options)
        tenants = run.planned_tenants()
        plan = recorded_plan(run.plan, tenants, str(journal.path), session.catalogue)
        if run.is_finished:
            return _nothing_left(session, run, plan)
        options = _as_begun(run, options)
        return _go_on(session, run, plan, journal, options, max_tenants, max_share, max_pruned)


def _as_begun(run: Run, options: PushOptions) -> PushOptions:
    """The options with the reason and the ticket that the run was begun with; what it lacked can be said now.

    Raises:
        UsageError: If something else is said than its audit events hold already.
    """
    for name in ("reason", "ticket"):
        noted, said = getattr(run.heading, name) or None, getattr(options, name)
        if noted and said not in {None, noted}:
            raise UsageError(f"a run is resumed as it was begun: its {name} is {visible(noted)!r}")
        options = replace(options, **{name: noted or said})
    return options


def refuse_other_folder(session: Session, run: Run) -> None:
    """Refuse to go on or back with a run from another folder than it was started in.

    Raises:
        UsageError: Naming the folder.
    """
    if str(session.cwd) != run.heading.folder:
        raise UsageError(
            f"run {run.heading.run} was started in {visible(run.heading.folder)}, where its names mean what they meant",
            hint="go there; or apply again, which writes only what differs",
        )


def _nothing_left(session: Session, run: Run, plan: Plan) -> ExitCode:
    """Say what the run came to; asked again, it says the same."""
    outcomes = run.outcomes()
    done = Done(outcomes=outcomes, code=exit_code(outcomes), run=run.heading.run)
    proposal = Proposal(
        command="apply",
        plan=replace(plan, tenants=()),
        limits=limits_for(session, None),
        needs_consent=False,
        left_out=outcomes,
    )
    session.settings.answer(
        {
            "text": lambda: finished_words(run),
            "json": lambda: json.dumps(done_json(proposal, done), indent=2),
        }
    )
    return done.code


def _go_on(
    session: Session,
    run: Run,
    plan: Plan,
    journal: Journal,
    options: PushOptions,
    max_tenants: int | None,
    max_share: str | None,
    max_pruned: int | None,
) -> ExitCode:
    from knobctl.changes.preparing import fleet_of, refuse_unread
    from knobctl.changes.probing import Probes
    from knobctl.changes.resuming import rest_of
    from knobctl.changes.waves import begun_waves
    from knobctl.engine.reading import read_all

    refuse_other_fleet(session, plan.fleet, f"run {run.heading.run} was")
    sources = [session.cwd / one.source for one in plan.tenants if one.source]
    here = plan.fleet is not None or any(source.is_file() for source in sources)
    repository = surroundings(session, wanted=here, indexed=True)
    fleet = fleet_of(repository, plan.fleet or session.fleet)
    refuse_unread(repository, fleet)
    limits = limits_for(
        session, fleet, max_tenants=max_tenants, max_share=max_share, max_pruned=max_pruned
    )
    if limits.consent_required and not options.dry_run:
        require_consent(yes=options.yes, what=limits.consent_required)
    refuse_other_engine(session, plan.engine, f"run {run.heading.run} was")
    names = [*run.left, *run.written_in_waves]
    live = read_all(session.engine, names, workers=options.parallelism)
    rest = rest_of(run, plan, live, session.catalogue)
    if run.heading.command == "apply":
        rest = _still_asked_for(session, rest, repository, fleet)
    if rest.moved and options.on_conflict == "stop":
        refuse_moved(
            session,
            plan,
            rest.moved,
            settled=[*rest.settled, *rest.found],
            hint="leave out what moved: --on-conflict skip; or apply again, and look at what changed",
        )
    _refuse_documented(rest.plan, repository)
    refuse_changed_evidence(session, rest.plan, repository, documents=here)
    passed_over = _passed_over(run.heading.command)
    refuse_new_findings(session, rest.plan, live, repository, fleet, passed_over=passed_over)
    _say_what_is_not_edited(session, run)
    return push(
        session,
        Proposal(
            command="apply",
            plan=rest.plan,
            limits=limits,
            needs_consent=limits.consent_required is not None,
            left_out=[*rest.settled, *rest.found, *rest.moved],
            probes=Probes(fleet, repository.root),
            begun=begun_waves(run, plan, rest),
        ),
        options,
        GoingOn(journal=journal, rest=rest, whole=plan.tenants, allowed=frozenset(run.allowed)),
    )


def _passed_over(command: str) -> tuple[str, ...]:
    """The rules that do not stop a command: others than apply reset what they were told to."""
    from knobctl.changes.single import EXPLICIT_RESETS
    from knobctl.checks.rules import EVIDENCE_RULES

    match command:
        case "apply":
            return ()
        case "rollback":
            return (EXPLICIT_RESETS, *EVIDENCE_RULES)
        case _:
            return (EXPLICIT_RESETS,)


def _still_asked_for(
    session: Session, rest: Rest, repository: Repository, fleet: Document | None
) -> Rest:
    """Leave out what was not begun and whose documents ask for something else by now: they have moved."""
    from knobctl.changes.asked_again import asked_otherwise

    expired = asked_otherwise(
        [one for one in rest.plan.changing if one.tenant not in rest.sent],
        repository,
        fleet,
        is_file=lambda source: (session.cwd / source).is_file(),
    )
    gone = {one.tenant for one in expired}
    tenants = tuple(one for one in rest.plan.tenants if one.tenant not in gone)
    return replace(rest, plan=replace(rest.plan, tenants=tenants), moved=(*rest.moved, *expired))


def _refuse_documented(plan: Plan, repository: Repository) -> None:
    """Refuse to reset what had no document when the run was started, and has one by now."""
    back = next(
        (one.tenant for one in plan.tenants if one.pruned and one.tenant in repository.claims), None
    )
    if back:
        raise ConflictError(
            f"{back} was to be pruned and has a document by now ({repository.claims[back][0].source}); nothing was written.",
            hint="apply again, which writes only what differs",
        )


def _say_what_is_not_edited(session: Session, run: Run) -> None:
    if run.heading.files:
        session.notice(
            f"{joined(map(visible, run.heading.files))} was to be edited too, which a resume does not do; "
            "to bring files to what is live: knobctl pull"
        )
