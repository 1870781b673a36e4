"""The audit event of a write, waited for and compared with what was planned."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from knobctl.changes.read_back import READ_BACK_PAUSES_S
from knobctl.engine.interface import NotOfferedError
from knobctl.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.plan import TenantPlan
    from knobctl.engine.interface import Engine


class Agreement(StrEnum):
    """What the audit log says of a write."""

    SAME = "same"
    """It lists the fields that were planned."""
    OTHER = "other"
    """It lists others."""
    ABSENT = "absent"
    """It has no event of this write, or could not be asked."""
    NOT_KEPT = "not_kept"
    """The engine keeps no events, or none that say which write they are of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What the audit log says of one write."""

    agreement: Agreement
    expected: tuple[str, ...]
    """The field paths that were planned."""
    event: Mapping[str, Any] | None = None
    why: str | None = None
    """Why there is no event, where it is known."""

    @property
    def listed(self) -> tuple[str, ...]:
        """The field paths that the event lists."""
        return tuple(sorted(self.event["changed_field_paths"])) if self.event else ()

    @property
    def is_error(self) -> bool:
        """Whether the log contradicts the write, or has nothing of it."""
        return self.agreement in {Agreement.OTHER, Agreement.ABSENT}


def event_of(
    tenant: TenantPlan,
    outcome: TenantOutcome,
    engine: Engine,
    *,
    since: str | None,
    pause: Callable[[float], object],
) -> Witness:
    """Wait for the audit event of a write, for a bounded time, and compare it with the plan.

    Args:
        tenant: What was planned.
        outcome: What became of it: the revision that was written.
        engine: Whose log it is.
        since: When the set before it was written; only asked for first, since clocks are set back.
        pause: Waits for some seconds.
    """
    expected = tuple(sorted(tenant.changed_field_paths))
    if outcome.revision is None:
        return Witness(
            agreement=Agreement.NOT_KEPT,
            expected=expected,
            why="the engine has no revisions, so that no event can be told from another",
        )
    why: str | None = None
    for number, pause_s in enumerate((0.0, *READ_BACK_PAUSES_S)):
        if pause_s:
            pause(pause_s)
        try:
            events = engine.audit_events(tenant.tenant, since=None if number else since)
            event = next((one for one in events if one["revision"] == outcome.revision), None)
        except NotOfferedError as error:
            return Witness(agreement=Agreement.NOT_KEPT, expected=expected, why=error.message)
        except EngineError as error:
            why = error.message
            continue
        if event is not None:
            same = tuple(sorted(event["changed_field_paths"])) == expected
            return Witness(
                agreement=Agreement.SAME if same else Agreement.OTHER,
                expected=expected,
                event=event,
            )
    return Witness(agreement=Agreement.ABSENT, expected=expected, why=why)
