"""The hash chain of audit events: the engine makes it, `history --verify` proves it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from knobctl.canonical import NoCanonicalFormError, canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

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


class Chain:
    """The events of one tenant, taken oldest first, one by one."""

    def __init__(self) -> None:
        self._previous: object = FIRST_PREVIOUS_HASH
        self.events = 0

    @property
    def head(self) -> Any:  # noqa: ANN401  whatever an event holds
        """The hash of the last event; None where there is none."""
        return self._previous if self.events else None

    def fault(self, event: Mapping[str, Any]) -> str | None:
        """Take the next event: what is wrong with it, in words; None where it continues the chain."""
        found = None
        if event.get("previous_hash") != self._previous:
            found = "its previous_hash is not the hash of the event before it"
        elif not is_whole(event):
            found = "its content does not give its hash"
        self._previous = event.get("hash")
        self.events += 1
        return found
