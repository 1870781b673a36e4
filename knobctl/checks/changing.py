"""Finds what changes in force of the judged tenants, and judges it by what their fleets demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.checks.evidence_rules import Evidences, Moved, demand_of, evidence_findings
from knobctl.checks.tenants import faulty_knobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import date

    from knobctl.checks.validation import Validation
    from knobctl.documents.model import Document, Effective
    from knobctl.documents.repository import Repository
    from knobctl.finding import Finding
    from knobctl.knobs import KnobValue


def demanded(
    repository: Repository,
    validation: Validation,
    fleet_of: Callable[[Document], Document | None],
    live: Mapping[str, Mapping[str, KnobValue]] | None,
    base: Repository | None,
    today: date,
) -> Iterator[tuple[Effective, list[Finding]]]:
    """Judge every judged tenant's changes by what its fleet demands of evidence.

    Args:
        repository: The documents.
        validation: Which of them are of no use.
        fleet_of: Gives the fleet under which a tenant is judged.
        live: By tenant, what the engine holds.
        base: The same PATHs at an earlier revision; where given, changes are counted from there.
        today: The day.

    Yields:
        Each tenant of which anything is said, resolved, and what.
    """
    files = Evidences(repository.root, repository.catalogue)
    demands = {id(fleet): demand_of(fleet) for fleet in validation.sound(repository.fleets)}
    if not any(demands.values()):
        return
    for tenant in repository.tenants:
        fleet = fleet_of(tenant)
        demand = demands.get(id(fleet)) if fleet else None
        before = _before(repository, tenant, live, base) if demand else None
        if demand is None or before is None:
            continue
        faulty = faulty_knobs(repository, tenant, validation)
        moved = Moved(repository.effective(tenant), before, faulty)
        found = list(evidence_findings(moved, demand, files, today))
        if found:
            yield moved.effective, found


def _before(
    repository: Repository,
    tenant: Document,
    live: Mapping[str, Mapping[str, KnobValue]] | None,
    base: Repository | None,
) -> Mapping[str, KnobValue] | None:
    """What was in force before; the platform defaults for a tenant that the base does not have."""
    if base is not None:
        document = base.counterpart(tenant, repository)
        return base.effective(document).values if document else repository.catalogue.defaults
    held = (live or {}).get(tenant.name)
    return repository.catalogue.effective(held) if held is not None else None
