"""A box over a place: Esc closes it, and Ctrl-C explains how to leave here too."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from knobctl.tui.working import Working

if TYPE_CHECKING:
    from knobctl.tui.app import KnobctlApp

T = TypeVar("T")


class Box(ModalScreen[T], Working):
    """A box that answers with a value, or with None where it was left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave", show=False),
        Binding("ctrl+c", "app.help_quit", "how to leave", show=False),
    ]

    @property
    def knobctl(self) -> KnobctlApp:
        """The application."""
        return cast("KnobctlApp", self.app)

    @property
    def stands(self) -> bool:
        """Whether its parts are there: a box that is left at once is mounted without them."""
        return self.is_here and bool(self.children)

    async def on_event(self, event: events.Event) -> None:
        """Take what comes, but no box is set up that does not stand."""
        if self.stands or not isinstance(event, events.Mount):
            await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let it be left at any time, and used while it stands."""
        return (self.stands or action == "leave") and super().check_action(action, parameters)

    def action_leave(self) -> None:
        """Close it; nothing was chosen."""
        self.dismiss(None)
