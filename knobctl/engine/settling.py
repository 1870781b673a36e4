"""Finds out what became of a write whose answer is lost or says nothing: by reading back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.engine.interface import Receipt
from knobctl.errors import EngineError, UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import KnobValue

PAUSES_S: Final = (0.0, 0.2, 0.5, 1.0)
"""Before each look: a write that is still under way gets a moment to arrive."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A write as it was sent, and what it was made against."""

    tenant: str
    knobs: Mapping[str, KnobValue]
    expected_revision: str | None
    expected_knobs: Mapping[str, KnobValue] | None

    def has_moved(self, live: LiveSet) -> bool:
        """Whether the live set is another one than this write was made against."""
        if self.expected_revision is not None:
            return live.revision != self.expected_revision
        return live.knobs != self.expected_knobs


def settle(
    read: Callable[[str], LiveSet],
    sent: Sent,
    *,
    because: EngineError,
    is_final: bool,
    pause: Callable[[float], None] = time.sleep,
) -> Receipt:
    """Read back until the write shows, for a bounded time.

    Args:
        read: Reads a tenant's live set.
        sent: The write.
        because: Why its outcome is not known.
        is_final: Whether the engine itself ended the call, so that nothing of it is under way.
        pause: Waits that many seconds.

    Returns:
        The receipt, if what was sent is live.

    Raises:
        EngineError: `because`, if the engine ended the call and the set did not move.
        UnknownOutcomeError: If the set cannot be read, is neither the old nor the new one, or
            has not moved though the write may still be under way.
    """
    seen = ""
    for pause_s in PAUSES_S[:1] if is_final else PAUSES_S:
        pause(pause_s)
        try:
            live = read(sent.tenant)
        except EngineError:
            seen = "it cannot be read back"
            continue
        if live.knobs == sent.knobs and (sent.expected_revision is None or sent.has_moved(live)):
            return Receipt(knobs=live.knobs, revision=live.revision, changed_field_paths=None)
        if sent.has_moved(live):
            raise UnknownOutcomeError(
                f"{sent.tenant}: {because.message}; it reads back as neither the old set nor the one sent",
                hint=f"look at it: knobctl get {sent.tenant}; knobctl history {sent.tenant}",
            ) from because
        if is_final:
            raise because
        seen = "so far the old set is still in force"
    raise UnknownOutcomeError(
        f"{sent.tenant}: the set was sent, then: {because.message}; {seen}",
        hint=f"look again in a minute: knobctl get {sent.tenant}",
    ) from because
