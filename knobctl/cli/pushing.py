"""The one way in which every command writes: guards, the plan shown, consent, writes, the answer."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import click

from knobctl.changes.apply import OnConflict, Push, apply_plan
from knobctl.changes.guards import judge, read_allowances
from knobctl.changes.journal import SETTLED
from knobctl.changes.outcomes import Outcome, exit_code, tally
from knobctl.changes.proposal import Done, Proposal, in_order
from knobctl.cli.canary import in_waves
from knobctl.cli.choosing import findings_text
from knobctl.cli.consent import confirmed, require_consent
from knobctl.cli.journals import run_journal, time_noted
from knobctl.cli.options import write_out
from knobctl.cli.stopping import stop_marks, stopping_on_marks, stopping_on_signals
from knobctl.errors import AnswerError, ExitCode, KnobctlError, RefusedError, gravest
from knobctl.report.plan import refusal_words
from knobctl.report.progress import progress
from knobctl.report.pushes import (
    after_waves,
    done_json,
    done_text,
    how_to_go_on,
    proposal_text,
    question,
)
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.changes.file_edits import FileEdit
    from knobctl.changes.guards import Verdict
    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.rollout import Rolled
    from knobctl.changes.stop_marks import Mark
    from knobctl.cli.journals import GoingOn
    from knobctl.cli.push_options import PushOptions
    from knobctl.cli.session import Session
    from knobctl.report.progress import Steps


def push(
    session: Session, proposal: Proposal, options: PushOptions, going_on: GoingOn | None = None
) -> ExitCode:
    """Guard, show, ask, write, answer.

    Args:
        session: The command's surroundings.
        proposal: What is to be written.
        options: The command's own options.
        going_on: The run whose rest it is; None for a run of its own.

    Returns:
        The exit code by the precedence of the contract.

    Raises:
        RefusedError: If a guard stops the push, nobody consents, or the journal cannot be written;
            nothing was written.
    """
    mark = None if options.dry_run else stop_marks(session).mark()
    verdict = _judge(session, proposal, options, going_on, mark)
    if verdict.refusals:
        _refuse(session, proposal, verdict)
    proposal = in_waves(session, proposal, options.canary, parallelism=options.parallelism)
    findings = findings_text(session, proposal.report) if proposal.report else ""
    colored = session.settings.colored(sys.stdout)
    everything = bool(session.settings.verbose)
    shown = proposal_text(proposal, findings=findings, colored=colored, everything=everything)
    if options.dry_run or (proposal.is_empty and going_on is None):
        outcomes = proposal.unbegun("dry run" if options.dry_run else None)
        done = Done(
            outcomes=outcomes,
            code=exit_code(proposal.left_out),
            dry_run=options.dry_run,
            rolled=_foreseen(session, proposal),
        )
        answer(session, proposal, done, shown)
        return done.code
    if proposal.files:
        from knobctl.changes.file_edits import prove_edits

        prove_edits(proposal.files)
    asking = proposal.needs_consent and not options.yes and not proposal.is_empty
    _show(session, shown, asking=asking)
    if asking:
        _ask(proposal)
    done, faults = _carry_out(session, proposal, options, verdict, going_on, mark)
    answer(session, proposal, done, shown)
    _say_what_is_left(session, proposal, done, faults)
    return done.code


def _judge(
    session: Session,
    proposal: Proposal,
    options: PushOptions,
    going_on: GoingOn | None,
    mark: Mark | None,
) -> Verdict:
    return judge(
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


def _refuse(session: Session, proposal: Proposal, verdict: Verdict) -> NoReturn:
    message, hint = refusal_words(verdict.refusals)
    if session.settings.format == "json" or session.settings.outputs:
        done = Done(outcomes=proposal.unbegun(), code=ExitCode.REFUSED, refusals=verdict.refusals)
        session.settings.answer(
            {
                "text": lambda: message,
                "json": lambda: json.dumps(done_json(proposal, done), indent=2),
            }
        )
    raise RefusedError(message, hint=hint)


def _show(session: Session, text: str, *, asking: bool) -> None:
    """Show what is about to be done, before it is done: on stdout where text is the answer."""
    if session.settings.format == "text":
        write_out((text, "\n"))
        if not asking or sys.stdout.isatty():
            return
    if asking:
        click.echo(text, err=True)
    else:
        session.settings.say(text)


def _ask(proposal: Proposal) -> None:
    require_consent(yes=False, what=proposal.limits.consent_required or proposal.command)
    if not confirmed(question(proposal)):
        raise RefusedError("not confirmed; nothing was written.")


def _carry_out(
    session: Session,
    proposal: Proposal,
    options: PushOptions,
    verdict: Verdict,
    going_on: GoingOn | None,
    mark: Mark | None,
) -> tuple[Done, list[KnobctlError]]:
    """Write to the engine, then edit the files of the tenants that hold what they shall.

    Returns:
        What was done, and what went wrong with the files.
    """
    started = time.monotonic()
    written = _Written(outcomes=proposal.unbegun())
    if proposal.plan.changing or going_on:
        written = _write(session, proposal, options, verdict, going_on, mark)
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


def _write(
    session: Session,
    proposal: Proposal,
    options: PushOptions,
    verdict: Verdict,
    going_on: GoingOn | None,
    mark: Mark | None,
) -> _Written:
    tenants = proposal.plan.tenants
    wanted = session.settings.shows_progress
    with (
        stopping_on_signals(session.stop) as stopping,
        run_journal(session, proposal, options, verdict, going_on) as journal,
        stopping_on_marks(stopping, stop_marks(session), journal.run, mark),
        progress(len(tenants), "writing", sys.stderr, clock=time.monotonic, wanted=wanted) as step,
        session.beside(step.make_room),
    ):
        way = Push(
            engine=session.engine,
            catalogue=session.catalogue,
            reason=verdict.reason(options.reason, options.ticket),
            pause=time.sleep,
            journal=journal,
            sent=going_on.rest.sent if going_on else {},
            parallelism=options.parallelism,
            pace=session.pace,
            on_conflict=OnConflict(options.on_conflict),
            stop=stopping.requested,
            ticket=options.ticket,
            emergency=stopping.emergency,
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


def _in_waves(session: Session, proposal: Proposal, way: Push, step: Steps) -> Rolled | None:
    """Write in waves where there are some; None where all is written at once."""
    if proposal.rollout is None:
        return None
    from knobctl.changes.rolling_out import roll_out
    from knobctl.changes.watching import Watch

    watch = Watch(clock=time.monotonic, pause=time.sleep, tell=session.notice)
    return roll_out(proposal.rollout, way, watch, lambda _: step())


def _foreseen(session: Session, proposal: Proposal) -> Rolled | None:
    """What the probes say of the planned sets, asked without writing; None without waves."""
    if proposal.rollout is None:
        return None
    from knobctl.changes.rollout import foreseen

    return foreseen(proposal.rollout, session.engine)


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


def answer(session: Session, proposal: Proposal, done: Done, shown: str) -> None:
    """Answer with what was done; what was shown before the writes stands on stdout already.

    Raises:
        AnswerError: If it cannot be delivered; what was written is told on stderr then.
    """
    began = done.elapsed_s is not None and session.settings.format == "text"
    told = partial(
        done_text,
        done=done,
        now=session.now(),
        place=session.typed_place,
        unchanged=proposal.plan.unchanged,
        everything=bool(session.settings.verbose),
    )
    try:
        session.settings.answer(
            {
                "text": lambda: told(shown, colored=session.settings.colored(sys.stdout)),
                "json": lambda: json.dumps(done_json(proposal, done), indent=2),
            },
            printed=f"{shown}\n" if began else "",
        )
    except AnswerError as error:
        click.echo(told("", colored=False), nl=False, err=True)
        error.exit_code = gravest([done.code, error.exit_code])
        raise


def _say_what_is_left(
    session: Session, proposal: Proposal, done: Done, faults: Sequence[KnobctlError]
) -> None:
    for edit in proposal.files:
        if edit not in done.edited:
            click.echo(f"not edited  {visible(edit.name)}", err=True)
    for fault in faults:
        click.echo(f"error: {visible(fault.message)}", err=True)
    place = session.typed_place
    if words := after_waves(done, place) or how_to_go_on(proposal, done, place):
        session.settings.say(words)
