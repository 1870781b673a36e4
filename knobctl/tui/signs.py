"""The signs that stand before words, and the colour that comes last: the same ones wherever a thing is told. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.finding import Severity
from knobctl.tui.draft import Cause

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.tui.ui import Role

SEVERITIES: Final[Mapping[Severity, tuple[str, Role]]] = {
    Severity.ERROR: ("x", "error"),
    Severity.WARNING: ("!", "warn"),
    Severity.INFO: ("i", "muted"),
}
CAUSES: Final[Mapping[Cause, tuple[str, Role]]] = {
    Cause.EDIT: ("*", "edited"),
    Cause.RESET: ("-", "warn"),
    Cause.DRIFT: ("~", "drift"),
}
