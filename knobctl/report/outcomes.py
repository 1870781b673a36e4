"""What became of a push, for people and machines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from knobctl.changes.outcomes import Outcome, TenantOutcome, tally
from knobctl.report.ages import ago
from knobctl.report.changes import change_lines
from knobctl.report.folding import MOST_SHOWN, alike, listed
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from knobctl.changes.plan import Plan

MOST_NAMED: Final = 100
"""A command line for more tenants is nothing that a person copies."""
_COLOURS = {
    Outcome.APPLIED: "green",
    Outcome.CONFLICT: "red",
    Outcome.FAILED: "red",
    Outcome.UNKNOWN: "red",
    Outcome.ROLLED_BACK: "yellow",
    Outcome.SKIPPED: "yellow",
}


def outcome_text(  # noqa: PLR0913  all that the last lines say
    outcomes: Sequence[TenantOutcome],
    *,
    elapsed_s: float | None,
    now: datetime,
    colored: bool = False,
    place: str = "",
    run: str | None = None,
    unchanged: int = 0,
    everything: bool = False,
) -> str:
    """Write what became of each tenant that was to change, what that makes in all, and how to undo it.

    Args:
        outcomes: By tenant.
        elapsed_s: How long the writes took.
        now: For ages.
        colored: Whether colour may be used.
        place: Options that lead another command to the same engine, to be appended.
        run: The run in whose journal it stands.
        unchanged: Tenants that need no change and are not listed.
        everything: Whether to show every tenant, however many there are.
    """
    lines = outcome_lines(outcomes, now=now, colored=colored, everything=everything)
    lines.append(_summary(outcomes, tally(outcomes, unchanged=unchanged), elapsed_s, run))
    if undo := _undo(outcomes, run):
        lines.append(f"undo: {undo}{visible(place)}")
    return "\n".join(lines)


def _undo(outcomes: Sequence[TenantOutcome], run: str | None) -> str | None:
    """The command that takes back what was written; None where nothing was."""
    written = [one for one in outcomes if one.outcome is Outcome.APPLIED]
    if not written:
        return None
    # Without revisions there are no audit events: then the journal alone knows what was there before.
    if run and (len(written) > MOST_NAMED or any(one.revision is None for one in written)):
        return f"knobctl rollback --run {run}"
    return naming("knobctl rollback", [one.tenant for one in written])


def outcome_lines(
    outcomes: Sequence[TenantOutcome], *, now: datetime, colored: bool, everything: bool
) -> list[str]:
    """Write what became of each tenant that was to change; of many, once for those of whom the same is told."""
    told = [one for one in outcomes if one.outcome is not Outcome.UNCHANGED]
    if len(told) > MOST_SHOWN and not everything:
        return list(_many_lines(told, now, colored))
    width = max((len(one.tenant) for one in told), default=0)
    word = max((len(one.outcome.value) for one in told), default=0)
    return [line for one in told for line in _lines(one, word, width, now, colored)]


def _many_lines(told: Sequence[TenantOutcome], now: datetime, colored: bool) -> Iterator[str]:
    """Tell of many tenants, first of those that are not what they were to become."""
    groups = alike(told, key=lambda one: replace(one, tenant="", revision=None))
    groups.sort(key=lambda group: group[0].outcome is Outcome.APPLIED)
    word = max(len(one.outcome.value) for one in told)
    for group in groups[:MOST_SHOWN]:
        names = listed([one.tenant for one in group])
        revision = group[0].revision if len(group) == 1 else None
        yield from _lines(replace(group[0], tenant=names, revision=revision), word, 0, now, colored)
    if left := sum(map(len, groups[MOST_SHOWN:])):
        yield f"and {count(left, 'more tenant')}; -v shows each"


def naming(command: str, tenants: Sequence[str]) -> str:
    """A command with the tenants that it is for."""
    if len(tenants) <= MOST_NAMED:
        return f"{command} {' '.join(tenants)}"
    return f"{command} TENANT..., with the {len(tenants):,} tenants that -v names above"


def _lines(one: TenantOutcome, word: int, width: int, now: datetime, colored: bool) -> list[str]:
    outcome = f"{one.outcome.value:{word}}"
    if colored:
        outcome = click.style(outcome, fg=_COLOURS[one.outcome])
    parts = [outcome, f"{one.tenant:{width}}"]
    if one.outcome in {Outcome.APPLIED, Outcome.ROLLED_BACK}:
        parts += [visible(one.revision)] if one.revision else []
        parts.append(", ".join(map(visible, one.changed_field_paths)))
    if one.message:
        parts.append(visible(one.message))
    lines = ["  ".join(parts).rstrip()]
    if one.theirs:
        who = visible(one.by) if one.by else "somebody else"
        when = f", {ago(one.at, now)}" if one.at else ""
        lines.append(f"  changed by {who}{when}:")
        lines += [f"  {line}" for line in change_lines(one.theirs)]
    return lines


def _summary(
    outcomes: Sequence[TenantOutcome],
    counts: Mapping[str, int],
    elapsed_s: float | None,
    run: str | None,
) -> str:
    order = [
        Outcome.APPLIED,
        Outcome.UNCHANGED,
        Outcome.CONFLICT,
        Outcome.FAILED,
        Outcome.UNKNOWN,
        Outcome.ROLLED_BACK,
        Outcome.SKIPPED,
    ]
    words = [
        f"{counts[outcome.value]:,} {outcome.value}" for outcome in order if outcome.value in counts
    ]
    written = counts.get(Outcome.APPLIED.value, 0)
    if written:
        words.append("read back equal")
        events = sum(
            one.outcome is Outcome.APPLIED and one.revision is not None for one in outcomes
        )
        words += [count(events, "audit event")] if events else []
    how = [f"run {run}"] if run else []
    how += [f"{elapsed_s:.1f} s"] if elapsed_s is not None else []
    took = f" ({', '.join(how)})" if how else ""
    return f"{', '.join(words) or 'no tenants'}{took}"


def outcomes_json(outcomes: Sequence[TenantOutcome], plan: Plan) -> dict[str, Any]:
    """The part of machine-readable output that says what became of each tenant.

    Args:
        outcomes: By tenant.
        plan: Knows the tenants that need no change.
    """
    counts = tally(outcomes, unchanged=plan.unchanged)
    unchanged = [
        TenantOutcome(tenant=tenant, outcome=Outcome.UNCHANGED, revision=revision)
        for tenant, revision in plan.staying.items()
    ]
    told = sorted((*outcomes, *unchanged), key=lambda one: one.tenant)
    return {"outcomes": counts, "tenants": [one.as_json() for one in told]}
