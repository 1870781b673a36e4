"""Sets as the service gives them, and the seal that tells a damaged row from a good one."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from math import copysign
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from knobctl.canonical import NoCanonicalFormError, canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.knobs import Catalogue, KnobValue
    from knobctl.server.store.interface import KnobsRow

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One tenant's set."""

    tenant: str
    knobs: Mapping[str, KnobValue]
    """The set knobs only, by canonical name, in schema order."""
    revision: str = ""
    """Opaque; the empty string for a tenant that was never written."""
    updated_at: str | None = None
    updated_by: str | None = None
    head_hash: str | None = None
    """The hash of the audit event that left this set in force."""
    last_good: bool = False
    """Whether the store could not give the set, so that this is the last good one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """What an Update or a Revert answers."""

    stored: Stored
    changed_field_paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of a list, and where it goes on."""

    items: tuple[T, ...]
    next_page_token: str
    """Empty at the end."""


def revision_text(revision: int) -> str:
    """Spell a revision as callers see it."""
    return f"r{revision}"


def revision_number(text: str) -> int | None:
    """Read a revision as callers spell it; None where it is none of ours."""
    match = re.fullmatch(r"r([1-9][0-9]{0,17})", text, re.ASCII)
    return int(match[1]) if match else None


def sealed(row: KnobsRow, catalogue: Catalogue) -> KnobsRow:
    """Put the seal on a row."""
    return replace(row, seal=_digest(row, catalogue))


def opened(row: KnobsRow, catalogue: Catalogue) -> Stored | None:
    """Read a row; None if it is damaged: the seal does not fit, or a value is none that a knob takes."""
    knobs = _set_knobs(row.values, catalogue)
    if knobs is None or not _is_whole(row, catalogue):
        return None
    return Stored(
        tenant=row.tenant,
        knobs=knobs,
        revision=revision_text(row.revision),
        updated_at=row.updated_at,
        updated_by=row.updated_by,
        head_hash=row.head_hash,
    )


def _is_whole(row: KnobsRow, catalogue: Catalogue) -> bool:
    try:
        return _digest(row, catalogue) == row.seal
    except NoCanonicalFormError:
        return False


def _set_knobs(values: Mapping[str, Any], catalogue: Catalogue) -> dict[str, KnobValue] | None:
    """The canonical set that columns hold; None if a knob does not take what stands in its column."""
    knobs: dict[str, KnobValue] = {}
    for name, unset in catalogue.unset.items():
        value = values.get(name, unset)
        if value == unset:
            if value.__class__ is float and copysign(1, value) < 0:
                return None
            continue
        knob = catalogue.by_name[name]
        if not knob.accepts(value):
            return None
        knobs[name] = knob.canonical(value)
    return knobs


def _digest(row: KnobsRow, catalogue: Catalogue) -> str:
    """Digest a row. Unset knobs are left out, so that a knob added to the schema breaks no seal."""
    unset = catalogue.unset
    content: Any = {
        "tenant": row.tenant,
        "revision": row.revision,
        "updated_at": row.updated_at,
        "updated_by": row.updated_by,
        "head_hash": row.head_hash,
        "knobs": {name: value for name, value in row.values.items() if value != unset[name]},
    }
    return hashlib.sha256(canonical(content)).hexdigest()
