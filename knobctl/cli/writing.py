"""Carries out what was consented to: the writes with their journal, then the files. Asks nobody."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from knobctl.changes.apply import OnConflict, Push, apply_plan
from knobctl.changes.audit_reasons import with_evidence
from knobctl.changes.guards import judge, read_allowances
from knobctl.changes.journal import SETTLED
from knobctl.changes.outcomes import Outcome, exit_code, tally
from knobctl.changes.proposal import Done, in_order
from knobctl.cli.journals import run_journal, time_noted
from knobctl.cli.stopping import stop_marks, stopping_on_marks
from knobctl.errors import ExitCode, KnobctlError, gravest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from knobctl.changes.file_edits import FileEdit
    from knobctl.changes.guards import Verdict
    from knobctl.changes.news import News
    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.proposal import Proposal
    from knobctl.changes.rollout import Rolled
    from knobctl.changes.stop_marks import Mark
    from knobctl.cli.journals import GoingOn
    from knobctl.cli.push_options import PushOptions
    from knobctl.cli.session import Session
    from knobctl.cli.stopping import Stopping


class Onlooker(Protocol):
    """Who sees a push go on, and can stop it: a command on a terminal, or a screen."""

    def stopping(self) -> AbstractContextManager[Stopping]:
        """How the push is asked to stop, for as long as the block runs."""

    def progress(self, tenants: int) -> AbstractContextManager[Callable[[], None]]:
        """Show how far the writes of so many tenants are; gives what is called after each."""

    def told(self, news: News) -> None:
        """Hear of one step of one tenant's write; called in whatever thread takes it."""

    def begun(self, run: str) -> None:
        """Hear that the journal of the run stands on the disk, before anything is sent."""

    def stopped(self, words: str) -> None:
        """Hear that the emergency stop ends the push."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A push as the guards judged it."""

    proposal: Proposal
    options: PushOptions
    verdict: Verdict
    going_on: GoingOn | None = None
    """The run whose rest it is; None for a run of its own."""
    mark: Mark | None = None
    """The stop of all runs in spite of which it was begun."""


def judged(
    session: Session, proposal: Proposal, options: PushOptions, going_on: GoingOn | None = None
) -> Attempt:
    """Judge a push by its guards, as things stand now."""
    mark = None if options.dry_run else stop_marks(session).mark()
    verdict = judge(
        proposal.plan.tenants,
        proposal.limits,
        managed=proposal.plan.managed,
        now=session.now(),
        reason=options.reason,
        ticket=options.ticket,
        allowances=read_allowances(options.allow) | (going_on.allowed if going_on else frozenset()),
        stopped=mark,
        whole=going_on.whole if going_on else None,
    )
    return Attempt(
        proposal=proposal, options=options, verdict=verdict, going_on=going_on, mark=mark
    )


def carry_out(
    session: Session, attempt: Attempt, onlooker: Onlooker
) -> tuple[Done, list[KnobctlError]]:
    """Write to the engine, then edit the files of the tenants that hold what they shall.

    Returns:
        What was done, and what went wrong with the journal or the files.

    Raises:
        RefusedError: If the journal cannot be begun; nothing was written.
    """
    proposal = attempt.proposal
    started = time.monotonic()
    written = _Written(outcomes=proposal.unbegun())
    if proposal.plan.changing or attempt.going_on:
        written = _write(session, attempt, onlooker)
    elapsed_s = time.monotonic() - started
    edited, faults = _edit_files(proposal.files, written.outcomes)
    cut_off = written.unnoted is not None or written.halted
    code = exit_code(written.outcomes, written.interrupted, cut_off=cut_off)
    unjudged = written.halted and written.rolled and written.rolled.unjudged
    if written.rolled and (written.rolled.stuck or unjudged):
        code = gravest([code, ExitCode.PARTIAL])
    if faults:
        applied = bool(edited) or any(one.outcome is Outcome.APPLIED for one in written.outcomes)
        worst = [ExitCode.PARTIAL] if applied else [fault.exit_code for fault in faults]
        code = gravest([code, *worst])
    done = Done(
        outcomes=written.outcomes,
        code=code,
        edited=edited,
        elapsed_s=elapsed_s,
        run=written.run,
        rolled=written.rolled,
    )
    return done, faults + ([written.unnoted] if written.unnoted else [])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """What the writes to the engine came to."""

    outcomes: list[TenantOutcome] = field(default_factory=list)
    """By tenant."""
    run: str | None = None
    interrupted: ExitCode | None = None
    """The code of the signal that stopped the run, if one did."""
    halted: bool = False
    """Whether the emergency stop ended it."""
    unnoted: KnobctlError | None = None
    """Why the journal could not be written to its end, if it could not."""
    rolled: Rolled | None = None
    """What became of the waves, where there were some."""


def _write(session: Session, attempt: Attempt, onlooker: Onlooker) -> _Written:
    proposal, options, going_on = attempt.proposal, attempt.options, attempt.going_on
    tenants = proposal.plan.tenants
    with (
        onlooker.stopping() as stopping,
        run_journal(session, proposal, options, attempt.verdict, going_on) as journal,
        stopping_on_marks(
            stopping, stop_marks(session), journal.run, attempt.mark, tell=onlooker.stopped
        ),
        onlooker.progress(len(tenants)) as step,
    ):
        onlooker.begun(journal.run)
        way = Push(
            engine=session.engine,
            catalogue=session.catalogue,
            reason=with_evidence(
                attempt.verdict.reason(options.reason, options.ticket),
                (said for one in proposal.plan.changing for said in one.evidence),
            ),
            pause=time.sleep,
            journal=journal,
            sent=going_on.rest.sent if going_on else {},
            parallelism=options.parallelism,
            pace=session.pace,
            on_conflict=OnConflict(options.on_conflict),
            stop=stopping.requested,
            ticket=options.ticket,
            emergency=stopping.emergency,
            tell=onlooker.told,
        )
        rolled = _in_waves(session, proposal, way, step)
        written = rolled.outcomes if rolled else apply_plan(tenants, way, lambda _: step())
        # What was settled before and is taken back now counts as what it is now.
        found = {one.tenant: one for one in (*proposal.left_out, *written)}
        outcomes = in_order(list(found.values()))
        left = sum(one.outcome not in SETTLED for one in outcomes)
        left += len(rolled.unjudged) if rolled else 0
        if rolled and rolled.taken_back:
            left = len(rolled.stuck)
        counts = tally(outcomes, unchanged=proposal.plan.unchanged)
        journal.end(left=left, ended_at=time_noted(session), outcomes=counts)
    return _Written(
        outcomes=outcomes,
        run=journal.run,
        interrupted=stopping.code,
        halted=stopping.emergency.is_set(),
        unnoted=journal.fault,
        rolled=rolled,
    )


def _in_waves(
    session: Session, proposal: Proposal, way: Push, step: Callable[[], None]
) -> Rolled | None:
    """Write in waves where there are some; None where all is written at once."""
    if proposal.rollout is None:
        return None
    from knobctl.changes.rolling_out import roll_out
    from knobctl.changes.watching import Watch

    watch = Watch(clock=time.monotonic, pause=time.sleep, tell=session.notice)
    return roll_out(proposal.rollout, way, watch, lambda _: step())


def _edit_files(
    files: Sequence[FileEdit], outcomes: Sequence[TenantOutcome]
) -> tuple[list[FileEdit], list[KnobctlError]]:
    """Edit the files whose tenants now hold what they shall; the edits made, and what went wrong."""
    lacking = {
        one.tenant for one in outcomes if one.outcome not in {Outcome.APPLIED, Outcome.UNCHANGED}
    }
    edited: list[FileEdit] = []
    faults: list[KnobctlError] = []
    for edit in files:
        if lacking.isdisjoint(edit.tenants):
            try:
                edit.write()
                edited.append(edit)
            except KnobctlError as error:
                faults.append(error)
    return edited, faults
