"""Finds what changes in force of the judged tenants, and judges it by what their fleets demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.checks.evidence_rules import Asked, Moved, demand_of, evidence_findings
from knobctl.checks.subjects import faulty_knobs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from knobctl.checks.earlier import Earlier
    from knobctl.checks.grounds import Grounds, Moment
    from knobctl.documents.model import Document, Effective
    from knobctl.finding import Finding
    from knobctl.knobs import KnobValue


def demanded(
    now: Grounds, moment: Moment, earlier: Earlier | None, staying: Collection[str] = ()
) -> Iterator[tuple[Effective, list[Finding]]]:
    """Judge every judged tenant's changes by what its fleet demands of evidence.

    Args:
        now: The documents, and what they are judged by.
        moment: The day, and what the engine holds.
        earlier: The base; where given, changes are counted from there.
        staying: Tenants that do not change.

    Yields:
        Each tenant of which anything is said, resolved, and what.
    """
    repository = now.repository
    asked = Asked(now.evidences, moment.today, moment.corpora)
    demands = {id(fleet): demand_of(fleet) for fleet in now.validation.sound(repository.fleets)}
    if not any(demands.values()):
        return
    for tenant in repository.tenants:
        if tenant.name in staying or (earlier and earlier.is_unchanged(tenant)):
            continue
        # Of several fleets none may take away what another one demands.
        over = [now.fleet] if now.fleet else repository.fleets_including(tenant)
        asking = [demand for demand in map(demands.get, map(id, over)) if demand]
        before = _before(now, tenant, moment, earlier) if asking else None
        if before is None:
            continue
        faulty = faulty_knobs(now, tenant)
        encoder = _encoder_before(tenant, earlier)
        moved = Moved(repository.effective(tenant), before, faulty, encoder)
        found = [one for demand in asking for one in evidence_findings(moved, demand, asked)]
        if found:
            yield moved.effective, found


def _encoder_before(tenant: Document, earlier: Earlier | None) -> str | None:
    """The embedder that the tenant's fleet named at the base."""
    document = earlier.document(tenant) if earlier else None
    fleet = earlier.then.fleet_of(document) if earlier and document else None
    demand = demand_of(fleet) if fleet else None
    return demand.encoder if demand else None


def _before(
    now: Grounds,
    tenant: Document,
    moment: Moment,
    earlier: Earlier | None,
) -> Mapping[str, KnobValue] | None:
    """What was in force before; the platform defaults for a tenant that the base does not have."""
    catalogue = now.repository.catalogue
    if earlier is not None:
        document = earlier.document(tenant)
        then = earlier.then.repository.effective(document).values if document else {}
        return {**catalogue.defaults, **then}
    held = (moment.live or {}).get(tenant.name)
    return catalogue.effective(held) if held is not None else None
