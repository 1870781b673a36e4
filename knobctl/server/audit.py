"""Audit events: one for each change of a set, chained per tenant."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from knobctl.chain import FIRST_PREVIOUS_HASH, event_hash
from knobctl.server.stored import Stored, revision_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from knobctl.knobs import KnobValue


def updated_event(  # noqa: PLR0913  one argument for each fact of an event
    before: Stored,
    after: Mapping[str, KnobValue],
    *,
    revision: int,
    actor: str,
    reason: str,
    previous_hash: str | None,
    now: datetime,
    entropy: Callable[[int], bytes],
) -> dict[str, Any]:
    """Write the `config.updated` event of a full replace.

    Args:
        before: The set that was in force.
        after: The canonical set that now is.
        revision: The number that the new set gets.
        actor: Whoever changed it.
        reason: Why, in the caller's words.
        previous_hash: The hash of the tenant's event before this one; None for the first.
        now: The time of the change.
        entropy: Gives that many random bytes.
    """
    event: dict[str, Any] = {
        "event_id": str(uuid7(now, entropy)),
        "type": "config.updated",
        "tenant_id": before.tenant,
        "actor": actor,
        "reason": reason,
        "occurred_at": rfc3339(now),
        "revision": revision_text(revision),
        "changed_field_paths": changed_field_paths(before.knobs, after),
        "before": dict(before.knobs),
        "after": dict(after),
        "previous_hash": previous_hash or FIRST_PREVIOUS_HASH,
    }
    return event | {"hash": event_hash(event)}


def changed_field_paths(
    before: Mapping[str, KnobValue], after: Mapping[str, KnobValue]
) -> list[str]:
    """Name the knobs whose values differ between two canonical sets, sorted."""
    return sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )


def rfc3339(moment: datetime) -> str:
    """Write a time in UTC, always with microseconds, so that texts sort like times.

    Raises:
        ValueError: If the time knows no zone.
    """
    from datetime import UTC

    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def uuid7(now: datetime, entropy: Callable[[int], bytes]) -> uuid.UUID:
    """Make a UUID of version 7 (RFC 9562): milliseconds since 1970, then 74 random bits.

    Python has one from 3.14 on.
    """
    milliseconds = int(now.timestamp() * 1000) & (1 << 48) - 1
    random = int.from_bytes(entropy(10), "big")
    high, low = random >> 68, random & (1 << 62) - 1
    return uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low)
