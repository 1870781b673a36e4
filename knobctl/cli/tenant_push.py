"""One tenant's push for the terminal UI: proposed, carried out and witnessed by what the commands call."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knobctl.changes.audit_reasons import with_acknowledged
from knobctl.changes.file_edits import prove_edits
from knobctl.changes.news import Begun, Halted
from knobctl.changes.tenant_proposal import Carried, TenantProposal
from knobctl.changes.witness import event_of
from knobctl.cli.attaching import attach
from knobctl.cli.changing import Place, Request, proposed
from knobctl.cli.push_options import PushOptions
from knobctl.cli.stopping import Stopping
from knobctl.cli.unnamed_fleets import unnamed_fleets
from knobctl.cli.writing import carry_out, judged
from knobctl.errors import RefusedError
from knobctl.report.plan import refusal_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from knobctl.changes.news import News
    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.single import Subject
    from knobctl.changes.tenant_proposal import Acknowledged, Wanted
    from knobctl.changes.witness import Witness
    from knobctl.cli.session import Session

COMMAND: Final = "tui"
"""What journals say of who wrote."""


def propose(session: Session, wanted: Wanted) -> TenantProposal:
    """Check, plan and judge what a tenant's set shall become; nothing is written."""
    subject, notes = _with_evidence(session, wanted)
    both = wanted.with_file and subject.document is not None
    request = Request(
        command=COMMAND,
        subject=subject,
        change=lambda _: wanted.desired,
        literals=wanted.literals,
        live=wanted.live,
    )
    proposal, reports = proposed(session, request, Place.BOTH if both else Place.LIVE)
    options = PushOptions(reason=wanted.reason, ticket=wanted.ticket)
    verdict = judged(session, proposal, options).verdict
    documents = [subject.document] if subject.document else []
    return TenantProposal(
        wanted=wanted,
        proposal=proposal,
        reports=tuple(reports),
        refusals=verdict.refusals,
        notes=(*notes, *unnamed_fleets(subject.repository, documents, subject.fleet)),
    )


def _with_evidence(session: Session, wanted: Wanted) -> tuple[Subject, list[str]]:
    """The tenant in a repository to which the evidence is attached, and what there is to say of it."""
    subject = wanted.subject
    if not wanted.evidence:
        return subject, []
    repository = replace(subject.repository)
    notes = attach(session, repository, [Path(one) for one in wanted.evidence], {subject.tenant})
    return replace(subject, repository=repository), notes


def carry(
    session: Session,
    found: TenantProposal,
    said: Acknowledged,
    tell: Callable[[News | Begun | Halted], object],
) -> Carried:
    """Carry out a proposal as it was shown, judged anew: a freeze or a stop may have begun meanwhile.

    Raises:
        RefusedError: If a guard stops it that nobody acknowledged, or a file cannot be edited;
            nothing was written.
        ConflictError: If a file was changed meanwhile; nothing was written.
    """
    reason = found.wanted.reason
    options = PushOptions(
        yes=True, reason=reason, ticket=found.wanted.ticket, allow=said.allowances
    )
    attempt = judged(session, found.proposal, options)
    if attempt.verdict.refusals:
        message, hint = refusal_words(attempt.verdict.refusals)
        raise RefusedError(message, hint=hint)
    prove_edits(found.proposal.files)
    # What was acknowledged is no reason: where one is demanded, it was judged without.
    options = replace(options, reason=with_acknowledged(reason, said.rules))
    done, faults = carry_out(session, replace(attempt, options=options), _OnScreen(session, tell))
    return Carried(done=done, faults=tuple(faults))


def witnessed(session: Session, found: TenantProposal, outcome: TenantOutcome) -> Witness:
    """Wait for the audit event of the write, and compare it with the plan."""
    return event_of(
        found.tenant,
        outcome,
        session.engine,
        since=found.wanted.live.updated_at,
        pause=session.stop.wait,
    )


@dataclass(frozen=True, slots=True)
class _OnScreen:
    """A screen that sees a push go on. Leaving the program stops it: signals come to the main thread alone."""

    session: Session
    tell: Callable[[News | Begun | Halted], object]

    @contextmanager
    def stopping(self) -> Iterator[Stopping]:
        """It is asked to stop where the session is."""
        yield Stopping(requested=self.session.stop)

    def progress(self, tenants: int) -> AbstractContextManager[Callable[[], None]]:
        """A single tenant has its steps."""
        del tenants
        return nullcontext(lambda: None)

    def told(self, news: News) -> None:
        """Show it."""
        self.tell(news)

    def begun(self, run: str) -> None:
        """Show the run: whatever happens now, it can be resumed."""
        self.tell(Begun(run=run))

    def stopped(self, words: str) -> None:
        """Show why."""
        self.tell(Halted(words=words))
