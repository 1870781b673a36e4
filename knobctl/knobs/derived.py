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


PROTO_PACKAGE = "upsquad.contextengine.v1"


def proto_text(catalogue: Catalogue) -> str:
    """Write the `.proto` of the config message: one field a knob, and the enum of the on/off knobs."""
    fields = "\n".join(_proto_field(knob) for knob in catalogue)
    return f"""\
// The knobs of one tenant. Derived from the knob schema by `knobctl schema --as proto`.
syntax = "proto3";

package {PROTO_PACKAGE};

// Whether something is on. The zero value means the platform default.
enum KnobMode {{
  KNOB_MODE_UNSPECIFIED = 0;
  ENABLED = 1;
  DISABLED = 2;
}}

// A knob at its zero value means the platform default, as if it were not sent.
message ContextEngineKnobsConfig {{
{fields}
}}
"""


def _proto_field(knob: Knob) -> str:
    comment = f"{knob.description} Takes {knob.range_text}; the platform default is {knob.default}."
    named = (
        "" if knob.json_name == _lower_camel(knob.name) else f' [json_name = "{knob.json_name}"]'
    )
    return f"  // {comment}\n  {knob.type} {knob.name} = {knob.field_number}{named};"


def _lower_camel(name: str) -> str:
    """The name that protobuf gives a field in JSON by itself."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)
