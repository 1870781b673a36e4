"""What every place has: the header, the footer, and the command line that does the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from knobctl.tui.ui import Words, line
from knobctl.tui.working import Working

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from knobctl.tui.app import KnobctlApp
    from knobctl.tui.workplace import Workplace


class Place(Screen[None], Working):
    """A place of the UI: header, body, footer."""

    def compose(self) -> ComposeResult:
        """Put header and footer around the body."""
        where = self.workplace.where
        yield Words(
            line(
                (" PROD ", "reverse") if where.production else "",
                f" {where.engine}  {where.actor}  RO",
            ),
            id="header",
        )
        yield from self.body()
        yield Words(id="footer")

    def body(self) -> ComposeResult:
        """What stands between header and footer."""
        raise NotImplementedError

    def twin(self) -> str:
        """The command line that does or shows the same."""
        raise NotImplementedError

    @property
    def workplace(self) -> Workplace:
        """The session's surroundings."""
        return cast("KnobctlApp", self.app).workplace
