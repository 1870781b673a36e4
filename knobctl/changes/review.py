"""What a review of documents says: the findings and, where what was before is known, what changes in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knobctl.checks.judging import check_repository

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime

    from knobctl.changes.comparing import TenantDiff
    from knobctl.changes.corpora import Corpora
    from knobctl.changes.foresight import Foreseen
    from knobctl.changes.rules_changed import RuleChange
    from knobctl.checks.report import Report
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import LiveSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What there is to say of a repository."""

    report: Report
    changes: Sequence[TenantDiff] | None = None
    """The tenants of which something changes in force; None where what was before is not known."""
    removed: Sequence[str] = ()
    """Tenants that had a document at the base and have none now."""
    rules_changed: Sequence[RuleChange] | None = None
    """What judges otherwise than at the base; None where there is none."""
    guards: Sequence[Foreseen] = ()
    """What a push would be asked, by fleet: of what the engine holds where that is known, else of these changes."""


def review(  # noqa: PLR0913  each is one thing that only the caller knows
    repository: Repository,
    *,
    base: Repository | None = None,
    live: Mapping[str, LiveSet] | None = None,
    fleet: Document | None,
    today: date,
    now: datetime,
    corpora: Corpora | None = None,
) -> Review:
    """Check a repository, and compare it with the base or, where there is none, with what the engine holds.

    Args:
        repository: The documents.
        base: The same PATHs at an earlier revision.
        live: By tenant, what the engine holds.
        fleet: The fleet of all judged tenants; None for each tenant's own.
        today: The day, for waivers.
        now: The time, for freezes.
        corpora: Says how large the corpora of tenants are now; None where no engine is asked.

    Raises:
        UsageError: As `check_repository`.
    """
    report = check_repository(
        repository,
        today=today,
        live=None if live is None else {name: one.knobs for name, one in live.items()},
        base=base,
        fleet=fleet,
        corpora=corpora,
    )
    if base is None and live is None:
        return Review(report=report)
    # A plain check loads nothing of what compares and pushes.
    from knobctl.changes.comparing import diff_base, diff_live, removed_tenants
    from knobctl.changes.foresight import foresee
    from knobctl.checks.selecting import Selection

    pushed = None if live is None else diff_live(repository, live, unsure=report.unsure)
    removed: Sequence[str] = ()
    ruling: Sequence[RuleChange] | None = None
    diffs = pushed or []
    if base is not None:
        from knobctl.changes.rules_changed import rules_changed

        ruling = rules_changed(repository, base)
        diffs = diff_base(repository, base, unsure=report.unsure)
        removed = removed_tenants(repository, base, fleet, Selection())
    changes = [diff for diff in diffs if diff.changes]
    # Where the engine is known, a push is asked of what it changes there, whatever the branch changes.
    asked = changes if pushed is None else [diff for diff in pushed if diff.changes]
    guards = foresee(repository, asked, report, named=fleet, now=now)
    return Review(
        report=report, changes=changes, removed=removed, rules_changed=ruling, guards=guards
    )
