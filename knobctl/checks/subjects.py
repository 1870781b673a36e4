"""Describes the tenants of one state of a repository, for the policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.checks.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from knobctl.checks.grounds import Grounds, Moment
    from knobctl.documents.model import Document, Effective
    from knobctl.documents.repository import Repository


def subject_of(
    grounds: Grounds,
    tenant: Document,
    moment: Moment,
    *,
    base: Effective | None = None,
    unchanged: bool = False,
    revision: str = "",
) -> Subject:
    """Describe a tenant.

    Args:
        grounds: The state of the repository that has it.
        tenant: Its document.
        moment: The day, and what the engine holds.
        base: What the revision that is compared with has for it, resolved.
        unchanged: Whether that is the same.
        revision: What that revision is called.
    """
    fleet = grounds.fleet_of(tenant)
    return Subject(
        tenant,
        grounds.repository.effective,
        base=base,
        unchanged=unchanged,
        revision=revision,
        live=moment.live.get(tenant.name) if moment.live is not None else None,
        fleet=fleet.value if fleet else None,
        today=moment.today.isoformat(),
        faulty=faulty_knobs(grounds, tenant),
        evidence=lambda effective: _evidence(grounds, effective),
    )


def _evidence(grounds: Grounds, effective: Effective) -> list[dict[str, object]]:
    if not grounds.repository.evidence_of(effective.document):
        return []
    from knobctl.checks.evidence_facts import evidence_facts  # most tenants name none

    return evidence_facts(grounds.evidences, effective)


def faulty_knobs(grounds: Grounds, tenant: Document) -> Collection[str]:
    """Knobs of which nothing can be said, because what is written for them is no value.

    All of them where a layer is missing or the knobs are no mapping: nobody knows what is in force.
    """
    repository, validation = grounds.repository, grounds.validation
    layers = repository.layers_of(tenant) if tenant.layers else ()
    if len(layers) == len(set(tenant.layers)) and not validation.broken:
        return ()
    catalogue = repository.catalogue
    if len(layers) < len(set(tenant.layers)):
        return catalogue.by_name
    faulty: set[str] = set()
    for document in (tenant, *layers):
        if id(document) not in validation.broken:
            continue
        if not isinstance(document.value.get("knobs", {}), dict):
            return catalogue.by_name
        faulty |= set(_faulty_in(document, repository))
    return faulty


def _faulty_in(document: Document, repository: Repository) -> Iterator[str]:
    by_name = repository.catalogue.by_any_name
    misread = {trouble.start for trouble in document.tree.troubles}
    for key, value in document.knobs.items():
        spot = document.spot("knobs", key)
        if key in by_name and spot:
            knob = by_name[key]
            if not knob.accepts(value) or spot.start in misread:
                yield knob.name
    for trouble in document.tree.troubles:  # of a duplicate key neither value counts
        written = document.text.text[trouble.start : trouble.end].strip("\"'")
        if trouble.rule == "duplicate-key" and written in by_name:
            yield by_name[written].name
