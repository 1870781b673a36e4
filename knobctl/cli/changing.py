"""What `set`, `unset`, `reset` and `edit` share: one tenant's set changed live, in its file, or both."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import click

from knobctl.changes.file_edits import FileEdit, edit_files, wish_for
from knobctl.changes.limits import Limits
from knobctl.changes.plan import Plan, plan_tenant, schema_digest
from knobctl.changes.preparing import fleet_of, managed
from knobctl.changes.single import Subject, check_file_change, check_live_change, document_of
from knobctl.cli.choosing import answer_errors, limits_for, surroundings
from knobctl.cli.pushing import Pushed, PushOptions, push
from knobctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.checks.report import Report
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
    tenant: str
    change: Callable[[Mapping[str, KnobValue]], Mapping[str, KnobValue]]
    """Makes the canonical set that shall be of the one that is."""
    only: tuple[str, ...] | None = None
    """The knobs concerned; all of them if None."""
    literals: Mapping[str, str] = field(default_factory=dict)
    """What was typed, by knob."""


def subject_of(session: Session, tenant: str, place: Place) -> Subject:
    """Find a tenant's document and fleet.

    Raises:
        UsageError: If a file is to be edited and the tenant has none.
    """
    from knobctl.checks.selecting import make_selection

    make_selection((tenant,))
    repository = surroundings(session, wanted=place is not Place.LIVE or session.fleet is not None)
    fleet = fleet_of(repository, session.fleet)
    document = document_of(repository, tenant, fleet)
    if document is None and place is not Place.LIVE:
        raise UsageError(
            f"no document of {tenant} is in {repository.root}",
            hint=f"write its live set into a file: knobctl pull {tenant}",
        )
    return Subject(tenant=tenant, repository=repository, fleet=fleet, document=document)


def change_tenant(
    session: Session, subject: Subject, request: Request, place: Place, options: PushOptions
) -> ExitCode:
    """Check what changes, show it, ask, write, read back; or edit the file; or both."""
    reports: list[Report] = []
    files: list[FileEdit] = []
    if place is not Place.LIVE:
        files = _file_edits(subject, request)
        reports += [check_file_change(subject, edit, today=session.today) for edit in files]
    plan, limits = _no_plan(session, subject), Limits()
    if place is not Place.FILE:
        session.engine.assert_addresses([subject.tenant])
        live = session.engine.read(subject.tenant)
        desired = request.change(live.knobs)
        report = check_live_change(
            subject, live, desired, literals=request.literals, today=session.today
        )
        reports.insert(0, report)
        plan = _live_plan(session, subject, live, desired, report)
        limits = limits_for(session, subject.fleet)
    for report in reports:
        if report.errors:
            return answer_errors(session, request.command, report)
    return push(
        session,
        Pushed(
            command=request.command,
            plan=plan,
            limits=limits,
            needs_consent=True,
            report=reports[0] if reports else None,
            files=files,
        ),
        options,
    )


def _file_edits(subject: Subject, request: Request) -> list[FileEdit]:
    assert subject.document is not None
    effective = subject.repository.effective(subject.document)
    wish = wish_for(
        effective, request.change(effective.desired), only=request.only, literals=request.literals
    )
    return edit_files(subject.repository, [wish])


def _no_plan(session: Session, subject: Subject) -> Plan:
    """A plan that writes to no engine: only files are edited."""
    return Plan(
        engine="",
        fleet=subject.fleet_name,
        schema_digest=schema_digest(session.catalogue),
        managed=0,
        limits=Limits(),
        tenants=(),
    )


def _live_plan(
    session: Session,
    subject: Subject,
    live: LiveSet,
    desired: Mapping[str, KnobValue],
    report: Report,
) -> Plan:
    return Plan(
        engine=session.engine.name,
        fleet=subject.fleet_name,
        schema_digest=schema_digest(session.catalogue),
        managed=managed(subject.repository, subject.fleet),
        limits=Limits(),
        tenants=(plan_tenant(session.catalogue, live, desired, hazards=tuple(report.findings)),),
    )
