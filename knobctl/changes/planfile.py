"""Reads a plan file back. It may come from anybody: everything in it is verified before it is believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from knobctl.canonical import NoCanonicalFormError
from knobctl.changes.diff import diff_sets
from knobctl.changes.limits import Limits
from knobctl.changes.plan import (
    FORMAT,
    FORMAT_VERSION,
    Plan,
    TenantPlan,
    schema_digest,
)
from knobctl.changes.plan_form import (
    Content,
    File,
    Hazard,
    Planned,
    PlannedEvidence,
    SealedContent,
)
from knobctl.changes.planned_sets import AGAIN, KnownSets
from knobctl.changes.sealing import Seal
from knobctl.checks.carried_evidence import CarriedEvidence
from knobctl.documents.strict_json import JsonCursor, read_json
from knobctl.errors import ConflictError, InputError
from knobctl.finding import Finding, Location, Severity
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from knobctl.knobs import Catalogue

MAX_BYTES = 256 * 1024 * 1024
"""About 100,000 tenants. A larger plan is no plan that anybody reviewed."""


def read_plan(raw: bytes, source: str, catalogue: Catalogue) -> Plan:
    """Read and verify a plan file: its form, its digests, and that it says what its sets give.

    Tenant by tenant: of a large plan, what Python makes of its JSON takes ten times the room.

    Args:
        raw: The file; let go of as soon as it is decoded, where the caller does not hold it.
        source: Its name.
        catalogue: The knobs; every set must be one that they accept.

    Raises:
        InputError: Naming what is wrong with it, for whoever has to make a new one.
        ConflictError: If it was made with another schema of the knobs.
    """
    text = _text(raw, source)
    del raw  # as large as the text
    try:
        document, place = _around_tenants(text)
    except ValueError as error:
        raise _no_json(source, error) from error
    if not isinstance(document, dict):
        raise _no_plan(source, "it is no JSON object")
    _verify_format(document, source)
    try:
        file = File.model_validate(document)
        tenants = _sealed_tenants(text, place, document, source)
        return _plan(file.plan, tenants, source, catalogue)
    except ValidationError as error:
        raise _no_plan(source, _first(error)) from error
    except NoCanonicalFormError as error:
        raise _no_plan(source, error.message) from error


def _text(raw: bytes, source: str) -> str:
    if len(raw) > MAX_BYTES:
        raise InputError(f"{source} has {len(raw):,} bytes; a plan may have {MAX_BYTES:,}")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is no UTF-8 at byte {error.start}", hint=AGAIN) from error


def _around_tenants(text: str) -> tuple[Any, int]:
    """Read all of a plan but its tenants.

    Returns:
        The document, without tenants where they are a list, and where in the text that list stands.

    Raises:
        ValueError: If the text is no JSON, the tenants included; those are not yet read strictly.
    """
    cursor, place = JsonCursor(text), 0
    if not cursor.stands_at("{"):
        return read_json(text.encode()), place
    document: dict[str, Any] = {}
    for key in cursor.members():
        if key != "plan" or not cursor.stands_at("{"):
            document[key] = cursor.value()
            continue
        plan = document[key] = {}
        for inner in cursor.members():
            if inner == "tenants" and cursor.stands_at("["):
                plan[inner], place = [], cursor.at
                for _ in cursor.elements():
                    cursor.skip()
            else:
                plan[inner] = cursor.value()
    cursor.end()
    return document, place


def _sealed_tenants(
    text: str, place: int, document: Mapping[str, Any], source: str
) -> Iterator[SealedContent]:
    """Read the tenants; after the last, the digest over all is verified.

    Raises:
        InputError: If one is no tenant of a plan, or a digest is another.
    """
    form = TypeAdapter(SealedContent)
    seal = Seal({key: part for key, part in document.items() if key != "digest"})
    cursor = JsonCursor(text, place)
    for number, _ in enumerate(cursor.elements()):
        try:
            entry = cursor.value()
            tenant = form.validate_python(entry)
        except ValidationError as error:
            raise _no_plan(source, _first(error, "plan", "tenants", number)) from error
        except ValueError as error:
            raise _no_json(source, error) from error
        del entry["digest"]
        _verify_digest(seal.add(entry), tenant.digest, f"{source}: {tenant.tenant}")
        yield tenant
    _verify_digest(seal.digest(), document["digest"], source)


def recorded_plan(
    record: Mapping[str, Any],
    tenants: Iterable[Mapping[str, Any]],
    source: str,
    catalogue: Catalogue,
) -> Plan:
    """Read the plan of a run's journal, whose checksums hold.

    Args:
        record: All of it but its tenants, see `plan.plan_records`.
        tenants: Those.
        source: The journal's name.
        catalogue: The knobs; every set must be one that they accept.

    Raises:
        ConflictError: If it was made with another schema of the knobs.
        InputError: If it is no plan of this knobctl.
    """
    form = TypeAdapter(Content)
    try:
        plan = Planned[Content].model_validate({**record, "tenants": []})
        return _plan(plan, map(form.validate_python, tenants), source, catalogue)
    except ValidationError as error:
        raise InputError(f"{source} has no plan of knobctl: {_first(error)}") from error


def _plan(
    plan: Planned[Any], entries: Iterable[Content], source: str, catalogue: Catalogue
) -> Plan:
    if plan.schema_digest != schema_digest(catalogue):
        for _ in entries:
            pass  # a plan that was changed since is none, whatever schema it names
        raise ConflictError(
            f"the schema of the knobs is not the one that {source} was made with; nothing was written.",
            hint="plan again and review the new plan: knobctl plan -o FILE",
        )
    sets = KnownSets(catalogue)
    tenants = tuple(_tenant(entry, source, sets) for entry in entries)
    names = [tenant.tenant for tenant in tenants]
    if names != sorted(set(names)):
        raise InputError(f"{source} names a tenant twice, or out of order", hint=AGAIN)
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
            else AGAIN,
        )


def _no_json(source: str, error: ValueError) -> InputError:
    return InputError(f"{source} is no whole JSON: {error}", hint=AGAIN)


def _no_plan(source: str, why: str) -> InputError:
    return InputError(f"{source} is no plan of knobctl: {why}", hint=AGAIN)


def _first(error: ValidationError, *place: str | int) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(step) for step in (*place, *first["loc"]))
    return f"{visible(where) or 'the root'}: {first['msg']}"


def _verify_digest(found: str, stated: str, what: str) -> None:
    if found != stated:
        raise InputError(
            f"{what}: the digest is not that of the content; the plan was changed after it was made",
            hint=AGAIN,
        )


def _tenant(entry: Content, source: str, sets: KnownSets) -> TenantPlan:
    existing = sets.read(entry.base, f"{source}: base of {entry.tenant}")
    desired = sets.read(entry.set_, f"{source}: set of {entry.tenant}")
    changes = diff_sets(sets.catalogue, existing, desired)
    said = [change.model_dump() for change in entry.changes]
    paths = [change.field_path for change in changes]
    if [change.as_json() for change in changes] != said or paths != entry.changed_field_paths:
        raise InputError(
            f"{source}: the changes of {entry.tenant} are not what leads from its base to its set",
            hint=AGAIN,
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
        evidence=tuple(_carried(one) for one in entry.evidence),
        unknown=entry.unknown,
        pruned=entry.pruned is True,
    )


def _carried(one: PlannedEvidence) -> CarriedEvidence:
    return CarriedEvidence(**{**one.model_dump(), "attached": one.attached is True})


def _finding(hazard: Hazard) -> Finding:
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
