"""`knobctl apply`: push the files' sets, or a reviewed plan, guarded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knobctl.changes.proposal import Proposal
from knobctl.cli.attaching import evidence_option, tell_attached
from knobctl.cli.canary import canary_of, canary_options
from knobctl.cli.choosing import answer_errors, chosen_of, filing_for, limits_for, prepared_for
from knobctl.cli.consent import require_consent
from knobctl.cli.given_plan import given_plan
from knobctl.cli.options import Settings, bare_set_option, common_options
from knobctl.cli.pruning import faults_of_all, prune_options, refuse_to_choose
from knobctl.cli.push_options import PushOptions, consent_options, parallelism_option
from knobctl.cli.pushing import push
from knobctl.cli.selection import complete_unfinished, selection_of, selection_options
from knobctl.cli.session import Session
from knobctl.cli.unfinished import tell_unfinished
from knobctl.cli.unnamed_fleets import documents_behind, tell_unnamed_fleets
from knobctl.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from knobctl.errors import ExitCode


@click.command(name="apply")
@click.argument("paths", nargs=-1, metavar="[PATH... | PLANFILE]")
@selection_options
@bare_set_option
@consent_options
@click.option("--dry-run", is_flag=True, help="Show what would be pushed; write nothing.")
@click.option(
    "--max-tenants",
    type=click.IntRange(min=0),
    metavar="N",
    help="Refuse where more tenants would change.",
)
@click.option(
    "--max-share",
    metavar="P%",
    help="Refuse where a larger share of the managed tenants would change.",
)
@click.option(
    "--on-conflict",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="What a tenant that moved means for the others.",
)
@click.option(
    "--resume",
    metavar="RUN",
    shell_complete=complete_unfinished,
    help="Finish what is left of a run, and repeat nothing; see knobctl runs.",
)
@prune_options
@canary_options
@evidence_option
@parallelism_option
@common_options(engine=True, rate=True)
def command(
    settings: Settings,
    paths: tuple[str, ...],
    labels: tuple[str, ...],
    where: str | None,
    tenant: str | None,
    yes: bool,
    reason: str | None,
    ticket: str | None,
    allow: tuple[str, ...],
    dry_run: bool,
    max_tenants: int | None,
    max_share: str | None,
    on_conflict: str,
    resume: str | None,
    prune: bool,
    max_pruned: int | None,
    canary: tuple[str, ...],
    wave: tuple[str, ...],
    watch: int | None,
    bake: str | None,
    max_worse: str | None,
    evidence: tuple[Path, ...],
    parallelism: int,
) -> ExitCode:
    """Push whole sets: what a file and its layers leave out goes back to the platform default.

    PATHs are planned, shown and asked about. A plan file, or a plan through a pipe (-), is
    applied as it was reviewed, unless something moved since. A run that was interrupted or killed is finished with --resume RUN.
    A live tenant without a document is left alone; --prune resets such tenants, of the whole
    repository, and as many as a limit allows.
    With --canary and --wave it goes in waves that are watched: the probes of the fleet document are
    asked before and after, and all that was written is taken back where a tenant is answered worse
    (exit 11). With --dry-run the waves are shown, and what the probes say of the planned sets.
    """
    from knobctl.changes.guards import read_allowances
    from knobctl.changes.limits import share
    from knobctl.changes.probing import Probes
    from knobctl.changes.pruning import with_pruned

    options = PushOptions(
        yes=yes,
        reason=reason,
        ticket=ticket,
        allow=allow,
        dry_run=dry_run,
        on_conflict=on_conflict,
        parallelism=parallelism,
        canary=canary_of(canary, wave, watch, bake, max_worse, resumes=resume is not None),
    )
    read_allowances(allow)
    if max_share:
        share(max_share)
    with Session(settings) as session:
        plan = given_plan(session, paths)
        refuse_to_choose(
            prune=prune,
            max_pruned=max_pruned,
            chosen=bool(plan or labels or where or tenant),
            resumes=resume is not None,
        )
        if evidence and (plan is not None or resume is not None):
            raise UsageError(
                "evidence is attached when a plan is made: knobctl plan --evidence FILE"
            )
        if resume is not None:
            from knobctl.cli.resuming import resume_run

            if paths or labels or where or tenant:
                raise UsageError(
                    "a run is resumed as it was begun: its tenants stand in its journal"
                )
            return resume_run(
                session,
                resume,
                options,
                max_tenants=max_tenants,
                max_share=max_share,
                max_pruned=max_pruned,
            )
        if plan is not None:
            from knobctl.cli.planned import apply_plan_file

            if labels or where or tenant:
                raise UsageError("a plan is applied whole; choose tenants when it is made")
            return apply_plan_file(
                session, plan, options, max_tenants=max_tenants, max_share=max_share
            )
        tell_unfinished(session)
        require_consent(yes=yes or dry_run, what="apply")
        selection = selection_of((), labels, where)
        whole = session.repository(paths, tenant=tenant, filing=filing_for(session, selection))
        if prune and (faults := faults_of_all(session, whole, paths)):
            return answer_errors(session, "apply", faults)
        repository, fleet = chosen_of(session, whole, selection)
        tell_attached(session, repository, evidence)
        limits = limits_for(
            session, fleet, max_tenants=max_tenants, max_share=max_share, max_pruned=max_pruned
        )
        prepared = prepared_for(session, repository, fleet, limits, parallelism=parallelism)
        if prepared.plan is None:
            return answer_errors(session, "apply", prepared.report)
        behind = documents_behind(prepared.plan, repository)
        tell_unnamed_fleets(session, repository, behind, fleet)
        pushed = with_pruned(prepared.plan, whole, session.engine) if prune else prepared.plan
        return push(
            session,
            Proposal(
                command="apply",
                plan=pushed,
                limits=limits,
                needs_consent=True,
                report=prepared.report,
                effective=prepared.effective,
                probes=Probes(fleet, repository.root),
                facts={"pruned": [one.tenant for one in pushed.tenants if one.pruned]}
                if prune
                else {},
            ),
            options,
        )
