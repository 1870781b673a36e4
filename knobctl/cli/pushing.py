"""The one way in which every command writes: guards, the plan shown, consent, writes, the answer."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import click

from knobctl.changes.outcomes import exit_code
from knobctl.changes.proposal import Done, Proposal
from knobctl.cli.canary import in_waves
from knobctl.cli.choosing import findings_text
from knobctl.cli.consent import confirmed, require_consent
from knobctl.cli.options import write_out
from knobctl.cli.stopping import say_stopped, stopping_on_signals
from knobctl.cli.writing import carry_out, judged
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
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from knobctl.changes.guards import Verdict
    from knobctl.changes.news import News
    from knobctl.changes.rollout import Rolled
    from knobctl.cli.journals import GoingOn
    from knobctl.cli.push_options import PushOptions
    from knobctl.cli.session import Session
    from knobctl.cli.stopping import Stopping


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
    attempt = judged(session, proposal, options, going_on)
    if attempt.verdict.refusals:
        _refuse(session, proposal, attempt.verdict)
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
    done, faults = carry_out(session, replace(attempt, proposal=proposal), OnTerminal(session))
    answer(session, proposal, done, shown)
    _say_what_is_left(session, proposal, done, faults)
    return done.code


@dataclass(frozen=True, slots=True)
class OnTerminal:
    """A command that sees its own push go on: signals stop it, and stderr hears of it."""

    session: Session

    def stopping(self) -> AbstractContextManager[Stopping]:
        """Signals stop it."""
        return stopping_on_signals(self.session.stop)

    @contextmanager
    def progress(self, tenants: int) -> Iterator[Callable[[], None]]:
        """A bar, where there is a terminal."""
        wanted = self.session.settings.shows_progress
        with (
            progress(tenants, "writing", sys.stderr, clock=time.monotonic, wanted=wanted) as step,
            self.session.beside(step.make_room),
        ):
            yield step

    def told(self, news: News) -> None:
        """Steps of single tenants are not told."""

    def begun(self, run: str) -> None:
        """The run is named in the answer."""

    def stopped(self, words: str) -> None:
        """Say it at once."""
        say_stopped(words)


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


def _foreseen(session: Session, proposal: Proposal) -> Rolled | None:
    """What the probes say of the planned sets, asked without writing; None without waves."""
    if proposal.rollout is None:
        return None
    from knobctl.changes.rollout import foreseen

    return foreseen(proposal.rollout, session.engine)


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
