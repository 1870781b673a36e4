"""Principals by their tokens: read from the store, and remembered for some seconds."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from knobctl.server.auth import secret_fits, token_halves
from knobctl.server.refusal import Code, ServiceError
from knobctl.server.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from knobctl.server.auth import Caller, Principal
    from knobctl.server.store.interface import Store

log: Final = logging.getLogger(__name__)

REMEMBERED_S: Final = 5.0
"""How long a principal is believed without asking the store: a row that is taken away is refused by then."""
MOST_REMEMBERED: Final = 10_000


class Principals:
    """Who stands behind a token. Safe to use from several threads."""

    def __init__(self, store: Store, *, monotonic: Callable[[], float]) -> None:
        self._store = store
        self._monotonic = monotonic
        self._seen: dict[str, tuple[Principal, float]] = {}
        """Public half of the token to its principal and the time of reading it."""

    def remembered(self, token: str | None) -> Caller | None:
        """Give the caller of a token that was read a moment ago, without asking the store; else None."""
        halves = token_halves(token or "")
        known = self._seen.get(halves[0]) if halves else None
        if known is None or halves is None or self._monotonic() - known[1] > REMEMBERED_S:
            return None
        return known[0].caller if secret_fits(halves[1], known[0]) else None

    def caller(self, token: str | None) -> Caller:
        """Give the caller that a token stands for. Where the store cannot be asked, what was read last holds.

        Raises:
            ServiceError: `unauthenticated`, in the same words whatever is wrong with the token;
                `unavailable` where nobody can tell.
        """
        halves = token_halves(token or "")
        principal = self._read(halves[0]) if halves else None
        if principal is None or halves is None or not secret_fits(halves[1], principal):
            raise ServiceError(
                Code.UNAUTHENTICATED,
                "the call needs a token that this engine knows: Authorization: Bearer TOKEN",
            )
        return principal.caller

    def _read(self, token_id: str) -> Principal | None:
        now = self._monotonic()
        try:
            with self._store.reading() as session:
                principal = session.principal(token_id)
        except StoreUnavailableError as error:
            log.critical("the store cannot be asked for a principal: %s", error)
            if token_id in self._seen:
                return self._seen[token_id][0]
            raise ServiceError(
                Code.UNAVAILABLE, "the store cannot be asked; nothing was written"
            ) from error
        if principal is None:
            self._seen.pop(token_id, None)
            return None
        if len(self._seen) >= MOST_REMEMBERED:
            self._seen.clear()
        self._seen[token_id] = principal, now
        return principal
