"""The application: places, keys that work everywhere, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import App

from knobctl.tui.actions import EVERYWHERE, FLEET, bindings_of
from knobctl.tui.screens.fleet import FleetScreen

if TYPE_CHECKING:
    from textual.types import CSSPathType

    from knobctl.tui.workplace import Workplace


class KnobctlApp(App[None]):
    """The terminal UI."""

    TITLE: str | None = "knobctl"
    CSS_PATH: ClassVar[CSSPathType | None] = "knobctl.tcss"
    ENABLE_COMMAND_PALETTE = False
    MODES = {FLEET: FleetScreen}  # noqa: RUF012  Textual's own shape
    DEFAULT_MODE = FLEET
    BINDINGS = bindings_of(EVERYWHERE)

    def __init__(self, workplace: Workplace) -> None:
        super().__init__()
        self.workplace = workplace
        self.animation_level = "none"

    async def action_quit(self) -> None:
        """Leave."""
        self.exit()
