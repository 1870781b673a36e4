"""What a state of a repository is judged by: its sound documents, its policies, waivers and fleets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.checks.rules import EVIDENCE_RULES, RULES
from knobctl.checks.validation import Validation, validate_documents
from knobctl.documents.model import RULE_KINDS, Kind
from knobctl.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import date

    from knobctl.checks.evidence_rules import Corpora
    from knobctl.checks.evidences import Evidences
    from knobctl.checks.policies import Policies
    from knobctl.checks.waivers import Waiving
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.finding import Finding
    from knobctl.knobs import KnobValue

_RULING: Final = RULE_KINDS | {Kind.FLEET}


class Moment(NamedTuple):
    """When documents are judged."""

    today: date
    """The day, for waivers and evidence."""
    live: Mapping[str, Mapping[str, KnobValue]] | None = None
    """By tenant, the canonical set that the engine holds; None where that is not known."""
    corpora: Corpora | None = None
    """Says how large the corpora of tenants are now; None where no engine is asked."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grounds:
    """One state of a repository, and what it is judged by."""

    repository: Repository
    validation: Validation
    validated: frozenset[int]
    """Identities of the documents that were looked at."""
    policies: Policies
    fleet: Document | None
    """The fleet of all judged tenants, where the user names one."""
    is_as_now: bool = False
    """Whether an earlier state has the same schema, settings, policies, waivers and fleets as the present one."""

    @cached_property
    def evidences(self) -> Evidences:
        """The evidence that its documents name."""
        from knobctl.checks.evidences import Evidences  # most runs read none

        return Evidences(self.repository)

    @property
    def unjudged(self) -> list[str]:
        """What could not be judged of evidence, and why."""
        read: Evidences | None = self.__dict__.get("evidences")
        return list(read.unjudged) if read else []

    @property
    def findings(self) -> list[Finding]:
        """What is wrong with documents, and with policies and waivers as such."""
        repository = self.repository
        found = list(repository.findings)
        found += [one for one in repository.lost if one not in found]
        found += [*self.validation.findings, *self.policies.findings]
        return [*found, *self._waiver_rules()]

    def _waiver_rules(self) -> Iterator[Finding]:
        from knobctl.checks.waivers import rule_findings

        return rule_findings(self.validation.sound(self.repository.waivers), self._waivable)

    @property
    def _waivable(self) -> Collection[str]:
        from knobctl.checks.waivers import waivable_rules

        own = [document.name for document in self.repository.policies]
        return waivable_rules([*self.policies.ids, *own])

    def waiving(self, today: date) -> Waiving:
        """The waivers, as they stand on a day."""
        from knobctl.checks.waivers import Waiving

        waivable = self._waivable
        waivers = self.validation.sound(self.repository.waivers)
        return Waiving.on(today, [one for one in waivers if str(one.value["rule"]) in waivable])

    def stale(self, waiving: Waiving) -> list[Finding]:
        """What is wrong with the waivers, once every finding has been asked about."""
        from knobctl.checks.waivers import Doubts

        repository = self.repository
        doubts = Doubts(
            rules={one.id for one in self.policies.in_force if one.is_about_change}.union(
                EVIDENCE_RULES
            ),
            tenants=self._broken_tenants,
            known=repository.claimed,
        )
        return list(waiving.findings(repository.judged, doubts, whole=self._is_whole))

    @property
    def _broken_tenants(self) -> list[Document]:
        broken = self.validation.broken
        return [one for one in self.repository.tenants if id(one) in broken] if broken else []

    @property
    def _is_whole(self) -> bool:
        """Whether all of the repository is judged."""
        return not self.repository.others

    def strangers(self) -> list[Finding]:
        """Tenants that waivers and fleets name and that have no document; of a part nobody could say."""
        repository = self.repository
        unread = any(one.rule == "unreadable-file" for one in repository.findings)
        if not self._is_whole or unread or any(one.troubles for one in repository.texts.values()):
            return []
        from knobctl.checks.named_tenants import stranger_findings

        return list(
            stranger_findings(self.repository, self.validation.sound(self.repository.judged))
        )

    def fleet_of(self, tenant: Document) -> Document | None:
        """The fleet under which a tenant is judged, if that is a sound one."""
        fleet = self.repository.fleet_over(tenant, self.fleet)
        return None if fleet is None or id(fleet) in self.validation.broken else fleet

    def weighed(self, findings: Iterable[Finding]) -> list[Finding]:
        """Give findings the severities of the repository; policies have theirs already."""
        severities = self.repository.settings.severities
        return [
            replace(one, severity=severities[one.rule].severity) if one.rule in severities else one
            for one in findings
        ]


def grounds_of(repository: Repository, fleet: Document | None = None) -> Grounds:
    """Validate a repository's documents, and take what they are judged by.

    Args:
        repository: The documents.
        fleet: The fleet of all judged tenants; None for each tenant's own.

    Raises:
        UsageError: If the settings name a default fleet that does not exist.
        InputError: If the settings weigh a rule that does not exist.
    """
    if fleet is None:
        repository.fleet()
    return replace(grounds_of_rules(repository), fleet=fleet)


def grounds_of_rules(repository: Repository) -> Grounds:
    """Validate a repository's documents and take the rules alone: its fleets may not have been read.

    Raises:
        InputError: If the settings weigh a rule that does not exist.
    """
    used = used_documents(repository)
    validation = validated(repository, used)
    return Grounds(
        repository=repository,
        validation=validation,
        validated=frozenset(map(id, [*repository.judged, *used])),
        policies=policies_of(repository, validation),
        fleet=None,
    )


def earlier_grounds(base: Repository, now: Grounds) -> Grounds:
    """Take what an earlier state was judged by; what is the same now is not looked at twice.

    Args:
        base: The documents of that state.
        now: The present state. Where the user names its fleet, the base's of that name holds there, if it has one.
    """
    is_same_schema = base.catalogue is now.repository.catalogue
    known = now.validated if is_same_schema else frozenset()
    moved = list(_moved(base, now.repository))
    used = [*used_documents(base, moved), *moved]
    fresh = [document for document in base.judged if id(document) not in known]
    fresh_used = [document for document in used if id(document) not in known]
    validation = validate_documents(fresh, fresh_used, base.catalogue, reading=base.findings)
    if known:
        validation.broken |= now.validation.broken
        looked_at = {one.source for one in (*base.judged, *used) if id(one) in known}
        validation.findings += [
            finding
            for finding in now.validation.findings
            if finding.primary and finding.primary.file in looked_at
        ]
    is_as_now = is_same_schema and _rules(base) == _rules(now.repository)
    return Grounds(
        repository=base,
        validation=validation,
        validated=frozenset(map(id, [*base.judged, *used])),
        policies=now.policies if is_as_now else policies_of(base, validation, strict=False),
        fleet=_same_named(now.fleet, base),
        is_as_now=is_as_now,
    )


def _moved(base: Repository, now: Repository) -> Iterator[Document]:
    """What the base has elsewhere for tenants that are judged now: their files were renamed."""
    judged = set(map(id, base.judged))
    for tenant in now.tenants:
        document = base.counterpart(tenant, now)
        if document is not None and document is not tenant and id(document) not in judged:
            yield document


def _rules(repository: Repository) -> object:
    """What tells whether two states judge alike."""
    ruling = [id(one) for kind in sorted(_RULING) for one in repository.of_kind(kind)]
    return sorted(ruling), repository.settings.severities, repository.settings.default_fleet


def _same_named(fleet: Document | None, of: Repository) -> Document | None:
    return next((one for one in of.fleets if fleet and one.name == fleet.name), None)


def validated(repository: Repository, used: list[Document]) -> Validation:
    """Validate the judged documents, and those that they use."""
    return validate_documents(
        repository.judged, used, repository.catalogue, reading=repository.findings
    )


def used_documents(repository: Repository, others: Iterable[Document] = ()) -> list[Document]:
    """What the judged tenants, and others, stand on in files that are not judged."""
    layers = {
        id(layer): layer
        for tenant in (*repository.tenants, *others)
        if tenant.layers
        for layer in repository.layers_of(tenant)
    }
    return [
        document
        for document in repository.others
        if document.kind in _RULING or id(document) in layers
    ]


def policies_of(repository: Repository, validation: Validation, *, strict: bool = True) -> Policies:
    """Load the policies in force.

    Args:
        repository: Whose.
        validation: Which of its documents are of no use.
        strict: Whether a severity for a rule that does not exist is refused.
    """
    # CEL comes with it, which a folder of tenants does not need to be validated.
    from knobctl.checks.policies import load_policies, verify_overrides

    severities = repository.settings.severities
    own = validation.sound(repository.policies)
    policies = load_policies(repository.catalogue, own, severities)
    if severities and strict:
        light = [rule for rule, about in RULES.items() if about.severities != {Severity.ERROR}]
        verify_overrides(severities, [*policies.ids, *light])
    return policies
