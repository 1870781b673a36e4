"""Whether the documents still ask for what a plan sends: a plan that was made of older ones expires. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.changes.diff import diff_sets
from knobctl.changes.outcomes import Outcome, TenantOutcome
from knobctl.changes.read_back import same_set
from knobctl.documents.repository import STDIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from knobctl.changes.plan import TenantPlan
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository


def asked_otherwise(
    tenants: Iterable[TenantPlan],
    repository: Repository,
    fleet: Document | None,
    *,
    is_file: Callable[[str], bool],
) -> list[TenantOutcome]:
    """Find the tenants whose documents ask for another set than the planned one, or are gone.

    What counts is the set that a document and its layers come to: a comment, an order or a file's
    name may change. What no document asked for is not looked at: a bare set, standard input, a
    tenant to be pruned; nor is anything where no documents of tenants lie.

    Args:
        tenants: What is planned.
        repository: The documents as they are.
        fleet: The fleet that applies.
        is_file: Whether a plan's source is a file here.
    """
    sources = {document.source for document in (*repository.judged, *repository.others)}
    found = []
    for tenant in tenants:
        looked_at = tenant.source in sources or not is_file(tenant.source)
        if repository.claims and looked_at and tenant.source not in {"", STDIN}:
            found += _otherwise(tenant, repository, fleet)
    return found


def _otherwise(
    tenant: TenantPlan, repository: Repository, fleet: Document | None
) -> list[TenantOutcome]:
    asking = [
        one
        for one in repository.claims.get(tenant.tenant, [])
        if fleet is None or fleet in repository.fleets_of(one)
    ]
    sets = [repository.desired(one) for one in asking]
    if any(same_set(one, tenant.desired) for one in sets):
        return []
    message = f"no document asks for it by now; {tenant.source} did"
    if asking:
        message = f"{asking[0].source} asks for another set by now"
    return [
        TenantOutcome(
            tenant=tenant.tenant,
            outcome=Outcome.CONFLICT,
            message=message,
            theirs=diff_sets(repository.catalogue, tenant.desired, sets[0]) if sets else (),
        )
    ]
