"""Judges a repository: validation, then the policies of every tenant, then waivers and the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.checks.grounds import (
    Grounds,
    Moment,
    earlier_grounds,
    grounds_of,
    policies_of,
    validated,
)
from knobctl.checks.report import Report, ordered
from knobctl.checks.standing import marked
from knobctl.documents.model import RULE_KINDS
from knobctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from datetime import date

    from knobctl.checks.asking import Asking
    from knobctl.checks.earlier import Earlier
    from knobctl.checks.evidence_rules import Corpora
    from knobctl.checks.staying import Staying
    from knobctl.checks.tenants import Answers
    from knobctl.checks.waivers import Waiving
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.finding import Finding
    from knobctl.knobs import KnobValue


def validate_repository(repository: Repository) -> Report:
    """Look at the judged documents by their schemas, and at what they claim of one another."""
    used = [document for document in repository.others if document.kind in RULE_KINDS]
    validation = validated(repository, used)
    findings = [*repository.findings, *validation.findings]
    if used or any(document.kind in RULE_KINDS for document in repository.judged):
        policies = policies_of(repository, validation)
        known = frozenset(map(id, [*repository.judged, *used]))
        findings = Grounds(
            repository=repository,
            validation=validation,
            validated=known,
            policies=policies,
            fleet=None,
        ).findings
    return _report("validate", repository, findings)


def check_repository(  # noqa: PLR0913  each is one thing that only the caller knows
    repository: Repository,
    *,
    today: date,
    live: Mapping[str, Mapping[str, KnobValue]] | None = None,
    base: Repository | None = None,
    fleet: Document | None = None,
    arriving: Iterable[Document] | None = None,
    counted: Collection[str] | None = None,
    infos: bool = True,
    asking: Callable[..., Asking] | None = None,
    corpora: Corpora | None = None,
) -> Report:
    """Validate, then ask the policies.

    Args:
        repository: The documents.
        today: The day, for waivers; a waiver's last day counts.
        live: By tenant, the canonical set that the engine holds; None where that is not known.
        base: The same PATHs at an earlier revision, judged as what it was: what it has too is standing
            and fails nothing.
        fleet: The fleet of all judged tenants; None for each tenant's own.
        arriving: The judged tenants in the order in which `live` and `counted` come to know of them; None
            where they know of all.
        counted: Tenants of whom only errors are told, and the rest is counted; where live is known, it
            holds them just as their documents want them.
        asking: What asked policies in earlier runs about the same tenants, where there is a base.
        infos: Whether anybody wants those that are made where somebody looks: until then each keeps all
            that is known of its tenant, some 13 KB.
        corpora: Says how large the corpora of tenants are now; None where no engine is asked.

    Raises:
        UsageError: If the default fleet does not exist, or no policy is in force.
    """
    now = grounds_of(repository, fleet)
    if not now.policies.in_force:
        raise UsageError("0 policies are in force; nothing would be checked")
    moment, waiving = Moment(today, live, corpora), now.waiving(today)
    rest = None if counted is None else _staying(counted, now, waiving, moment)
    if base is None:
        tenants = repository.tenants if arriving is None else arriving
        findings, later = _alone(now, waiving, moment, tenants, rest, infos=infos)
    else:
        then = earlier_grounds(base, now)
        findings, later = _compared(now, then, waiving, moment, asking), []
    report = _report("check", repository, findings)
    report.later = later
    report.staying = rest.counts if rest else {}
    report.policies = len(now.policies.in_force)
    report.waivers = {waiver.name: waiver.expires for waiver in waiving.waivers}
    if live is not None or base is not None:
        report.unsure = _unsure(now)
    report.unjudged = now.unjudged
    return report


def _alone(
    now: Grounds,
    waiving: Waiving,
    moment: Moment,
    tenants: Iterable[Document],
    staying: Staying | None,
    *,
    infos: bool,
) -> tuple[list[Finding], list[Answers]]:
    """Judge documents by themselves, or with what the engine holds."""
    from knobctl.checks.tenants import policy_findings

    findings, later = [*now.findings, *now.strangers()], []
    for answer in policy_findings(now, waiving, moment, tenants, staying):
        findings += answer.findings
        if answer.infos and infos:
            later.append(answer)
    findings += _demanded(now, waiving, moment, None, staying.names if staying else ())
    return now.weighed([*findings, *now.stale(waiving)]), later


def _compared(
    now: Grounds,
    then: Grounds,
    waiving: Waiving,
    moment: Moment,
    asking: Callable[..., Asking] | None,
) -> list[Finding]:
    """Judge documents and what they were, and mark what they had already."""
    from knobctl.checks.earlier import Earlier
    from knobctl.checks.tenants import Comparing

    repository, base = now.repository, then.repository
    had = then.weighed([*then.findings, *then.strangers()])
    has = now.weighed([*now.findings, *now.strangers()])
    findings = marked(has, repository, had, base)
    earlier = Earlier(then, now, moment, asking) if asking else Earlier(then, now, moment)
    comparing = Comparing(earlier, waiving)
    for answer in comparing.answers():
        findings += answer.findings
    findings += now.weighed(_demanded(now, waiving, moment, earlier))
    stale = now.weighed(now.stale(waiving))
    if stale:
        stale = marked(stale, repository, earlier.stale(comparing.same), base)
    return [*findings, *stale]


def _demanded(
    now: Grounds,
    waiving: Waiving,
    moment: Moment,
    earlier: Earlier | None,
    staying: Collection[str] = (),
) -> list[Finding]:
    """What fleets demand of a change, where one is known."""
    if moment.live is None and earlier is None:
        return []
    from knobctl.checks.changing import demanded

    findings: list[Finding] = []
    for changed, found in demanded(now, moment, earlier, staying):
        findings += waiving.waived(found, changed.document, changed.exact)
    return findings


def _staying(names: Collection[str], now: Grounds, waiving: Waiving, moment: Moment) -> Staying:
    from knobctl.checks.staying import Staying

    return Staying(names, now, waiving, moment)


def _unsure(now: Grounds) -> list[str]:
    from knobctl.checks.subjects import faulty_knobs

    if not now.validation.broken and all(
        one.rule != "unknown-layer" for one in now.repository.findings
    ):
        return []
    return [tenant.name for tenant in now.repository.tenants if faulty_knobs(now, tenant)]


def _report(command: str, repository: Repository, findings: list[Finding]) -> Report:
    return Report(
        command=command,
        pressing=ordered(findings),
        files=repository.files,
        tenants=len(repository.tenants),
        skipped=repository.skipped,
        unread=repository.unread,
        texts=repository.texts,
        names=repository.names,
        below=repository.below,
        judged=repository.tenants,
        own_policies=repository.policies,
        knobs=repository.catalogue.by_name,
    )
