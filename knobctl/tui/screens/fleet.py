"""The fleet: every tenant, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import DataTable

from knobctl.text import spelled
from knobctl.tui.actions import FLEET, bindings_of
from knobctl.tui.screens.place import Place
from knobctl.tui.screens.tenant import TenantScreen
from knobctl.tui.ui import cell

if TYPE_CHECKING:
    from rich.text import Text
    from textual.app import ComposeResult

    from knobctl.documents.repository import Repository


class FleetScreen(Place):
    """The list of tenants."""

    PLACE = FLEET
    BINDINGS = bindings_of(FLEET)

    def body(self) -> ComposeResult:
        """The list."""
        table: DataTable[Text] = DataTable(cursor_type="row", id="tenants")
        table.add_columns(cell("tenant"), cell("floor"))
        yield table

    def on_mount(self) -> None:
        """Read the documents, once the frame stands."""
        self.ask("repository", self.workplace.repository, self._show)

    def _show(self, repository: Repository) -> None:
        table = self.query_one(DataTable)
        knobs = repository.catalogue
        floor = knobs.by_role["floor.fused"].name if "floor.fused" in knobs.by_role else ""
        for tenant in repository.tenants:
            value = tenant.values(knobs).get(floor)
            table.add_row(
                cell(tenant.name), cell("-" if value is None else spelled(value)), key=tenant.name
            )
        table.focus()

    async def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open the tenant of the line."""
        if event.row_key.value:
            await self.app.push_screen(TenantScreen(event.row_key.value))

    def action_open(self, tenant: str = "") -> None:
        """Open a tenant by its name, or that of the line."""
        if tenant:
            self.knobctl.action_tenant(tenant)
        else:
            self.query_one(DataTable).action_select_cursor()

    def twin(self) -> str:
        """The sets of all tenants."""
        return f"knobctl get{self.workplace.where.typed}"
