"""What `set`, `unset`, `reset` and `edit` share: one tenant's set changed live, in its file, or both."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import click

from knobctl.changes.corpora import Corpora
from knobctl.changes.file_edits import FileEdit, edit_files, wish_for
from knobctl.changes.limits import Limits
from knobctl.changes.plan import Plan, schema_digest
from knobctl.changes.preparing import fleet_of, refuse_unread
from knobctl.changes.proposal import Proposal
from knobctl.changes.single import (
    LiveChange,
    Subject,
    check_file_change,
    check_live_changes,
    claims_in,
    document_of,
    plan_live_changes,
)
from knobctl.cli.choosing import answer_errors, limits_for, surroundings
from knobctl.cli.pushing import push
from knobctl.cli.unnamed_fleets import tell_unnamed_fleets
from knobctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knobctl.checks.report import Report
    from knobctl.cli.push_options import PushOptions
    from knobctl.cli.session import Session
    from knobctl.engine.interface import LiveSet
    from knobctl.errors import ExitCode
    from knobctl.knobs import KnobValue

F = TypeVar("F", bound="Callable[..., Any]")


class Place(StrEnum):
    """Where a change goes."""

    LIVE = "live"
    FILE = "file"
    BOTH = "both"


def place_options(function: F) -> F:
    """Give a command `--file` and `--also-file`; it receives `file` and `also_file`."""
    for option in (
        click.option(
            "--also-file",
            is_flag=True,
            help="Edit the tenant's YAML too, so that GitOps does not undo it.",
        ),
        click.option(
            "--file", is_flag=True, help="Edit the tenant's YAML and leave the engine alone."
        ),
    ):
        function = option(function)
    return function


def place_of(*, file: bool, also_file: bool) -> Place:
    """Read the options.

    Raises:
        UsageError: If both are given.
    """
    if file and also_file:
        raise UsageError("--file leaves the engine alone, --also-file does not; choose one")
    return Place.FILE if file else Place.BOTH if also_file else Place.LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one tenant's set shall become."""

    command: str
    subject: Subject
    change: Callable[[Mapping[str, KnobValue]], Mapping[str, KnobValue]]
    """Makes the canonical set that shall be of the one that is."""
    only: tuple[str, ...] | None = None
    """The knobs concerned; all of them if None."""
    literals: Mapping[str, str] = field(default_factory=dict)
    """What was typed, by knob."""
    live: LiveSet | None = None
    """The set that the change was made of, where it was read before: it must still be there."""


def subjects_of(
    session: Session,
    tenants: Sequence[str],
    place: Place,
    *,
    fleet: str | None = None,
    wanted: bool = False,
) -> list[Subject]:
    """Find the documents and the fleet of tenants.

    Args:
        session: The command's surroundings.
        tenants: Their names.
        place: Where the change goes.
        fleet: The fleet that applies; the one that the options or the context name if None.
        wanted: Whether the folder is read even if nothing marks it as a repository; it is where the
            change or the fleet needs it.

    Raises:
        UsageError: If a file is to be edited and a tenant has none.
    """
    from knobctl.checks.selecting import make_selection

    names = make_selection(tenants).names
    named = fleet or session.fleet
    wanted = wanted or place is not Place.LIVE or named is not None
    repository = surroundings(session, wanted=wanted)
    applies = fleet_of(repository, named)
    claimed = claims_in(repository, applies)
    subjects = [
        Subject(
            tenant=tenant,
            repository=repository,
            fleet=applies,
            document=document_of(tenant, claimed),
        )
        for tenant in names
    ]
    for subject in subjects:
        if subject.document is None and place is not Place.LIVE:
            raise UsageError(
                f"no document of {subject.tenant} is in {repository.root}",
                hint=f"write its live set into a file: knobctl pull {subject.tenant}",
            )
    return subjects


def subject_of(session: Session, tenant: str, place: Place) -> Subject:
    """Find the document and the fleet of one tenant; see `subjects_of`."""
    return subjects_of(session, (tenant,), place)[0]


def change_tenant(
    session: Session, request: Request, place: Place, options: PushOptions
) -> ExitCode:
    """Check what changes, show it, ask, write, read back; or edit the file; or both."""
    proposal, reports = proposed(session, request, place)
    for report in reports:
        if report.errors:
            return answer_errors(session, request.command, report)
    return push(session, proposal, options)


def proposed(session: Session, request: Request, place: Place) -> tuple[Proposal, list[Report]]:
    """Check and plan a change; nothing is written, and nobody asked.

    Returns:
        What would be written; what the checks say of the live change, then of each file. Where one
        of them has errors, the proposal is not to be carried out.
    """
    reports: list[Report] = []
    files: list[FileEdit] = []
    subject = request.subject
    if place is not Place.LIVE:
        files = _file_edits(request)
        reports += [check_file_change(subject, edit, today=session.today) for edit in files]
    plan, limits = _no_plan(subject), Limits()
    if place is not Place.FILE:
        change = _live_change(session, request)
        report = check_live_changes(
            [change], today=session.today, corpora=Corpora(lambda: session.engine)
        )
        reports.insert(0, report)
        refuse_unread(subject.repository, subject.fleet)
        limits = limits_for(session, subject.fleet)
        documents = [subject.document] if subject.document else []
        tell_unnamed_fleets(session, subject.repository, documents, subject.fleet)
        plan = plan_live_changes([change], reports[0], engine=session.engine.name, limits=limits)
    proposal = Proposal(
        command=request.command,
        plan=plan,
        limits=limits,
        needs_consent=True,
        report=reports[0] if reports else None,
        files=files,
    )
    return proposal, reports


def _live_change(session: Session, request: Request) -> LiveChange:
    tenant = request.subject.tenant
    session.engine.assert_addresses([tenant])
    live = request.live or session.engine.read(tenant)
    return LiveChange(
        subject=request.subject,
        live=live,
        desired=request.change(live.knobs),
        literals=request.literals,
    )


def _file_edits(request: Request) -> list[FileEdit]:
    subject = request.subject
    assert subject.document is not None
    effective = subject.repository.effective(subject.document)
    wish = wish_for(
        effective, request.change(effective.desired), only=request.only, literals=request.literals
    )
    return edit_files(subject.repository, [wish])


def _no_plan(subject: Subject) -> Plan:
    """A plan that writes to no engine: only files are edited."""
    return Plan(
        engine="",
        fleet=subject.fleet_name,
        schema_digest=schema_digest(subject.repository.catalogue),
        managed=0,
        limits=Limits(),
        tenants=(),
    )
