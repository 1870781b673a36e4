"""The hash chain of audit events: the engine makes it, `history --verify` proves it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from knobctl.canonical import NoCanonicalFormError, canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FIRST_PREVIOUS_HASH: Final = "0" * 64


def event_hash(event: Mapping[str, Any]) -> str:
    """SHA-256, lower-case hex, over the RFC 8785 form of a snake_case event without its `hash`."""
    return hashlib.sha256(
        canonical({key: value for key, value in event.items() if key != "hash"})
    ).hexdigest()


def is_whole(event: Mapping[str, Any]) -> bool:
    """Whether an event's content gives its hash; answers whatever an event holds."""
    try:
        return event_hash(event) == event.get("hash")
    except NoCanonicalFormError:
        return False  # what has no canonical form was never hashed


def broken_links(events: Iterable[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], str]]:
    """Find the events of one tenant, oldest first, that do not continue the chain.

    Returns:
        Each such event with what is wrong, in words. A tail that was cut off is not seen: nothing
        in a chain says how long it was.
    """
    broken: list[tuple[Mapping[str, Any], str]] = []
    previous: object = FIRST_PREVIOUS_HASH
    for event in events:
        if event.get("previous_hash") != previous:
            broken.append((event, "its previous_hash is not the hash of the event before it"))
        elif not is_whole(event):
            broken.append((event, "its content does not give its hash"))
        previous = event.get("hash")
    return broken
