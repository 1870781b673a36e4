"""Read-only until armed: who may write from the terminal UI, why, and for how long. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Self

from knobctl.changes.audit_reasons import read_reason, read_ticket
from knobctl.changes.guards import unsaid
from knobctl.errors import RefusedError

if TYPE_CHECKING:
    from knobctl.changes.limits import Limits

IDLE: Final = timedelta(minutes=15)
"""So long after the last key the session is read-only again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arming:
    """Whether this session may write. Changes give a new value."""

    forced: str | None = None
    """What keeps it read-only whatever is typed: `--read-only`; None where nothing does."""
    reason: str = ""
    """Why it was armed: the audit reason of every write."""
    ticket: str | None = None
    touched: datetime | None = None
    """When a key was pressed last while it was armed; None while it is read-only."""

    def left(self, now: datetime) -> timedelta | None:
        """The time until it is read-only again; None where it is. A clock that was set back ends it too."""
        idle = now - self.touched if self.touched else IDLE
        return IDLE - idle if timedelta(0) <= idle < IDLE else None

    def badge(self, now: datetime) -> str:
        """The word for the header: `RO` or `ARMED 14:32`."""
        left = self.left(now)
        if left is None:
            return "RO"
        minutes, seconds = divmod(int(left.total_seconds()), 60)
        return f"ARMED {minutes:02}:{seconds:02}"

    def arm(self, reason: str, ticket: str | None, limits: Limits, now: datetime) -> Self:
        """Let the session write.

        Args:
            reason: Why, for the audit event of every write.
            ticket: The ticket, where one is demanded or worth naming.
            limits: What the context and the fleet demand.
            now: The time.

        Raises:
            RefusedError: If it may never write, or what must be said is not.
            UsageError: If the reason or the ticket is none.
        """
        if self.forced:
            raise RefusedError(
                f"this session is read-only: {self.forced}",
                hint="start it without that to write",
            )
        reason = read_reason(" ".join(reason.split()))
        ticket = read_ticket(ticket) if ticket else None
        if not reason:
            raise RefusedError(
                "arming needs a reason: it becomes the audit reason of every write",
                hint="type :arm and why you write",
            )
        missing = next(unsaid(limits, reason, ticket), None)
        if missing:
            raise RefusedError(missing.message, hint=f":arm REASON [TICKET-ID], {missing.remedy}")
        return replace(self, reason=reason, ticket=ticket, touched=now)

    def touch(self, now: datetime) -> Self:
        """Note that somebody is there; what has ended by now stays ended."""
        return self.disarm() if self.left(now) is None else replace(self, touched=now)

    def disarm(self) -> Self:
        """Make it read-only."""
        return self if self.touched is None else replace(self, reason="", ticket=None, touched=None)

    def refusal(self, now: datetime) -> str | None:
        """Why a write is refused now, and what would allow it; None where it is not."""
        if self.left(now) is not None:
            return None
        if self.forced:
            return f"read-only: {self.forced}"
        return "read-only: type :arm to write"
