"""`knobctl reset`: send every knob of one tenant back to the platform default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knobctl.cli.changing import (
    Place,
    Request,
    change_tenant,
    place_of,
    place_options,
    subject_of,
)
from knobctl.cli.consent import require_consent
from knobctl.cli.options import Settings, common_options
from knobctl.cli.push_options import PushOptions, consent_options
from knobctl.cli.selection import complete_tenants
from knobctl.cli.session import Session

if TYPE_CHECKING:
    from knobctl.errors import ExitCode


@click.command(name="reset")
@click.argument("tenant", shell_complete=complete_tenants)
@place_options
@consent_options
@common_options(engine=True)
def command(
    settings: Settings,
    tenant: str,
    file: bool,
    also_file: bool,
    yes: bool,
    reason: str | None,
    ticket: str | None,
    allow: tuple[str, ...],
) -> ExitCode:
    """Send every knob of one tenant back to the platform default.

    This is the only command that resets a whole set; an empty file never does.
    """
    place = place_of(file=file, also_file=also_file)
    require_consent(yes=yes, what="reset")
    with Session(settings, engine=place is not Place.FILE) as session:
        subject = subject_of(session, tenant, place)
        request = Request(command="reset", subject=subject, change=lambda _: {})
        options = PushOptions(yes=yes, reason=reason, ticket=ticket, allow=allow)
        return change_tenant(session, request, place, options)
