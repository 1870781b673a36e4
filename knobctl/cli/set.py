"""`knobctl set`: change knobs of one tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knobctl.cli.attaching import attach, evidence_option
from knobctl.cli.changing import Place, Request, change_tenant, place_of, place_options, subject_of
from knobctl.cli.choosing import answer_errors
from knobctl.cli.completing import complete_assignments
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


@click.command(name="set")
@click.argument("tenant", shell_complete=complete_tenants)
@click.argument(
    "assignments",
    nargs=-1,
    required=True,
    metavar="KNOB=VALUE...",
    shell_complete=complete_assignments,
)
@place_options
@evidence_option
@consent_options
@common_options(engine=True)
def command(
    settings: Settings,
    tenant: str,
    assignments: tuple[str, ...],
    file: bool,
    also_file: bool,
    evidence: tuple[Path, ...],
    yes: bool,
    reason: str | None,
    ticket: str | None,
    allow: tuple[str, ...],
) -> ExitCode:
    """Change knobs of one tenant: read, check what changes, replace, read back.

    Faults that the set has already are shown and do not block.
    """
    from knobctl.changes.single import judge_literals, read_assignments

    place = place_of(file=file, also_file=also_file)
    require_consent(yes=yes, what="set")
    with Session(settings, engine=place is not Place.FILE) as session:
        subject = subject_of(session, tenant, place)
        for note in attach(session, subject.repository, evidence, {tenant}):
            session.notice(note)
        catalogue = session.catalogue
        literals = read_assignments(assignments, catalogue)
        values, report = judge_literals(tenant, literals, catalogue)
        if report.errors:
            return answer_errors(session, "set", report)

        def changed(existing: Mapping[str, KnobValue]) -> Mapping[str, KnobValue]:
            return catalogue.canonical({**existing, **values})

        request = Request(
            command="set", subject=subject, change=changed, only=tuple(literals), literals=literals
        )
        options = PushOptions(yes=yes, reason=reason, ticket=ticket, allow=allow)
        return change_tenant(session, request, place, options)
