"""From documents and an engine to a plan: choose, validate, read live, check, compare."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from knobctl.changes.arriving import Arriving
from knobctl.changes.corpora import Corpora
from knobctl.changes.plan import Plan, TenantPlan, schema_digest
from knobctl.documents.garbage import collector_paused
from knobctl.errors import InputError, UsageError
from knobctl.finding import Finding, Severity
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date

    from knobctl.changes.limits import Limits
    from knobctl.checks.report import Report
    from knobctl.checks.selecting import Selection
    from knobctl.documents.model import Document, Effective
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import Engine, LiveSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What is known before anything is written."""

    report: Report
    """The findings; with errors among them there is no plan."""
    plan: Plan | None = None
    effective: Mapping[str, Effective] = field(default_factory=dict)
    """By tenant that changes, where every value comes from."""
    live: Mapping[str, LiveSet] = field(default_factory=dict)
    """Of all that were looked at."""


def fleet_of(repository: Repository, name: str | None) -> Document | None:
    """Find the fleet that applies, and make sure that it is whole: a broken fleet is not "no limits".

    Raises:
        UsageError: If the named one does not exist.
        InputError: If its document has errors, or two documents claim its name.
    """
    from knobctl.checks import validate_repository

    fleet = repository.fleet(name)
    if fleet is None:
        return None
    twins = [one for one in repository.fleets if one.name == fleet.name and one is not fleet]
    faults = validate_repository(replace(repository, judged=[fleet], others=[], findings=[]))
    errors = [one.message for one in faults.pressing if one.severity is Severity.ERROR]
    errors += [f"{twin.source} claims the same name" for twin in twins]
    if errors:
        raise InputError(
            f"fleet {fleet.name} ({fleet.source}:{fleet.location().line}) has errors: {errors[0]}",
            hint=f"see them all: knobctl validate {fleet.source}",
        )
    return fleet


def refuse_unread(repository: Repository, fleet: Document | None) -> None:
    """Refuse to write without limits where a file that cannot be read may hold them.

    Raises:
        InputError: If no fleet is known and there is such a file.
    """
    if fleet is None and repository.veiled:
        file = repository.veiled[0]
        raise InputError(
            f"{file} cannot be read: it may hold the fleet that limits this push",
            hint=f"see what is wrong: knobctl validate {file}; if it is not knobctl's, name it under skip in knobctl.toml",
        )


def narrowed(
    repository: Repository, fleet: Document | None, selection: Selection | None = None
) -> Repository:
    """Leave only those tenants judged that belong to a fleet and that are chosen.

    Raises:
        UsageError: If none is left, or one tenant is left twice: then a fleet must be named.
    """
    from knobctl.checks.selecting import choose_documents

    chosen = repository.within(fleet).tenants
    if not chosen and all(one.severity is not Severity.ERROR for one in repository.findings):
        raise UsageError(
            f"no tenant stands in {count(repository.files, 'file')}: there is nothing to compare or push",
            hint="a tenant's document begins with tenant: NAME",
        )
    if selection is not None:
        chosen = choose_documents(repository, selection, chosen)
    _refuse_ambiguity(repository, chosen, fleet)
    return repository.keeping(chosen)


def _refuse_ambiguity(
    repository: Repository, chosen: list[Document], fleet: Document | None
) -> None:
    """Refuse a tenant that stands in several places of which no fleet is named; one fleet's own are findings."""
    if fleet is not None or not repository.fleets:
        return
    seen: dict[str, Document] = {}
    for tenant in chosen:
        other = seen.setdefault(tenant.name, tenant)
        if other is tenant:
            continue
        claims = {name for each in (tenant, other) for name in _claiming(repository, each)}
        if len(claims) > 1:
            fleets = " and ".join(sorted(claims - {_NO_FLEET}))
            whose = (
                f"the fleet {fleets} and for none"
                if _NO_FLEET in claims
                else f"the fleets {fleets}"
            )
            raise UsageError(
                f"{tenant.name} stands in {other.source} and in {tenant.source}, for {whose}",
                hint="say which one is meant: --fleet NAME",
            )


_NO_FLEET: Final = ""


def _claiming(repository: Repository, tenant: Document) -> list[str]:
    return [one.name for one in repository.fleets_of(tenant)] or [_NO_FLEET]


@collector_paused()
def prepare(  # noqa: PLR0913  each is one thing that only the caller knows
    repository: Repository,
    engine: Callable[[], Engine],
    *,
    today: date,
    fleet: Document | None,
    limits: Limits,
    parallelism: int,
    everything: bool = False,
) -> Prepared:
    """Make the plan of what the judged tenants want.

    Args:
        repository: What was read; its judged tenants are planned, see `narrowed`.
        engine: Opens the engine; not called where the documents have errors.
        today: For waivers that expire.
        fleet: The fleet that applies.
        limits: What bounds a push, for the record.
        parallelism: How many tenants are read at a time.
        everything: Whether what is said of tenants that do not change is told too, and not only counted.

    Returns:
        The plan, or the report of the errors that stopped it.

    Raises:
        InputError: If a file around the judged ones cannot be read and may hold the fleet.
        EngineError: If the live state cannot be read.
    """
    from knobctl.checks import check_repository

    report = validated(repository)
    if report.errors:
        return Prepared(report=report)
    refuse_unread(repository, fleet)
    reached = engine()
    arriving = Arriving(repository, reached, workers=parallelism)
    managed = len(repository.managed_by(fleet))
    report = check_repository(
        repository,
        today=today,
        live=arriving.knobs,
        fleet=fleet,
        arriving=arriving,
        counted=None if everything else arriving.staying,
        corpora=Corpora(lambda: reached),
    )
    live, effective = arriving.live, arriving.changing
    if report.errors:
        return Prepared(report=report, effective=effective, live=live)
    hazards = hazards_of(report)
    plan = Plan(
        engine=reached.name,
        fleet=fleet.name if fleet else None,
        schema_digest=schema_digest(repository.catalogue),
        managed=managed,
        limits=limits,
        tenants=_told(arriving.planned, hazards),
        unchanged=len(arriving.staying),
        staying=arriving.staying,
        hazards=tuple(hazards.get(None, ())),
    )
    return Prepared(report=report, plan=plan, effective=effective, live=live)


def validated(repository: Repository) -> Report:
    """Validate the judged documents, and let the index know the files of which nothing is said."""
    from knobctl.checks import validate_repository

    report = validate_repository(repository)
    if repository.filing and not report.errors:
        judged = set(map(id, repository.tenants))
        doubtful = {one.primary.file for one in report.findings if one.primary}
        repository.filing.note(
            lambda document: id(document) in judged and document.source not in doubtful
        )
    return report


def hazards_of(report: Report) -> Mapping[str | None, list[Finding]]:
    """By tenant, what a reviewer should weigh: errors and warnings, waived ones too; infos are no hazards."""
    found: dict[str | None, list[Finding]] = {}
    for one in report.pressing:
        if one.severity is not Severity.INFO:
            found.setdefault(one.tenant, []).append(one)
    return found


def _told(
    planned: Iterable[TenantPlan], hazards: Mapping[str | None, list[Finding]]
) -> tuple[TenantPlan, ...]:
    """What is planned with what the checks say of it, by tenant."""
    told = [replace(one, hazards=tuple(hazards.get(one.tenant, ()))) for one in planned]
    return tuple(sorted(told, key=lambda tenant: tenant.tenant))
