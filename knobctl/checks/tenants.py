"""Asks the policies of every judged tenant, and places what they found in the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from knobctl.checks.asking import Asking, Hit
from knobctl.checks.expressions import ExpressionError, policy_error
from knobctl.checks.subject import Subject
from knobctl.finding import Finding, Related, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import date

    from knobctl.checks.policies import Policy
    from knobctl.checks.validation import Validation
    from knobctl.documents.model import Document, Written
    from knobctl.documents.repository import Repository
    from knobctl.finding import Location
    from knobctl.knobs import KnobValue


def policy_findings(  # noqa: PLR0913  each is a fact that policies can ask for
    repository: Repository,
    validation: Validation,
    policies: Sequence[Policy],
    *,
    live: Mapping[str, Mapping[str, KnobValue]] | None,
    base: Repository | None,
    fleet_of: Callable[[Document], Document | None],
    today: date,
    loud: Collection[str] = (),
) -> Iterator[Answers]:
    """Ask every policy of every judged tenant.

    Args:
        repository: The documents.
        validation: Which of them are of no use.
        policies: Those in force.
        live: By tenant, what the engine holds.
        base: The same PATHs at an earlier revision; a finding that it has too is standing.
        fleet_of: Gives the fleet under which a tenant is judged.
        today: The day.
        loud: Rules whose infos are wanted as findings at once.

    Yields:
        What is said of each tenant of which anything is.
    """
    alone = base is None and live is None
    asking = Asking(policies, alone=alone)
    then = _Then(base, policies) if base else None
    for tenant in repository.tenants:
        before = then.tenant(repository, tenant) if then else None
        faulty = faulty_knobs(repository, tenant, validation)
        fleet = fleet_of(tenant)
        subject = Subject(
            tenant,
            repository.effective,
            base=before.effective if before else None,
            live=live.get(tenant.name) if live is not None else None,
            fleet=fleet.value if fleet else None,
            today=today.isoformat(),
            faulty=faulty,
        )
        hits = asking.hits(subject)
        if not hits:
            continue
        if not alone or faulty:
            stood = then.hits(before) if then and before else {}
            pressing = [_finding(hit, subject, _is_standing(hit, subject, stood)) for hit in hits]
            yield Answers(subject, pressing, ())
            continue
        quiet = tuple(hit for hit in hits if _is_quiet(hit, loud))
        pressing = [_finding(hit, subject) for hit in hits if not _is_quiet(hit, loud)]
        yield Answers(subject, pressing, quiet)


def _is_quiet(hit: Hit, loud: Collection[str]) -> bool:
    """Whether it is an info that is made where somebody looks."""
    if hit.failed is not None or hit.policy.severity is not Severity.INFO:
        return False
    return hit.policy.id not in loud


class Answers(NamedTuple):
    """What the policies say of one tenant."""

    subject: Subject
    findings: list[Finding]
    infos: tuple[Hit, ...]
    """Infos that are not made yet: a fleet has tens of thousands that nobody wants one by one."""

    @property
    def tenant(self) -> str:
        """Whom they are about."""
        return self.subject.document.name

    def told(self) -> Iterator[tuple[str, str]]:
        """Rule and message of each info."""
        return ((hit.policy.id, hit.message) for hit in self.infos)

    def made(self) -> list[Finding]:
        """Make the infos, with their places."""
        return [_finding(hit, self.subject) for hit in self.infos]


def faulty_knobs(
    repository: Repository, tenant: Document, validation: Validation
) -> Collection[str]:
    """Knobs of which nothing can be said, because what is written for them is no value.

    All of them where a layer is missing or the knobs are no mapping: nobody knows what is in force.
    """
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


def _is_standing(
    hit: Hit, subject: Subject, stood: Mapping[tuple[str, str | None], Subject]
) -> bool:
    """Whether the base has the finding too, with equal effective values of every knob that the rule reads."""
    then = stood.get((hit.policy.id, hit.knob))
    if then is None:
        return False
    reads = subject.values if hit.policy.reads_all else (*hit.policy.reads, hit.knob)
    return all(then.values.get(name) == subject.values.get(name) for name in reads if name)


class _Then:
    """The base revision: its tenants, and what the policies say of them."""

    def __init__(self, base: Repository, policies: Sequence[Policy]) -> None:
        self._base = base
        self._asking = Asking(policies)

    def tenant(self, repository: Repository, tenant: Document) -> Subject | None:
        """The tenant as the base has it."""
        document = self._base.counterpart(tenant, repository)
        return Subject(document, self._base.effective) if document else None

    def hits(self, subject: Subject) -> dict[tuple[str, str | None], Subject]:
        return {(hit.policy.id, hit.knob): subject for hit in self._asking.hits(subject)}


def _finding(hit: Hit, subject: Subject, standing: bool = False) -> Finding:
    if hit.failed is not None:
        error = ExpressionError(hit.message)
        return policy_error(hit.policy.document, (hit.failed,), error, tenant=subject.document.name)
    primary, related = _place(hit, subject)
    return Finding(
        rule=hit.policy.id,
        severity=hit.policy.severity,
        message=hit.message,
        hint=hit.hint,
        tenant=subject.document.name,
        field_path=hit.knob,
        value=hit.value,
        primary=primary,
        related=related,
        standing=standing,
    )


def _place(hit: Hit, subject: Subject) -> tuple[Location, tuple[Related, ...]]:
    """At the knob's value, else at the first written knob that the rule reads, else at the `tenant:` line."""
    tenant = subject.document
    names = [name for name in (hit.knob, *hit.policy.reads) if name is not None]
    if not tenant.layers and not subject.faulty:
        # Nothing can hide what the tenant writes, so its layers need not be resolved for the place.
        for name in names:
            spot = tenant.spot("knobs", name)
            if spot is not None and spot.via < 0:
                return tenant.text.location(spot.start, spot.end), ()
    origins = subject.effective.origins
    for name in names:
        if name in origins:
            written = origins[name][0]
            return written.location, _around(written, tenant)
    return tenant.location("tenant"), ()


def _around(written: Written, tenant: Document) -> tuple[Related, ...]:
    """Whose value it is where it stands in a layer, and the alias through which it arrives."""
    related: tuple[Related, ...] = ()
    if written.document is not tenant:
        layer = written.document.name
        related += (
            Related(f"{tenant.name} has it from the layer {layer}", tenant.location("tenant")),
        )
    if via := written.via:
        message = f"the value arrives through the merge or alias at {via.line}:{via.column}"
        related += (Related(message, via),)
    return related
