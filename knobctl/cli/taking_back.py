"""Goes on with a canary's run that was killed while it took back what it had written."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from knobctl.changes.apply import Push
from knobctl.changes.outcomes import exit_code, tally
from knobctl.changes.plan import Plan
from knobctl.changes.proposal import Done, Proposal, in_order
from knobctl.changes.rollback import defaults_words
from knobctl.changes.rollout import Rolled
from knobctl.changes.taking_back import (
    backs_of,
    planned_before,
    still_written,
    take_back,
    unsure_of,
)
from knobctl.cli.choosing import limits_for
from knobctl.cli.journals import time_noted
from knobctl.cli.planned import refuse_other_engine
from knobctl.cli.pushing import answer
from knobctl.cli.stopping import refuse_stopped, stop_marks, stopping_on_marks, stopping_on_signals
from knobctl.errors import ExitCode, gravest
from knobctl.report.pushes import after_waves
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.changes.journal import Run
    from knobctl.changes.journal_writing import Journal
    from knobctl.changes.plan import TenantPlan
    from knobctl.cli.push_options import PushOptions
    from knobctl.cli.session import Session


def finish_taking_back(
    session: Session, run: Run, journal: Journal, options: PushOptions
) -> ExitCode:
    """Take back what is left to be taken back; what was changed since is left alone.

    The sets are exact, whatever the defaults are by now.

    Raises:
        UsageError: If the run belongs to another engine.
        RefusedError: If an earlier set is none that the schema accepts now.
    """
    refuse_other_engine(session, run.heading.engine, f"run {run.heading.run} was")
    if words := defaults_words(run, session.catalogue):
        session.notice(words)
    planned = {one.tenant: one for one in planned_before(run, session.catalogue)}
    proposal = _proposal(session, run, planned)
    if options.dry_run:
        why = visible(run.taking_back or "")
        shown = f"{count(len(run.left), 'tenant')} left to be taken back: {why}"
        done = Done(outcomes=run.outcomes(), code=ExitCode.OK, dry_run=True)
        answer(session, proposal, done, shown)
        return done.code
    done = _taken_back(session, run, journal, options, planned)
    answer(session, proposal, done, "")
    if words := after_waves(done, session.typed_place):
        session.settings.say(words)
    return done.code


def _proposal(session: Session, run: Run, planned: Mapping[str, TenantPlan]) -> Proposal:
    """What the answer is about: the run's plan, as far as it is left to be taken back."""
    plan = Plan(
        engine=run.heading.engine,
        fleet=run.heading.fleet,
        schema_digest=run.plan["schema_digest"],
        managed=run.plan["managed_tenants"],
        limits=limits_for(session, None),
        tenants=tuple(planned.values()),
    )
    return Proposal(command="apply", plan=plan, limits=plan.limits, needs_consent=False)


def _taken_back(
    session: Session,
    run: Run,
    journal: Journal,
    options: PushOptions,
    planned: Mapping[str, TenantPlan],
) -> Done:
    """Write the earlier sets, and end the run."""
    why, mark = run.taking_back or "", refuse_stopped(session, options)
    left, unsure = backs_of(run, planned, session.catalogue), unsure_of(run, planned)
    started = time.monotonic()
    with (
        stopping_on_signals(session.stop) as stopping,
        stopping_on_marks(stopping, stop_marks(session), journal.run, mark),
    ):
        way = Push(
            engine=session.engine,
            catalogue=session.catalogue,
            reason="",
            pause=time.sleep,
            journal=journal,
            sent=run.sent,
            parallelism=options.parallelism,
            ticket=run.heading.ticket or options.ticket,
            # Whoever asked for it by hand may stop it by hand; the rest is resumed as this was.
            emergency=stopping.requested,
            pace=session.pace,
        )
        returned = take_back(left, way, why, unsure)
    found = {one.tenant: one for one in (*run.outcomes(), *returned)}
    outcomes = in_order(list(found.values()))
    stuck = still_written(returned)
    journal.end(left=len(stuck), ended_at=time_noted(session), outcomes=tally(outcomes))
    return Done(
        outcomes=outcomes,
        code=gravest([exit_code(outcomes), *([ExitCode.PARTIAL] if stuck else [])]),
        elapsed_s=time.monotonic() - started,
        run=journal.run,
        rolled=Rolled(taken_back=why, stuck=stuck),
    )
