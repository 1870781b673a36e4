"""`knobctl rollback`: bring tenants back to an earlier set, on the engine and in their files."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, Final

import click

from knobctl.changes.proposal import Proposal
from knobctl.cli.changing import Place, subjects_of
from knobctl.cli.choosing import answer_errors, limits_for
from knobctl.cli.consent import require_consent
from knobctl.cli.options import Settings, common_options
from knobctl.cli.push_options import PushOptions, consent_options, parallelism_option
from knobctl.cli.pushing import push
from knobctl.cli.selection import complete_runs, complete_tenants
from knobctl.cli.session import Session
from knobctl.cli.unnamed_fleets import tell_unnamed_fleets
from knobctl.errors import EngineError, ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.changes.file_edits import FileEdit
    from knobctl.changes.journal import Run
    from knobctl.changes.journal_writing import Journal
    from knobctl.changes.rollback import Target
    from knobctl.changes.single import LiveChange, Subject
    from knobctl.engine.interface import LiveSet

_NOTHING_WRITTEN: Final = frozenset({ExitCode.ENGINE, ExitCode.CONFLICT})


@click.command(name="rollback")
@click.argument("tenants", nargs=-1, metavar="[TENANT...]", shell_complete=complete_tenants)
@click.option(
    "--to",
    metavar="REV",
    help="The revision to go back to; without it, the set before the last change.",
)
@click.option(
    "--run",
    metavar="RUN",
    shell_complete=complete_runs,
    help="Take back what a run has written, of all its tenants or of those named; see knobctl runs.",
)
@click.option(
    "--no-file", is_flag=True, help="Leave the tenants' YAML alone; GitOps may undo the rollback."
)
@consent_options
@click.option("--dry-run", is_flag=True, help="Show what would be brought back; write nothing.")
@parallelism_option
@common_options(engine=True, rate=True)
def command(
    settings: Settings,
    tenants: tuple[str, ...],
    to: str | None,
    run: str | None,
    no_file: bool,
    yes: bool,
    reason: str | None,
    ticket: str | None,
    allow: tuple[str, ...],
    dry_run: bool,
    parallelism: int,
) -> ExitCode:
    """Bring tenants back: a new plan from the audit log, and the matching edit of their files.

    The earlier set is pushed as a new change, checked and guarded like any other. With --run it
    comes from the run's journal, which an engine without an audit log has too, and the limits are
    those of the run's fleet. Evidence that a fleet demands is missed there, not waited for.
    """
    from knobctl.changes.preparing import refuse_unread
    from knobctl.changes.rollback import defaults_words, run_targets, written_by
    from knobctl.changes.single import LiveChange, check_live_changes, plan_live_changes
    from knobctl.engine.reading import read_all

    if run and to:
        raise UsageError("--to names a revision, --run a run; choose one")
    if not (run or tenants):
        raise UsageError("name the tenants, or a run: --run RUN")
    require_consent(yes=yes or dry_run, what="rollback")
    options = PushOptions(
        yes=yes, reason=reason, ticket=ticket, allow=allow, dry_run=dry_run, parallelism=parallelism
    )
    with Session(settings) as session, ExitStack() as held:
        found, journal = _run(session, run, held) if run else (None, None)
        names = written_by(found, tenants) if found else tenants
        subjects = _subjects(session, found, names)
        live = read_all(session.engine, names, workers=parallelism)
        if found and (words := defaults_words(found, session.catalogue)):
            session.notice(words)
        targets = (
            run_targets(found, live, session.catalogue)
            if found
            else [_target(session, live[one.tenant], to) for one in subjects]
        )
        changes = [
            LiveChange(subject=one, live=live[one.tenant], desired=target.knobs)
            for one, target in zip(subjects, targets, strict=True)
        ]
        report = check_live_changes(changes, today=session.today, goes_back=True)
        if report.errors:
            return answer_errors(session, "rollback", report)
        refuse_unread(subjects[0].repository, subjects[0].fleet)
        limits = limits_for(session, subjects[0].fleet)
        documents = [one.document for one in subjects if one.document is not None]
        tell_unnamed_fleets(session, subjects[0].repository, documents, subjects[0].fleet)
        code = push(
            session,
            Proposal(
                command="rollback",
                plan=plan_live_changes(changes, report, engine=session.engine.name, limits=limits),
                limits=limits,
                needs_consent=True,
                report=report,
                files=[] if no_file else _file_edits(session, changes),
                facts={"targets": [_target_json(one) for one in targets]},
            ),
            options,
        )
        if found and journal and not (tenants or dry_run or code in _NOTHING_WRITTEN):
            _give_up(session, found, journal)
        return code


def _run(session: Session, name: str, held: ExitStack) -> tuple[Run, Journal]:
    """Read the run that is taken back, and hold it, so that nobody goes on with it meanwhile.

    Raises:
        UsageError: If there is none, or it wrote to another engine than the one that is chosen.
        ConflictError: If another process is writing it.
    """
    from knobctl.cli.journals import runs_of
    from knobctl.cli.planned import refuse_other_engine, refuse_other_fleet
    from knobctl.cli.resuming import refuse_other_folder

    run, journal = runs_of(session).reopen(name)
    held.enter_context(closing(journal))
    refuse_other_folder(session, run)
    what = f"run {run.heading.run} was"
    refuse_other_fleet(session, run.heading.fleet, what)
    refuse_other_engine(session, run.heading.engine, what)
    return run, journal


def _subjects(session: Session, run: Run | None, tenants: Sequence[str]) -> list[Subject]:
    """The tenants, their documents, and the fleet whose limits hold: that of the run which is taken back."""
    if run is None:
        return subjects_of(session, tenants, Place.LIVE)
    sources = [session.cwd / one["source"] for one in run.planned_tenants() if one["source"]]
    here = any(source.is_file() for source in sources)
    return subjects_of(session, tenants, Place.LIVE, fleet=run.heading.fleet, wanted=here)


def _give_up(session: Session, run: Run, journal: Journal) -> None:
    """Note in an unfinished run that it was taken back: its rest would make half a fleet of it."""
    if not run.is_finished:
        at = session.now().isoformat(timespec="seconds")
        journal.begin({"kind": "rolled_back", "at": at, "actor": session.actor})
        journal.end(left=0, ended_at=at, outcomes=run.tally())


def _target(session: Session, live: LiveSet, to: str | None) -> Target:
    from knobctl.changes.rollback import rollback_target
    from knobctl.engine.interface import NotOfferedError

    try:
        events = list(session.engine.audit_events(live.tenant))
    except NotOfferedError as error:
        raise EngineError(
            f"{session.engine.name} keeps no audit events: it cannot say what {live.tenant} had before; nothing was written.",
            hint="a run that wrote from here can be taken back by its journal: knobctl runs\n"
            f"  or push the set that is wanted: knobctl set {live.tenant} KNOB=VALUE",
        ) from error
    except EngineError as error:
        raise EngineError(
            f"what {live.tenant} had before cannot be read: {error.message}; nothing was written.",
            hint="the journal of the run that changed it has it too: knobctl runs, "
            f"then knobctl rollback {live.tenant} --run RUN",
        ) from error
    return rollback_target(live, events, session.catalogue, to=to)


def _file_edits(session: Session, changes: Sequence[LiveChange]) -> list[FileEdit]:
    """The edits after which the tenants' documents ask for the sets that are brought back."""
    from knobctl.changes.file_edits import edit_files, wish_for
    from knobctl.documents.repository import repository_root

    repository = changes[0].subject.repository
    wishes = [
        wish_for(repository.effective(one.subject.document), one.desired)
        for one in changes
        if one.subject.document is not None
    ]
    without = [one.live.tenant for one in changes if one.subject.document is None]
    if without and not repository.tenants and not repository_root(session.cwd)[1]:
        session.notice(
            "no file is edited: neither a knobctl.toml nor a .git is here or above; "
            "where the documents are, GitOps may undo this"
        )
    if without and repository.tenants:
        session.settings.say(
            f"note: no document of {', '.join(without)} here; GitOps may undo this"
        )
    return edit_files(repository, wishes)


def _target_json(target: Target) -> dict[str, Any]:
    return {
        "tenant": target.tenant,
        "to_revision": target.revision,
        "undone_revision": target.undone,
    }
