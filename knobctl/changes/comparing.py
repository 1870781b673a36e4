"""What differs: files against live, against a Git revision, one file against another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.changes.diff import Change, diff_sets
from knobctl.checks.selecting import candidate_of
from knobctl.documents.model import Kind
from knobctl.documents.repository import belongs
from knobctl.engine.reading import read_all

if TYPE_CHECKING:
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
    """Where the values of the right side come from."""


def diff_live(repository: Repository, engine: Engine, *, parallelism: int) -> list[TenantDiff]:
    """Compare what the judged tenants want with what the engine holds, by tenant.

    Raises:
        EngineError: If a tenant cannot be read.
    """
    live = read_all(engine, [tenant.name for tenant in repository.tenants], workers=parallelism)
    found = []
    for tenant in repository.tenants:
        effective = repository.effective(tenant)
        found.append(
            TenantDiff(
                tenant=tenant.name,
                changes=diff_sets(repository.catalogue, live[tenant.name].knobs, effective.desired),
                after=tenant.source,
                live=live[tenant.name],
                effective=effective,
            )
        )
    return sorted(found, key=_by_tenant)


def diff_base(repository: Repository, base: Repository, revision: str) -> list[TenantDiff]:
    """Compare what the judged tenants want now with what they wanted at a revision, by tenant."""
    found = []
    for tenant in repository.tenants:
        effective = repository.effective(tenant)
        document = base.counterpart(tenant, repository)
        then = base.effective(document) if document else None
        found.append(
            TenantDiff(
                tenant=tenant.name,
                changes=diff_sets(
                    repository.catalogue, then.desired if then else {}, effective.desired
                ),
                before=then.document.source if then else f"not at {revision}",
                after=tenant.source,
                effective=effective,
            )
        )
    return sorted(found, key=_by_tenant)


def removed_tenants(
    repository: Repository, base: Repository, fleet: Document | None, selection: Selection
) -> list[str]:
    """Tenants of a fleet that had a document at a revision and have none now: they become unmanaged."""
    documented = {
        tenant.name
        for tenant in repository.of_kind(Kind.TENANT)
        if fleet is None or belongs(fleet, repository.names.get(tenant.source, ""))
    }
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
