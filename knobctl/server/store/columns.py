"""What the columns of every kind of store hold alike: names, texts, and whether they fit the knobs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import EngineError
from knobctl.server.store.interface import StoreUnavailableError
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Collection

    from knobctl.knobs import Catalogue

ROW_COLUMNS: Final = {
    # column: attribute of KnobsRow
    "tenant_id": "tenant",
    "revision": "revision",
    "updated_at": "updated_at",
    "updated_by": "updated_by",
    "head_hash": "head_hash",
    "seal": "seal",
}
"""What a set has beside its knobs."""


def read_object(text: str) -> dict[str, Any]:
    """Read an event.

    Raises:
        StoreUnavailableError: If it is none.
    """
    value = _json(text)
    if not isinstance(value, dict):
        raise StoreUnavailableError("the store holds an event that is none")
    return value


def read_names(text: str | None) -> frozenset[str] | None:
    """Read the tenants or sources of a principal; None for all.

    Raises:
        StoreUnavailableError: If it is no JSON.
    """
    return frozenset(_json(text)) if text else None


def names_text(names: frozenset[str] | None) -> str | None:
    """Write what `read_names` reads."""
    return None if names is None else json.dumps(sorted(names))


def require_known_knobs(columns: Collection[str], catalogue: Catalogue) -> None:
    """See that the knobs' table has no column of a knob that the schema lacks: it would be lost.

    Raises:
        EngineError: If it has.
    """
    unknown = [name for name in columns if name not in ROW_COLUMNS and name not in catalogue]
    if unknown:
        raise EngineError(
            f"the store holds {count(len(unknown), 'knob')} that the schema does not know: {', '.join(unknown)}",
            hint="use the knob schema that the store was written with (--schema), or upgrade knobctl; nothing was changed",
        )


def values_not_taken(reason: str) -> EngineError:
    """Say that the sets in a store break the bounds of the schema."""
    return EngineError(
        f"the store holds values that the knob schema no longer takes: {reason}",
        hint="set those knobs with the older schema first; nothing was changed",
    )


def _json(text: str) -> Any:  # noqa: ANN401  any JSON
    try:
        return json.loads(text)
    except (ValueError, TypeError) as error:
        raise StoreUnavailableError("the store holds text that is no JSON") from error
