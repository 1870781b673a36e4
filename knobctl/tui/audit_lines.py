"""What the cells of the audit's list say, and which columns there is room for. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.report.ages import ago
from knobctl.tui.audit import EventRow, EventRows, Mine
from knobctl.tui.event_detail import fields_text
from knobctl.tui.widgets.virtual_table import Column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from knobctl.tui.ui import Role

_WIDE: Final = 100
"""From so many columns on fields and reason stand beside each other."""


class EventLines:
    """The events as a table shows them."""

    def __init__(self, *, with_tenant: bool) -> None:
        self._with_tenant = with_tenant
        self.rows = EventRows()
        self.mine = Mine("", {})
        self.now: datetime | None = None
        self.revision = 0

    def take(self, rows: EventRows, mine: Mine, now: datetime) -> None:
        """Show others."""
        self.rows, self.mine, self.now = rows, mine, now
        self.revision += 1

    def columns(self, width: int) -> Sequence[Column]:
        """When, whose, which revision, who, which fields, why; the last two share the rest."""
        wide = width >= _WIDE
        fixed = [
            Column("is", "", 3),
            Column("when", "when", 14 if wide else 12),
            *[Column("tenant", "tenant", 24 if wide else 16)] * self._with_tenant,
            Column("revision", "rev", 5),
            Column("actor", "by", 16 if wide else 10),
        ]
        rest = max(width - 3 - sum(one.width + 1 for one in fixed), 8)
        if not wide:
            return (*fixed, Column("what", "fields, why", rest))
        fields = rest // 2
        return (
            *fixed,
            Column("fields", "fields", fields),
            Column("reason", "why", rest - fields - 1),
        )

    def cell(self, row: int, column: str) -> tuple[str, Role]:
        """What one cell says."""
        one = self.rows[row]
        fields = fields_text(one.paths)
        found: dict[str, tuple[str, Role]] = {
            "is": self._is(one),
            "when": (ago(one.occurred_at, self.now) if self.now else "", "muted"),
            "tenant": (one.tenant, "strong"),
            "revision": (one.revision, ""),
            "actor": (one.actor or "somebody", ""),
            "fields": (fields, "" if one.paths else "muted"),
            "reason": (one.reason, "muted"),
            "what": (f"{fields}: {one.reason}" if one.reason else fields, ""),
        }
        return found[column]

    def _is(self, row: EventRow) -> tuple[str, Role]:
        """Whether it breaks the chain, or is this user's own."""
        if row.is_broken:
            return "x", "error"
        return ("you", "accent") if self.mine.is_mine(row) else ("", "")

    def is_marked(self, row: int) -> bool:
        """Nothing is marked here."""
        del row
        return False
