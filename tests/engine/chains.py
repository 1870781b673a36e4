"""Chains of audit events: sound ones, and what is broken in others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from knobctl.chain import FIRST_PREVIOUS_HASH, Chain, event_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LENGTH: Final = 12


def chain(tenant: str = "acme", length: int = LENGTH) -> list[dict[str, Any]]:
    """A sound chain of one tenant."""
    events: list[dict[str, Any]] = []
    for number in range(length):
        event: dict[str, Any] = {
            "event_id": f"{tenant}-{number}",
            "type": "config.updated",
            "tenant_id": tenant,
            "actor": "anna",
            "reason": "",
            "occurred_at": (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)).isoformat(),
            "revision": f"r{number + 1}",
            "changed_field_paths": ["rrf_k"],
            "before": {"rrf_k": number + 30},
            "after": {"rrf_k": number + 31},
            "previous_hash": events[-1]["hash"] if events else FIRST_PREVIOUS_HASH,
        }
        events.append(event | {"hash": event_hash(event)})
    return events


def broken_links(events: Iterable[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], str]]:
    """Find the events of one tenant, oldest first, that do not continue the chain.

    Returns:
        Each such event with what is wrong, in words. A tail that was cut off is not seen: nothing
        in a chain says how long it was.
    """
    chain = Chain()
    return [(event, words) for event in events if (words := chain.fault(event))]
