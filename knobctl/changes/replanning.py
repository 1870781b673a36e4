"""Looks at a plan again before it is applied: what moved since it was made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from knobctl.changes.apply import moved
from knobctl.changes.plan import worrying
from knobctl.changes.read_back import same_set
from knobctl.changes.stand_in import judging, stand_in
from knobctl.checks.evidences import Evidences
from knobctl.documents.repository import Attached

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from knobctl.changes.corpora import Corpora
    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.plan import Plan, TenantPlan
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import LiveSet
    from knobctl.finding import Finding
    from knobctl.knobs import Catalogue


def moved_since(
    plan: Plan, live: Mapping[str, LiveSet], catalogue: Catalogue
) -> list[TenantOutcome]:
    """Find the tenants that are not where the plan left them, with what others changed."""
    return [
        moved(tenant, live[tenant.tenant], catalogue)
        for tenant in plan.tenants
        if not _stands(tenant, live[tenant.tenant])
    ]


def _stands(tenant: TenantPlan, live: LiveSet) -> bool:
    if not tenant.changes and same_set(live.knobs, tenant.desired):
        return True
    if tenant.base_revision is None or live.revision is None:
        return tenant.base_revision is live.revision and same_set(live.knobs, tenant.existing)
    return live.revision == tenant.base_revision


def is_applied(plan: Plan, live: Mapping[str, LiveSet]) -> bool:
    """Whether every tenant holds the planned set already, and some had to change for it."""
    return bool(plan.changing) and all(
        same_set(live[tenant.tenant].knobs, tenant.desired) for tenant in plan.tenants
    )


def changed_evidence(
    plan: Plan, repository: Repository, cwd: Path, *, documents: bool = True
) -> list[str]:
    """Take the evidence that was attached to a plan, and find the files that are not what the plan was made with.

    Args:
        plan: The plan.
        repository: Where its documents stand; what was attached is attached to it again.
        cwd: The working folder: a file outside the repository is named from there.
        documents: Whether what documents name is looked at too.
    """
    carried = {one.path: one for tenant in plan.changing for one in tenant.evidence}
    repository.attach(
        attached(Path(path), repository.root, cwd) for path, one in carried.items() if one.attached
    )
    files = Evidences(repository)
    return [
        path
        for path, one in carried.items()
        if (documents or one.attached)
        and one.sha256 is not None
        and files.sha256(path) != one.sha256
    ]


def attached(path: Path, root: Path, cwd: Path) -> Attached:
    """Take a file as evidence that no document names: a name inside the repository, or one from the working folder."""
    inside = root / path
    file = inside if not path.is_absolute() and inside.is_file() else cwd / path
    return Attached(str(path), file)


def new_findings(
    plan: Plan,
    live: Mapping[str, LiveSet],
    repository: Repository,
    *,
    today: date,
    fleet: Document | None,
    corpora: Corpora | None = None,
) -> list[Finding]:
    """Judge the planned sets by the policies of today; give what the plan does not say.

    Args:
        plan: The plan.
        live: What the engine holds.
        repository: Where policies, waivers and fleets stand now; its tenants are not looked at.
        today: For waivers that expire.
        fleet: The fleet that applies.
        corpora: Says how large the corpora of tenants are now.

    Returns:
        Errors and warnings that nothing waives and that the plan's hazards do not have; of what is
        pruned none, as no document is there to be judged.
    """
    from knobctl.checks import check_repository

    report = check_repository(
        judging(repository, [_document(tenant) for tenant in plan.tenants if not tenant.pruned]),
        today=today,
        live={name: one.knobs for name, one in live.items()},
        fleet=fleet,
        infos=False,
        corpora=corpora,
    )
    hazards = [*plan.hazards, *(hazard for tenant in plan.tenants for hazard in tenant.hazards)]
    known = {_identity(one) for one in worrying(tuple(hazards))}
    return [one for one in worrying(tuple(report.pressing)) if _identity(one) not in known]


def _document(tenant: TenantPlan) -> Document:
    """The document that says in full what the plan sends."""
    return stand_in(
        tenant.tenant,
        tenant.desired,
        source=tenant.source or f"plan of {tenant.tenant}",
        labels=tenant.labels,
        owner=tenant.owner,
        evidence=tuple(one.path for one in tenant.evidence if not one.attached),
    )


def _identity(finding: Finding) -> tuple[str, str, str | None, str | None]:
    return finding.rule, finding.severity.value, finding.tenant, finding.field_path
