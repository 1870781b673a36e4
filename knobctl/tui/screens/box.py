"""A box over a place: Esc closes it, and Ctrl-C explains how to leave here too."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

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

    def action_leave(self) -> None:
        """Close it; nothing was chosen."""
        self.dismiss(None)
