"""What a push of changes would be asked: the guards of `apply`, seen from a review. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knobctl.changes.guards import judge
from knobctl.changes.limits import limits_of
from knobctl.changes.plan import TenantPlan, unknown_fields
from knobctl.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from knobctl.changes.comparing import TenantDiff
    from knobctl.changes.guards import Refusal
    from knobctl.checks.report import Report
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What the guards of one fleet will ask."""

    fleet: str
    refusals: tuple[Refusal, ...]


def foresee(
    repository: Repository,
    changes: Iterable[TenantDiff],
    report: Report,
    *,
    named: Document | None,
    now: datetime,
) -> list[Foreseen]:
    """Ask the guards of every fleet about the changes of its tenants.

    Args:
        repository: The documents.
        changes: Of the judged tenants, each once a document.
        report: What a check says of them: nothing follows from a fleet in a file with errors.
        named: The fleet that the user names; None for each tenant's own.
        now: The time, for freezes.

    Returns:
        By fleet, those that would ask anything; a push without consent is not among it.
    """
    faulty = {
        one.primary.file
        for one in report.pressing
        if one.severity is Severity.ERROR and one.primary
    }
    fleets = {fleet.name: fleet for fleet in repository.fleets if fleet.source not in faulty}
    by_fleet: dict[str, list[TenantPlan]] = {}
    for change in changes:
        document = change.effective.document if change.effective else None
        fleet = repository.fleet_over(document, named) if document else None
        if fleet and fleet.name in fleets:
            by_fleet.setdefault(fleet.name, []).append(_planned(change))
    found = [
        Foreseen(name, _refusals(repository, fleets[name], planned, now))
        for name, planned in by_fleet.items()
    ]
    return [one for one in found if one.refusals]


def _refusals(
    repository: Repository, fleet: Document, planned: Sequence[TenantPlan], now: datetime
) -> tuple[Refusal, ...]:
    verdict = judge(
        planned, limits_of(fleet), managed=len(repository.managed_by(fleet)), now=now, reason=None
    )
    return verdict.refusals


def _planned(change: TenantDiff) -> TenantPlan:
    live, effective = change.live, change.effective
    return TenantPlan(
        tenant=change.tenant,
        source=change.after,
        base_revision=live.revision if live else None,
        existing=live.knobs if live else {},
        desired=effective.desired if effective else {},
        changes=change.changes,
        unknown=unknown_fields(live) if live else {},
    )
