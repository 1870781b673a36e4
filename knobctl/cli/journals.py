"""The journals of this user's runs: where they lie, and the one that a push writes."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knobctl import __version__
from knobctl.changes.journal import Heading
from knobctl.changes.outcomes import Outcome, tally
from knobctl.changes.plan import plan_records
from knobctl.changes.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knobctl.changes.guards import Verdict
    from knobctl.changes.journal_writing import Journal
    from knobctl.changes.plan import TenantPlan
    from knobctl.changes.proposal import Proposal
    from knobctl.changes.resuming import Rest
    from knobctl.cli.push_options import PushOptions
    from knobctl.cli.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class GoingOn:
    """An earlier run that is gone on with."""

    journal: Journal
    rest: Rest
    whole: Sequence[TenantPlan]
    """What the run changes in all."""
    allowed: frozenset[str]
    """What was acknowledged before."""


def runs_of(session: Session) -> RunFolder:
    """The journals of this user's runs."""
    return RunFolder(session.state_folder / "runs")


@contextmanager
def run_journal(
    session: Session,
    proposal: Proposal,
    options: PushOptions,
    verdict: Verdict,
    going_on: GoingOn | None,
) -> Iterator[Journal]:
    """The journal of this run, in which stands what it is about; nothing is sent before that is on the disk."""
    if going_on:
        attempt = {"resumed_at": time_noted(session), "made_by": _maker(), "actor": session.actor}
        going_on.journal.begin({"kind": "resume", **attempt, "allowed": list(verdict.allowances)})
        for outcome in (*going_on.rest.found, *going_on.rest.moved):
            going_on.journal.tell(outcome)
        yield going_on.journal
        return
    aside = [one for one in proposal.unbegun() if one.outcome is not Outcome.SKIPPED]
    runs = runs_of(session)
    heading = Heading(
        run=secrets.token_hex(4),
        command=proposal.command,
        started_at=time_noted(session),
        made_by=_maker(),
        actor=session.actor,
        folder=str(session.cwd),
        engine=proposal.plan.engine,
        place=session.typed_place,
        fleet=proposal.plan.fleet,
        reason=options.reason or "",
        ticket=options.ticket,
        allowed=verdict.allowances,
        aside=tally(aside, unchanged=proposal.plan.unchanged),
        files=tuple(edit.name for edit in proposal.files),
        number=runs.next_number(),
    )
    journal = runs.new(heading.run)
    try:
        waves = [proposal.rollout.as_record()] if proposal.rollout else []
        plan = plan_records(proposal.plan)  # no plan is noted without its waves
        journal.begin(heading.as_record(), *waves, plan=plan)
        yield journal
    finally:
        journal.close()


def time_noted(session: Session) -> str:
    """The time as journals have it, RFC 3339."""
    return session.now().isoformat(timespec="seconds")


def _maker() -> str:
    return f"knobctl {__version__}"
