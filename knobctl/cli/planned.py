"""Applies a plan file: as it was reviewed, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from knobctl.changes.limits import Limits
from knobctl.changes.proposal import Done, Proposal
from knobctl.cli.choosing import limits_for, surroundings
from knobctl.cli.consent import require_consent
from knobctl.cli.pushing import answer, push
from knobctl.cli.unnamed_fleets import documents_behind, tell_unnamed_fleets
from knobctl.errors import ConflictError, ExitCode, UsageError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.plan import Plan
    from knobctl.cli.given_plan import GivenPlan
    from knobctl.cli.push_options import PushOptions
    from knobctl.cli.session import Session
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import LiveSet

AGAIN = "plan again and review the new plan: knobctl plan -o FILE"


def apply_plan_file(
    session: Session,
    given: GivenPlan,
    options: PushOptions,
    *,
    max_tenants: int | None,
    max_share: str | None,
) -> ExitCode:
    """Apply a plan: its digests, its base revisions and today's policies must still hold.

    Raises:
        InputError: If the file is no plan that can be believed.
        ConflictError: If something moved since it was made; nothing was written.
    """
    from knobctl.changes.plan import unknown_fields
    from knobctl.changes.planfile import read_plan
    from knobctl.changes.preparing import fleet_of, refuse_unread
    from knobctl.changes.probing import Probes
    from knobctl.engine.reading import read_all

    plan = read_plan(given.read(), given.name, session.catalogue)
    plan = replace(plan, unchanged=0)  # those are not looked at again
    refuse_other_fleet(session, plan.fleet, f"{given.name} is a plan")
    sources = [session.cwd / one.source for one in plan.tenants if one.source]
    here = plan.fleet is not None or any(source.is_file() for source in sources)
    repository = surroundings(session, wanted=here, indexed=True)
    fleet = fleet_of(repository, plan.fleet or session.fleet)
    refuse_unread(repository, fleet)
    limits = limits_for(session, fleet, max_tenants=max_tenants, max_share=max_share)
    if limits.consent_required and not options.dry_run:
        require_consent(yes=options.yes, what=limits.consent_required)
    refuse_other_engine(session, plan.engine, f"{given.name} is a plan")
    live = read_all(
        session.engine, [one.tenant for one in plan.tenants], workers=options.parallelism
    )
    moved = _moved(session, plan, live, options, repository, fleet)
    left_out = {one.tenant for one in moved}
    kept = replace(
        plan,
        tenants=tuple(
            replace(one, unknown=unknown_fields(live[one.tenant]))
            for one in plan.tenants
            if one.tenant not in left_out
        ),
    )
    refuse_changed_evidence(session, kept, repository, documents=here or bool(repository.claims))
    refuse_new_findings(session, kept, live, repository, fleet)
    tell_unnamed_fleets(session, repository, documents_behind(kept, repository), fleet)
    return push(
        session,
        Proposal(
            command="apply",
            plan=kept,
            limits=limits,
            needs_consent=limits.consent_required is not None,
            left_out=moved,
            probes=Probes(fleet, repository.root),
        ),
        options,
    )


def _moved(
    session: Session,
    plan: Plan,
    live: Mapping[str, LiveSet],
    options: PushOptions,
    repository: Repository,
    fleet: Document | None,
) -> list[TenantOutcome]:
    """The tenants that moved since the plan, live or in their files; with `--on-conflict stop` they end it."""
    from knobctl.changes.asked_again import asked_otherwise
    from knobctl.changes.replanning import is_applied, moved_since

    if is_applied(plan, live):
        raise ConflictError("the plan is applied already; nothing was written.", hint=AGAIN)
    moved = moved_since(plan, live, session.catalogue)
    gone = {one.tenant for one in moved}
    moved += asked_otherwise(
        [one for one in plan.changing if one.tenant not in gone],
        repository,
        fleet,
        is_file=lambda source: (session.cwd / source).is_file(),
    )
    if moved and options.on_conflict == "stop":
        refuse_moved(session, plan, moved, hint=AGAIN)
    return moved


def refuse_moved(
    session: Session,
    plan: Plan,
    moved: Sequence[TenantOutcome],
    *,
    settled: Sequence[TenantOutcome] = (),
    hint: str,
) -> NoReturn:
    """Answer with the tenants that moved since they were planned, and end the command.

    Args:
        session: The command's surroundings.
        plan: What was planned.
        moved: The tenants that moved.
        settled: What was done before.
        hint: How to go on.

    Raises:
        ConflictError: Nothing was written.
    """
    left_out = {one.tenant for one in (*moved, *settled)}
    rest = tuple(one for one in plan.tenants if one.tenant not in left_out)
    stopped = Proposal(
        command="apply",
        plan=replace(plan, tenants=rest),
        limits=Limits(),
        needs_consent=False,
        left_out=[*settled, *moved],
    )
    done = Done(outcomes=stopped.unbegun(), code=ExitCode.CONFLICT)
    answer(session, stopped, done, "")
    raise ConflictError(
        f"{count(len(moved), 'tenant')} moved since the plan was made; nothing was written.",
        hint=hint,
    )


def refuse_other_engine(session: Session, engine: str, what: str) -> None:
    """Refuse where another engine is chosen than the one that a plan is for.

    Raises:
        UsageError: Naming both.
    """
    if session.engine.name != engine:
        raise UsageError(
            f"{what} for {engine}, and the engine chosen is {session.engine.name}",
            hint="choose that engine: --engine or --context",
        )


def refuse_other_fleet(session: Session, fleet: str | None, what: str) -> None:
    """Refuse where another fleet is named than the one that a plan is for, whose limits hold.

    Raises:
        UsageError: Naming both.
    """
    named = session.settings.fleet
    if named and fleet and named != fleet:
        raise UsageError(
            f"{what} for fleet {visible(fleet)}, and the fleet named is {visible(named)}",
            hint="leave --fleet and KNOBCTL_FLEET out: the plan says whose limits hold",
        )


def refuse_changed_evidence(
    session: Session, plan: Plan, repository: Repository, *, documents: bool = True
) -> None:
    """Refuse where evidence is not what the plan was made with.

    Raises:
        ConflictError: Naming it; nothing was written.
    """
    from knobctl.changes.replanning import changed_evidence

    changed = changed_evidence(plan, repository, session.cwd, documents=documents)
    if changed:
        raise ConflictError(
            f"the plan was made with other evidence; nothing was written: {', '.join(changed)}",
            hint=AGAIN,
        )


def refuse_new_findings(
    session: Session,
    plan: Plan,
    live: Mapping[str, LiveSet],
    repository: Repository,
    fleet: Document | None,
    *,
    passed_over: Collection[str] = (),
) -> None:
    """Refuse where the policies of today say of a plan what they did not say when it was made.

    Rules that are passed over stop nothing.

    Raises:
        ConflictError: With what they say; nothing was written.
    """
    from knobctl.changes.corpora import Corpora
    from knobctl.changes.replanning import new_findings

    found = new_findings(
        plan,
        live,
        repository,
        today=session.today,
        fleet=fleet,
        corpora=Corpora(lambda: session.engine),
    )
    found = [one for one in found if one.rule not in passed_over]
    if found:
        lines = [
            f"  {one.severity.value} {one.rule}: {one.message.splitlines()[0]}" for one in found
        ]
        raise ConflictError(
            "\n".join(
                [
                    "the policies say what they did not say when the plan was made; nothing was written.",
                    *lines,
                ]
            ),
            hint=AGAIN,
        )
