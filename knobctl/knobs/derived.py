"""What derives from the knob schema: the `.proto` message, the SQL columns and the reference page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.knobs.knob import KnobType

if TYPE_CHECKING:
    from knobctl.knobs.catalogue import Catalogue
    from knobctl.knobs.knob import Knob


def sql_columns(catalogue: Catalogue) -> list[str]:
    """One SQLite column definition a knob, for a STRICT table.

    The type is ANY, so that SQLite converts nothing: with an affinity it would turn the text '0.3'
    into the number 0.3 before the CHECK sees it. NaN is bound as NULL, which NOT NULL refuses and a
    CHECK alone would let pass.
    """
    return [
        f"{quoted_name(knob.name)} ANY NOT NULL DEFAULT {_literal(knob.unset)} CHECK ({sql_check(knob)})"
        for knob in catalogue
    ]


def sql_check(knob: Knob) -> str:
    """The condition under which a column takes a value: the one that `Knob.accepts` has.

    The sign of a zero is not seen: to SQL, -0.0 is 0. Neither is a boolean: SQLite has none.
    """
    column = quoted_name(knob.name)
    if knob.type is KnobType.MODE:
        choices = ", ".join(_literal(choice) for choice in knob.choices)
        return f"typeof({column}) = 'text' AND {column} IN ({choices})"
    conditions = [f"typeof({column}) IN ('integer', 'real')"]
    if knob.type is KnobType.INT32:
        conditions.append(f"{column} = CAST({column} AS INTEGER)")
    conditions.append(f"({column} = 0 OR {column} BETWEEN {knob.minimum!r} AND {knob.maximum!r})")
    return " AND ".join(conditions)


def quoted_name(name: str) -> str:
    """Write a name as an SQL identifier."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _literal(value: float | str) -> str:
    if isinstance(value, str):
        escaped = value.replace("'", "''")
        return f"'{escaped}'"
    return repr(value)
