"""The screen of a tenant: how one comes there, and what one has there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.tui.screens.tenant import TenantScreen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.tui.persons import Person


def at(
    tenant: str, act: Callable[[Person], Awaitable[None]]
) -> Callable[[Person], Awaitable[None]]:
    """Open a tenant first."""

    async def opened(person: Person) -> None:
        await person.app.push_screen(TenantScreen(tenant))
        await person.press()
        await act(person)

    return opened


def screen(person: Person) -> TenantScreen:
    """The screen that is seen, which is a tenant's."""
    found = person.app.screen
    assert isinstance(found, TenantScreen)
    return found
