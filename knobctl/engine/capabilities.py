"""What an engine offers beyond the two given methods, found out once, and what follows where it does not."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from knobctl.errors import RefusedError
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from knobctl.engine.tokens import Tokens


class Capabilities:
    """Knows whether one engine has our extensions. Safe to ask from several threads."""

    def __init__(
        self,
        name: str,
        offers_list: Callable[[str], bool],
        tokens: Tokens,
        notice: Callable[[str], None],
    ) -> None:
        self._name = name
        self._offers_list = offers_list
        self._tokens = tokens
        self._notice = notice
        self._lock = threading.Lock()
        self.revisions: bool | None = None
        """Whether the engine has revisions; None while nothing told."""

    def revisions_seen(self) -> None:
        """Take note that an answer carried a revision."""
        self.revisions = True

    def has_revisions(self, tenant: str) -> bool:
        """Find out, at most once, whether the engine has revisions.

        A set that was never written may come without one, as proto3 leaves empty text out. So an
        answer without a revision is no proof, and the engine is asked for another of our methods.
        """
        with self._lock:
            if self.revisions is None:
                self.revisions = self._offers_list(tenant)
                if not self.revisions:
                    self._notice(
                        f"{self._name} offers the two given methods only: no revisions, no audit events,"
                        " and the token alone decides whose set is read and written. knobctl compares"
                        " the set right before and right after a write; a change by somebody else in"
                        " between can still be lost"
                    )
            return self.revisions

    def assert_addresses(self, tenants: Collection[str]) -> None:
        """Refuse several tenants behind one token where the token alone decides whose set it is.

        Raises:
            RefusedError: Naming two tenants whose sets would be one and the same.
        """
        names = set(tenants)
        if len(names) < 2 or self.has_revisions(min(names)):
            return
        holders: dict[str | None, str] = {}
        for name in sorted(names):
            other = holders.setdefault(self._tokens.token(name), name)
            if other != name:
                raise RefusedError(
                    f"{self._name} takes the tenant from the token alone, and {other} and {name} would use"
                    f" the same token: all {count(len(names), 'tenant')} would be one and the same set",
                    hint="give each tenant its token: token_command with {tenant} in a context",
                )
