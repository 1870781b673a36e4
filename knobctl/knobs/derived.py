"""What derives from the knob schema: the SQL table, the `.proto` message and the reference page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.knobs.knob import KnobType
from knobctl.text import count, spelled, visible

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
        f"{quoted_name(knob.name)} ANY{_unset_in_sql(knob)} CHECK ({sql_check(knob)})"
        for knob in catalogue
    ]


def sql_check(knob: Knob) -> str:
    """The condition under which a column takes a value: the one that `Knob.accepts` has.

    The sign of a zero is not seen: to SQL, -0.0 is 0. Neither is a boolean: SQLite has none.
    """
    column = quoted_name(knob.name)
    if knob.unset is None:
        return f"{column} IS NULL OR {_sql_takes(knob, column)}"
    return _sql_takes(knob, column)


def _sql_takes(knob: Knob, column: str) -> str:
    if knob.type is KnobType.MODE:
        choices = ", ".join(_literal(choice) for choice in knob.choices)
        return f"typeof({column}) = 'text' AND {column} IN ({choices})"
    conditions = [f"typeof({column}) IN ('integer', 'real')"]
    if knob.type is KnobType.INT32:
        conditions.append(f"{column} = CAST({column} AS INTEGER)")
    inside = f"{column} BETWEEN {knob.minimum!r} AND {knob.maximum!r}"
    conditions.append(inside if knob.unset is None else f"({column} = 0 OR {inside})")
    return " AND ".join(conditions)


def _unset_in_sql(knob: Knob) -> str:
    """How a column holds a knob that is not set: by its unset value, or by NULL where it has none."""
    return "" if knob.unset is None else f" NOT NULL DEFAULT {_literal(knob.unset)}"


def postgres_columns(catalogue: Catalogue) -> list[str]:
    """One PostgreSQL column definition a knob.

    Numbers are double precision whatever the knob's type: an integer column would round 8.5 to 9
    before a CHECK sees it. NaN, a legal double that is greater than every other, is in no range.
    """
    return [
        f"{quoted_name(knob.name)} {_postgres_type(knob)}{_unset_in_sql(knob)}"
        f" CHECK ({postgres_check(knob)})"
        for knob in catalogue
    ]


def _postgres_type(knob: Knob) -> str:
    return 'text COLLATE "C"' if knob.type is KnobType.MODE else "double precision"


def postgres_check(knob: Knob) -> str:
    """The condition under which a column of PostgreSQL takes a value; it sees no sign of a zero either."""
    column = quoted_name(knob.name)
    if knob.type is KnobType.MODE:
        choices = ", ".join(_literal(choice) for choice in knob.choices)
        return f"{column} IN ({choices})"
    whole = f"{column} = trunc({column}) AND " if knob.type is KnobType.INT32 else ""
    inside = f"{column} BETWEEN {knob.minimum!r} AND {knob.maximum!r}"
    return f"{whole}{inside}" if knob.unset is None else f"{whole}({column} = 0 OR {inside})"


def quoted_name(name: str) -> str:
    """Write a name as an SQL identifier."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _literal(value: float | str) -> str:
    if isinstance(value, str):
        escaped = value.replace("'", "''")
        return f"'{escaped}'"
    return repr(value)


def sql_text(catalogue: Catalogue) -> str:
    """Write the table of the knobs with the CHECK of each, as an embedded engine has it."""
    columns = ",\n  ".join(["tenant_id TEXT PRIMARY KEY", *sql_columns(catalogue)])
    return f"""\
-- The knobs of one tenant a row, for SQLite 3.37 or newer. Derived from the knob schema.
-- 0, or the first name of a mode, means the platform default.
CREATE TABLE context_engine_knobs (
  {columns}
) STRICT;
"""


PROTO_PACKAGE: Final = "upsquad.contextengine.v1"


def proto_text(catalogue: Catalogue) -> str:
    """Write the `.proto` of the config message: one field a knob, and the enum of the on/off knobs."""
    choices = _shared_choices(catalogue)
    enum = f"{_proto_enum(choices)}\n" if choices else ""
    fields = "\n".join(_proto_field(knob, choices) for knob in catalogue)
    return f"""\
// The knobs of one tenant. Derived from the knob schema by `knobctl schema --as proto`.
syntax = "proto3";

package {PROTO_PACKAGE};

{enum}// A knob at its zero value means the platform default, as if it were not sent.
message ContextEngineKnobsConfig {{
{fields}
}}
"""


def _shared_choices(catalogue: Catalogue) -> tuple[str, ...]:
    """The choices of the first mode; modes that have others travel as text."""
    return next((knob.choices for knob in catalogue if knob.type is KnobType.MODE), ())


def _proto_enum(choices: tuple[str, ...]) -> str:
    values = "\n".join(f"  {choice} = {number};" for number, choice in enumerate(choices))
    return f"""\
// Whether something is on. The zero value means the platform default.
enum KnobMode {{
{values}
}}
"""


def _proto_field(knob: Knob, choices: tuple[str, ...]) -> str:
    kind = "string" if knob.type is KnobType.MODE and knob.choices != choices else knob.type.value
    named = (
        "" if knob.json_name == _lower_camel(knob.name) else f' [json_name = "{knob.json_name}"]'
    )
    says = f"{knob.description} Takes {knob.range_text}; the platform default is {spelled(knob.default)}."
    return f"  // {says}\n  {kind} {knob.name} = {knob.field_number}{named};"


def _lower_camel(name: str) -> str:
    """The name that protobuf gives a field in JSON by itself."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def markdown_text(catalogue: Catalogue) -> str:
    """Write the reference page: a table of every knob, then each with all that the schema says."""
    table = "\n".join(_table_row(knob) for knob in catalogue)
    details = "\n".join(_details(knob) for knob in catalogue)
    page = f"""\
# The knobs

Derived from the knob schema by `knobctl schema --as markdown`; a change belongs there.

{count(len(catalogue), "knob")}. Each may be left out{_unset_names(catalogue)}: that means the platform default.

| knob | takes | default | unit | role |
|---|---|---|---|---|
{table}

{details}"""
    return visible(page, keep="\n")


def _unset_names(catalogue: Catalogue) -> str:
    names = dict.fromkeys(f"`{knob.unset}`" for knob in catalogue if knob.unset is not None)
    return f", or written as {' or '.join(names)}" if names else ""


def _table_row(knob: Knob) -> str:
    link = f"[`{knob.name}`](#{knob.name})"
    role = f"`{knob.role}`" if knob.role else ""
    cells = [link, knob.range_text, spelled(knob.default), knob.unit, role]
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _details(knob: Knob) -> str:
    facts = {
        "Takes": f"{knob.type.value}, {knob.range_text}",
        "Default": spelled(knob.default),
        "Zero": knob.zero,
        "Practically off": knob.off,
        "Governs": knob.scope,
        "Unit": knob.unit,
        "Scale": knob.scale,
        "Role": knob.role and f"`{knob.role}`",
        "Clearance": f"read L{knob.read_clearance}, edit L{knob.edit_clearance}",
        "On the wire": f"`{knob.json_name}`, field {knob.field_number}",
        "Evidence": "a change of it asks for evidence" if knob.needs_evidence else "",
        "Acts together with": ", ".join(f"[`{name}`](#{name})" for name in knob.interacts_with),
        "Origin": knob.origin,
        "What is known of the default": knob.known,
    }
    lines = "\n".join(f"- **{name}**: {text}" for name, text in facts.items() if text)
    return f"## {knob.name}\n\n*{knob.title}.* {knob.description}\n\n{lines}\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
