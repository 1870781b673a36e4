"""Arming: why this session may write, and the ticket where one is demanded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical

from knobctl.tui.arming import Arming
from knobctl.tui.screens.box import Box
from knobctl.tui.ui import Field, Words, line

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from knobctl.changes.limits import Limits


class ArmScreen(Box[Arming]):
    """Asks for the reason and, where the context or the fleet demands one, the ticket."""

    def __init__(self, arming: Arming, limits: Limits, reason: str = "") -> None:
        """Ask.

        Args:
            arming: The state as it is.
            limits: What the context and the fleet demand.
            reason: What was typed by now.
        """
        super().__init__()
        self._arming = arming
        self._limits = limits
        self._reason = reason

    def compose(self) -> ComposeResult:
        """The reason, the ticket, what is wrong with them."""
        demands = [rule.what for rule in self._limits.tickets]
        with Vertical(classes="box"):
            yield Words(line(("Let this session write", "strong")))
            yield Words(line("The reason goes into the audit event of every write."))
            yield Field(self._reason, placeholder="why", id="reason")
            yield Field(placeholder=demands[0] if demands else "a ticket, if any", id="ticket")
            yield Words(
                line(("Enter arms for 15 minutes, each key anew   Tab next   Esc leaves", "muted")),
                id="said",
            )

    def on_input_submitted(self, event: Field.Submitted) -> None:
        """Arm, or say what is missing."""
        reason, ticket = (self.query_one(name, Field) for name in ("#reason", "#ticket"))
        if event.input is reason and self._limits.tickets and not ticket.value:
            ticket.focus()
            return
        with self.telling(self._complain):
            now = self.knobctl.workplace.now()
            self.dismiss(
                self._arming.arm(reason.value, ticket.value.strip() or None, self._limits, now)
            )

    def _complain(self, text: str) -> None:
        self.query_one("#said", Words).update(line((f"x {text}", "error")))
