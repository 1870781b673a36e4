"""What differs: files against live, against a Git revision, one file against another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.changes.diff import Change, diff_sets, in_force_before
from knobctl.checks.carried_evidence import Carrying
from knobctl.checks.evidences import Evidences
from knobctl.checks.selecting import candidate_of
from knobctl.engine.reading import WORKERS, read_all

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from knobctl.checks.carried_evidence import CarriedEvidence
    from knobctl.checks.selecting import Selection
    from knobctl.documents.model import Document, Effective
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import Engine, LiveSet


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantDiff:
    """The changes of one tenant, and what lies on either side."""

    tenant: str
    changes: tuple[Change, ...]
    after: str
    """Where the right side stands: mostly a file."""
    before: str = ""
    """Where the left side stands, where it is no live set."""
    live: LiveSet | None = None
    """The left side, where an engine was asked."""
    effective: Effective | None = None
    """Where the values of the right side come from; of a live set that is just so nobody asks."""
    evidence: tuple[CarriedEvidence, ...] = ()
    """The evidence that the change carries."""


def live_sets(
    repository: Repository, engine: Engine, *, parallelism: int = WORKERS
) -> dict[str, LiveSet]:
    """Read what the engine holds for the judged tenants.

    Raises:
        EngineError: If a tenant cannot be read.
    """
    names = [tenant.name for tenant in repository.tenants]
    return read_all(engine, names, workers=parallelism)


def diff_live(
    repository: Repository, live: Mapping[str, LiveSet], *, unsure: Collection[str] = ()
) -> list[TenantDiff]:
    """Compare what the judged tenants want with what the engine holds, by tenant.

    Args:
        repository: The documents.
        live: By tenant, what the engine holds.
        unsure: Tenants that are left out, as nobody knows what they want.
    """
    found, carrying = [], Carrying(Evidences(repository))
    for tenant in repository.tenants:
        if tenant.name in unsure:
            continue
        held = live[tenant.name]
        if repository.wants(tenant, held.knobs):
            same = TenantDiff(tenant=tenant.name, changes=(), after=tenant.source, live=held)
            found.append(same)
            continue
        effective = repository.effective(tenant)
        changes = diff_sets(repository.catalogue, held.knobs, effective.desired)
        found.append(
            TenantDiff(
                tenant=tenant.name,
                changes=changes,
                after=tenant.source,
                live=held,
                effective=effective,
                evidence=carrying.of(effective, in_force_before(changes)),
            )
        )
    return sorted(found, key=_by_tenant)


def diff_base(
    repository: Repository, base: Repository, *, unsure: Collection[str] = ()
) -> list[TenantDiff]:
    """Compare what the judged tenants want now with what they wanted at a revision, by tenant.

    Args:
        repository: The documents.
        base: Those of the revision.
        unsure: Tenants that are left out, as nobody knows what they want.
    """
    is_same_schema = repository.catalogue is base.catalogue
    other_layers = repository.layers_unlike(base)

    def is_unchanged(tenant: Document, then: Document | None) -> bool:
        return then is tenant and is_same_schema and other_layers.isdisjoint(tenant.layers)

    found, carrying = [], Carrying(Evidences(repository))
    for tenant in repository.tenants:
        if tenant.name not in unsure:
            then = base.counterpart(tenant, repository)
            unchanged = is_unchanged(tenant, then)
            diff = _diff_base(repository, base, tenant, then, unchanged=unchanged)
            if diff.effective:
                carried = carrying.of(diff.effective, in_force_before(diff.changes))
                diff = replace(diff, evidence=carried) if carried else diff
            found.append(diff)
    return sorted(found, key=_by_tenant)


def _diff_base(
    repository: Repository,
    base: Repository,
    tenant: Document,
    document: Document | None,
    *,
    unchanged: bool,
) -> TenantDiff:
    before = base.place_of(document) if document else f"not at {base.revision}"
    if unchanged:
        return TenantDiff(tenant=tenant.name, changes=(), before=before, after=tenant.source)
    effective = repository.effective(tenant)
    then = base.effective(document).desired if document else {}
    earlier = base.catalogue if document else None
    return TenantDiff(
        tenant=tenant.name,
        changes=diff_sets(repository.catalogue, then, effective.desired, earlier=earlier),
        before=before,
        after=tenant.source,
        effective=effective,
    )


def removed_tenants(
    repository: Repository, base: Repository, fleet: Document | None, selection: Selection
) -> list[str]:
    """Tenants of a fleet that had a document at a revision and have none now: they become unmanaged."""
    documented = repository.managed_by(fleet)
    gone = [one for one in base.tenants_of(fleet) if one.name not in documented]
    return sorted({one.name for one in gone if selection.takes(candidate_of(base, one))})


def alone(repository: Repository) -> Repository:
    """A file by itself: that another file claims its tenant too is the point of comparing them."""
    return replace(
        repository, findings=[one for one in repository.findings if one.rule != "duplicate-tenant"]
    )


def same_tenant(left: Repository, right: Repository) -> bool:
    """Whether two files hold one tenant each, and the same one."""
    return (
        len(left.tenants) == len(right.tenants) == 1
        and left.tenants[0].name == right.tenants[0].name
    )


def diff_files(left: Repository, right: Repository) -> TenantDiff:
    """Compare what two files want for the same tenant; see `same_tenant`."""
    before, after = left.effective(left.tenants[0]), right.effective(right.tenants[0])
    return TenantDiff(
        tenant=after.tenant,
        changes=diff_sets(right.catalogue, before.desired, after.desired),
        before=before.document.source,
        after=after.document.source,
        effective=after,
    )


def _by_tenant(diff: TenantDiff) -> str:
    return diff.tenant
