"""One tenant: what its files say, what the engine holds, what is in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import DataTable

from knobctl.text import spelled
from knobctl.tui.actions import TENANT, bindings_of
from knobctl.tui.screens.place import Place
from knobctl.tui.ui import cell

if TYPE_CHECKING:
    from rich.text import Text
    from textual.app import ComposeResult

    from knobctl.changes.single import Subject
    from knobctl.engine.interface import LiveSet


class TenantScreen(Place):
    """The knobs of one tenant."""

    PLACE = TENANT
    BINDINGS = bindings_of(TENANT)

    def __init__(self, tenant: str) -> None:
        super().__init__()
        self.tenant = tenant

    def body(self) -> ComposeResult:
        """The table of knobs."""
        table: DataTable[Text] = DataTable(cursor_type="row", id="knobs")
        table.add_columns(*map(cell, ("knob", "repo", "engine", "default")))
        yield table

    def on_mount(self) -> None:
        """Read the tenant's document and its live set."""
        workplace, tenant = self.workplace, self.tenant
        self.ask("tenant", lambda: (workplace.subject(tenant), workplace.read(tenant)), self._show)

    def _show(self, found: tuple[Subject, LiveSet]) -> None:
        subject, live = found
        catalogue = subject.repository.catalogue
        resolved = subject.document and subject.repository.effective(subject.document).desired
        table = self.query_one(DataTable)
        for knob in catalogue:
            each = ((resolved or {}).get(knob.name), live.knobs.get(knob.name), knob.default)
            table.add_row(
                cell(knob.name), *(cell("-" if one is None else spelled(one)) for one in each)
            )
        table.focus()

    async def action_back(self) -> None:
        """Go back to the fleet."""
        await self.app.pop_screen()

    def twin(self) -> str:
        """The tenant's live set."""
        return f"knobctl get {self.tenant}{self.workplace.where.typed}"
