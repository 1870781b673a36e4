"""Reads a plan file back. It may come from anybody: everything in it is verified before it is believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from knobctl.changes.diff import diff_sets
from knobctl.changes.limits import Limits
from knobctl.changes.plan import (
    FORMAT,
    FORMAT_VERSION,
    NoCanonicalFormError,
    Plan,
    TenantPlan,
    digest,
    schema_digest,
)
from knobctl.documents.strict_json import read_json
from knobctl.errors import ConflictError, InputError
from knobctl.finding import Finding, Location, Severity
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.knobs import Catalogue, KnobValue

MAX_BYTES = 256 * 1024 * 1024
"""About 100,000 tenants. A larger plan is no plan that anybody reviewed."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Scalar = Annotated[int | float | str, Field(union_mode="left_to_right")]
C = TypeVar("C", bound="_Content")
TenantName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$")]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


class _Change(_Strict):
    field_path: str
    op: Literal["set", "change", "reset"]
    before: Scalar | None
    after: Scalar | None
    effective_before: Scalar
    effective_after: Scalar


class _Hazard(_Strict):
    rule: str
    severity: Literal["error", "warning", "info"]
    tenant: str | None
    field_path: str | None
    value: Any
    message: str
    hint: str | None
    file: str | None
    line: int | None
    column: int | None
    end_line: int | None
    end_column: int | None
    related: list[dict[str, Any]]
    standing: bool
    waived_by: str | None


class _Evidence(_Strict):
    path: str
    sha256: Sha256 | None = None


class _Content(_Strict):
    tenant: TenantName
    source: str
    pruned: Literal[True] | None = None
    labels: dict[str, str]
    owner: str | None
    base_revision: str | None
    base: dict[str, Scalar]
    set_: dict[str, Scalar] = Field(alias="set")
    unknown: dict[str, str]
    changed_field_paths: list[str]
    changes: list[_Change]
    hazards: list[_Hazard]
    evidence: list[_Evidence]


class _Tenant(_Content):
    digest: Sha256


class _Limit(_Strict):
    limit: str
    set_by: str


class _Limits(_Strict):
    max_tenants: list[_Limit]
    max_share: list[_Limit]
    max_pruned: list[_Limit] = []
    largest_step: dict[str, str]
    protected: list[str]
    freezes: list[str]
    reason_required: bool
    tickets: list[str | None] = []


class _Plan(_Strict, Generic[C]):
    engine: str
    fleet: str | None
    schema_digest: Sha256
    managed_tenants: int = Field(ge=0)
    limits: _Limits
    unchanged: int = Field(default=0, ge=0)
    tenants: list[C]
    hazards: list[_Hazard]


class _File(_Strict):
    format: Literal["knobctl-plan"]
    format_version: Literal[1]
    made_at: str
    made_by: str
    plan: _Plan[_Tenant]
    digest: Sha256


def read_plan(raw: bytes, source: str, catalogue: Catalogue) -> Plan:
    """Read and verify a plan file: its form, its digests, and that it says what its sets give.

    Args:
        raw: The file.
        source: Its name.
        catalogue: The knobs; every set must be one that they accept.

    Raises:
        InputError: Naming what is wrong with it, for whoever has to make a new one.
        ConflictError: If it was made with another schema of the knobs.
    """
    document = _parse(raw, source)
    _verify_format(document, source)
    try:
        file = _File.model_validate(document)
    except ValidationError as error:
        raise InputError(f"{source} is no plan of knobctl: {_first(error)}", hint=_AGAIN) from error
    _verify_digests(document, source)
    return _plan(file.plan, source, catalogue)


def recorded_plan(record: Mapping[str, Any], source: str, catalogue: Catalogue) -> Plan:
    """Read the plan of a run's journal, whose checksums hold.

    Args:
        record: See `plan.plan_record`.
        source: The journal's name.
        catalogue: The knobs; every set must be one that they accept.

    Raises:
        ConflictError: If it was made with another schema of the knobs.
        InputError: If it is no plan of this knobctl.
    """
    try:
        plan = _Plan[_Content].model_validate(record)
    except ValidationError as error:
        raise InputError(f"{source} has no plan of knobctl: {_first(error)}") from error
    return _plan(plan, source, catalogue)


def _plan(plan: _Plan[Any], source: str, catalogue: Catalogue) -> Plan:
    if plan.schema_digest != schema_digest(catalogue):
        raise ConflictError(
            f"the schema of the knobs is not the one that {source} was made with; nothing was written.",
            hint="plan again and review the new plan: knobctl plan -o FILE",
        )
    tenants = tuple(_tenant(entry, source, catalogue) for entry in plan.tenants)
    names = [tenant.tenant for tenant in tenants]
    if names != sorted(set(names)):
        raise InputError(f"{source} names a tenant twice, or out of order", hint=_AGAIN)
    return Plan(
        engine=plan.engine,
        fleet=plan.fleet,
        schema_digest=plan.schema_digest,
        managed=plan.managed_tenants,
        limits=Limits(),
        tenants=tenants,
        unchanged=plan.unchanged,
        hazards=tuple(_finding(hazard) for hazard in plan.hazards),
    )


_AGAIN = "make a new one: knobctl plan -o FILE"


def _parse(raw: bytes, source: str) -> dict[str, Any]:
    if len(raw) > MAX_BYTES:
        raise InputError(f"{source} has {len(raw):,} bytes; a plan may have {MAX_BYTES:,}")
    try:
        document = read_json(raw)
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is no UTF-8 at byte {error.start}", hint=_AGAIN) from error
    except ValueError as error:
        raise InputError(f"{source} is no whole JSON: {error}", hint=_AGAIN) from error
    if not isinstance(document, dict):
        raise InputError(f"{source} is no plan of knobctl: it is no JSON object", hint=_AGAIN)
    return document


def _verify_format(document: Mapping[str, Any], source: str) -> None:
    if document.get("format") != FORMAT:
        raise InputError(f"{source} is no plan of knobctl: format is not {FORMAT}")
    version = document.get("format_version")
    if version != FORMAT_VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > FORMAT_VERSION
        raise InputError(
            f"{source} has the plan format {visible(str(version))}; this knobctl reads format {FORMAT_VERSION}",
            hint="apply it with the knobctl that made it, or make a new one: knobctl plan -o FILE"
            if newer
            else _AGAIN,
        )


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{visible('.'.join(str(step) for step in first['loc'])) or 'the root'}: {first['msg']}"


def _verify_digests(document: Mapping[str, Any], source: str) -> None:
    try:
        for entry in document["plan"]["tenants"]:
            _verify_digest(entry, f"{source}: {entry['tenant']}")
        _verify_digest(document, source)
    except NoCanonicalFormError as error:
        raise InputError(f"{source} is no plan of knobctl: {error.message}", hint=_AGAIN) from error


def _verify_digest(value: Mapping[str, Any], what: str) -> None:
    if digest({key: part for key, part in value.items() if key != "digest"}) != value["digest"]:
        raise InputError(
            f"{what}: the digest is not that of the content; the plan was changed after it was made",
            hint=_AGAIN,
        )


def _tenant(entry: _Content, source: str, catalogue: Catalogue) -> TenantPlan:
    existing = _set(entry.base, f"{source}: base of {entry.tenant}", catalogue)
    desired = _set(entry.set_, f"{source}: set of {entry.tenant}", catalogue)
    changes = diff_sets(catalogue, existing, desired)
    said = [change.model_dump() for change in entry.changes]
    paths = [change.field_path for change in changes]
    if [change.as_json() for change in changes] != said or paths != entry.changed_field_paths:
        raise InputError(
            f"{source}: the changes of {entry.tenant} are not what leads from its base to its set",
            hint=_AGAIN,
        )
    return TenantPlan(
        tenant=entry.tenant,
        source=entry.source,
        base_revision=entry.base_revision,
        existing=existing,
        desired=desired,
        changes=changes,
        hazards=tuple(_finding(hazard) for hazard in entry.hazards),
        labels=entry.labels,
        owner=entry.owner,
        evidence={one.path: one.sha256 for one in entry.evidence},
        unknown=entry.unknown,
        pruned=entry.pruned is True,
    )


def _set(values: Mapping[str, KnobValue], where: str, catalogue: Catalogue) -> dict[str, KnobValue]:
    for name, value in values.items():
        if name not in catalogue:
            raise InputError(f"{where}: {visible(name)} is no knob of the schema", hint=_AGAIN)
        if not catalogue[name].accepts(value):
            raise InputError(
                f"{where}: {name} is {visible(str(value))}; it must lie in {catalogue[name].range_text}",
                hint=_AGAIN,
            )
    return catalogue.canonical(values)


def _finding(hazard: _Hazard) -> Finding:
    place = None
    if hazard.file is not None and hazard.line and hazard.column:
        place = Location(
            hazard.file,
            hazard.line,
            hazard.column,
            hazard.end_line or hazard.line,
            hazard.end_column or hazard.column,
        )
    return Finding(
        rule=hazard.rule,
        severity=Severity(hazard.severity),
        message=hazard.message,
        hint=hazard.hint,
        tenant=hazard.tenant,
        field_path=hazard.field_path,
        value=hazard.value,
        primary=place,
        standing=hazard.standing,
        waived_by=hazard.waived_by,
    )
