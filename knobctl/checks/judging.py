"""Judges a repository: validation, then the policies of every tenant, then waivers and the base."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from knobctl.checks.report import Report, ordered
from knobctl.checks.rules import RULES
from knobctl.checks.standing import marked
from knobctl.checks.validation import Validation, validate_documents
from knobctl.documents.model import Kind
from knobctl.errors import UsageError
from knobctl.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from datetime import date

    from knobctl.checks.policies import Policies
    from knobctl.checks.tenants import Answers
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.finding import Finding
    from knobctl.knobs import KnobValue


def validate_repository(repository: Repository) -> Report:
    """Look at the judged documents by their schemas, and at what they claim of one another."""
    rules = {Kind.POLICY, Kind.WAIVER}
    used = [document for document in repository.others if document.kind in rules]
    validation = _validated(repository, used)
    findings = [*repository.findings, *validation.findings]
    if used or any(document.kind in rules for document in repository.judged):
        policies = _policies(repository, validation)
        findings += policies.findings
        findings += _waiver_rules(repository, validation, policies)
    return _report("validate", repository, findings)


def check_repository(
    repository: Repository,
    *,
    today: date,
    live: Mapping[str, Mapping[str, KnobValue]] | None = None,
    base: Repository | None = None,
    fleet: str | None = None,
) -> Report:
    """Validate, then ask the policies.

    Args:
        repository: The documents.
        today: The day, for waivers; a waiver's last day counts.
        live: By tenant, the canonical set that the engine holds; None where that is not known.
        base: The same PATHs at an earlier revision: what it has too is standing and fails nothing.
        fleet: The fleet of all judged tenants, by name; None for each tenant's own.

    Raises:
        UsageError: If there is no such fleet, or no policy is in force.
    """
    from knobctl.checks.tenants import policy_findings
    from knobctl.checks.waivers import Waiving

    validation = _validated(repository, _used(repository))
    policies = _policies(repository, validation)
    if not policies.in_force:
        raise UsageError("0 policies are in force; nothing would be checked")
    findings = [*repository.findings, *validation.findings, *policies.findings]
    findings += _waiver_rules(repository, validation, policies)
    if base is not None:
        findings = _marked(findings, repository, base)
    waivable = _waivable(repository, policies)
    waivers = validation.sound(repository.waivers)
    waiving = Waiving.on(today, [one for one in waivers if str(one.value["rule"]) in waivable])
    applying = repository.fleet(fleet)
    fleet_of = _sound_fleet(repository, validation, applying if fleet else None)
    answers = policy_findings(
        repository,
        validation,
        policies.in_force,
        live=live,
        base=base,
        fleet_of=fleet_of,
        today=today,
        loud=waiving.rules,
    )
    later: list[Answers] = []
    for answer in answers:
        subject = answer.subject
        findings += waiving.waived(answer.findings, subject.document, subject.exact)
        if answer.infos:
            later.append(answer)
    if live is not None or base is not None:
        from knobctl.checks.changing import demanded

        for changed, found in demanded(repository, validation, fleet_of, live, base, today):
            findings += waiving.waived(found, changed.document, changed.exact)
    broken = [one for one in repository.tenants if id(one) in validation.broken]
    stale = waiving.findings(repository.judged, whole=not repository.others, broken=broken)
    findings += _stale_before(list(stale), repository, base, today) if base else stale
    report = _report("check", repository, findings)
    report.later = later
    report.policies = len(policies.in_force)
    report.waivers = {waiver.name: waiver.expires for waiver in waiving.waivers}
    return report


def _sound_fleet(
    repository: Repository, validation: Validation, named: Document | None
) -> Callable[[Document], Document | None]:
    def fleet_of(tenant: Document) -> Document | None:
        fleet = repository.fleet_over(tenant, named)
        return None if fleet is None or id(fleet) in validation.broken else fleet

    return fleet_of


def _validated(repository: Repository, used: list[Document]) -> Validation:
    return validate_documents(
        repository.judged, used, repository.catalogue, reading=repository.findings
    )


def _used(repository: Repository) -> list[Document]:
    """What the judged tenants stand on in files that are not judged."""
    layers = {
        id(layer): layer
        for tenant in repository.tenants
        if tenant.layers
        for layer in repository.layers_of(tenant)
    }
    return [
        document
        for document in repository.others
        if document.kind in {Kind.POLICY, Kind.WAIVER, Kind.FLEET} or id(document) in layers
    ]


def _policies(repository: Repository, validation: Validation) -> Policies:
    # CEL comes with it, which a folder of tenants does not need to be validated.
    from knobctl.checks.policies import load_policies, verify_overrides

    severities = repository.settings.severities
    own = validation.sound(repository.policies)
    policies = load_policies(repository.catalogue, own, severities)
    if severities:
        light = [rule for rule, about in RULES.items() if about.severities != {Severity.ERROR}]
        verify_overrides(severities, [*policies.ids, *light])
    return policies


def _waiver_rules(
    repository: Repository, validation: Validation, policies: Policies
) -> Iterator[Finding]:
    from knobctl.checks.waivers import rule_findings

    waivers = validation.sound(repository.waivers)
    return rule_findings(waivers, _waivable(repository, policies))


def _waivable(repository: Repository, policies: Policies) -> Collection[str]:
    from knobctl.checks.waivers import waivable_rules

    return waivable_rules([*policies.ids, *(document.name for document in repository.policies)])


def _stale_before(
    findings: list[Finding], of: Repository, base: Repository, today: date
) -> Iterable[Finding]:
    """Mark what is wrong with waivers that was wrong before; the base is asked only where something is."""
    if not findings:
        return ()
    try:
        then = check_repository(base, today=today)
    except UsageError:  # no policy, or no such fleet, was in force there
        return findings
    return marked(findings, of, then.pressing, base)


def _marked(findings: Iterable[Finding], of: Repository, base: Repository) -> list[Finding]:
    validation = _validated(base, _used(base))
    policies = _policies(base, validation)
    then = [*base.findings, *validation.findings, *policies.findings]
    return list(marked(findings, of, [*then, *_waiver_rules(base, validation, policies)], base))


def _report(command: str, repository: Repository, findings: Iterable[Finding]) -> Report:
    severities = repository.settings.severities
    return Report(
        command=command,
        pressing=ordered(
            replace(finding, severity=severities[finding.rule].severity)
            if finding.rule in severities
            else finding
            for finding in findings
        )
        if severities
        else ordered(findings),
        files=repository.files,
        tenants=len(repository.tenants),
        skipped=repository.skipped,
        unread=repository.unread,
        texts=repository.texts,
        names=repository.names,
        below=repository.below,
        judged=[(tenant.name, tenant.source) for tenant in repository.tenants],
        own_policies=repository.policies,
        knobs=repository.catalogue.by_name,
    )
