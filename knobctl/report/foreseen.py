"""What a push of the changes will be asked, for people and machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.changes.foresight import Foreseen
    from knobctl.changes.guards import Refusal


_FEW: Final = 5
"""So many refusals of one guard are told; a fleet may protect thousands of tenants."""


def guards_text(guards: Sequence[Foreseen]) -> str:
    """What a push of these changes will be asked; empty where nothing."""
    lines = []
    for one in guards:
        first, more = _first(one)
        told = [f"--allow {refusal.allowance}" for refusal in first if refusal.allowance]
        told += ["--reason TEXT"] * any(refusal.guard == "reason" for refusal in first)
        told += ["--ticket ID"] * any(refusal.guard == "ticket" for refusal in first)
        told += [f"and {more:,} more"] * bool(more)
        lines.append(f"apply --fleet {one.fleet} will ask: {' '.join(told) or 'for another way'}")
        lines += [f"  {message}" for message in guard_messages(one)]
    return "\n".join(lines)


def guard_messages(one: Foreseen) -> list[str]:
    """Why one fleet will ask, a line each; of many of one kind the first few."""
    first, more = _first(one)
    rest = [f"and {more:,} more of the kind; --format json has all"] if more else []
    return [*(refusal.message for refusal in first), *rest]


def _first(one: Foreseen) -> tuple[list[Refusal], int]:
    seen: dict[str, int] = {}
    first = []
    for refusal in one.refusals:
        seen[refusal.guard] = seen.get(refusal.guard, 0) + 1
        if seen[refusal.guard] <= _FEW:
            first.append(refusal)
    return first, len(one.refusals) - len(first)


def guards_json(guards: Sequence[Foreseen]) -> list[dict[str, Any]]:
    """The same for machines."""
    # A plain check knows of no change, and must not pay for what plans are written with.
    from knobctl.report.plan import refusal_json

    return [
        {"fleet": one.fleet, **refusal} for one in guards for refusal in refusal_json(one.refusals)
    ]
