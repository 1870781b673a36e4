"""`knobctl unset`: send knobs of one tenant back to the platform default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knobctl.cli.attaching import attach, evidence_option
from knobctl.cli.changing import (
    Place,
    Request,
    change_tenant,
    place_of,
    place_options,
    subject_of,
)
from knobctl.cli.completing import complete_knobs
from knobctl.cli.consent import require_consent
from knobctl.cli.options import Settings, common_options
from knobctl.cli.push_options import PushOptions, consent_options
from knobctl.cli.selection import complete_tenants
from knobctl.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from knobctl.errors import ExitCode
    from knobctl.knobs import KnobValue


@click.command(name="unset")
@click.argument("tenant", shell_complete=complete_tenants)
@click.argument("knobs", nargs=-1, required=True, metavar="KNOB...", shell_complete=complete_knobs)
@place_options
@evidence_option
@consent_options
@common_options(engine=True)
def command(
    settings: Settings,
    tenant: str,
    knobs: tuple[str, ...],
    file: bool,
    also_file: bool,
    evidence: tuple[Path, ...],
    yes: bool,
    reason: str | None,
    ticket: str | None,
    allow: tuple[str, ...],
) -> ExitCode:
    """Send knobs of one tenant back to the platform default.

    In a file the knob is taken out; where a layer sets it, 0 is written, which means the default.
    """
    from knobctl.changes.single import knob_named

    place = place_of(file=file, also_file=also_file)
    require_consent(yes=yes, what="unset")
    with Session(settings, engine=place is not Place.FILE) as session:
        subject = subject_of(session, tenant, place)
        for note in attach(session, subject.repository, evidence, {tenant}):
            session.notice(note)
        names = tuple(dict.fromkeys(knob_named(session.catalogue, one).name for one in knobs))

        def changed(existing: Mapping[str, KnobValue]) -> Mapping[str, KnobValue]:
            return {name: value for name, value in existing.items() if name not in names}

        request = Request(command="unset", subject=subject, change=changed, only=names)
        options = PushOptions(yes=yes, reason=reason, ticket=ticket, allow=allow)
        return change_tenant(session, request, place, options)
