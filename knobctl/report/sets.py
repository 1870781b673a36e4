"""Live sets for people and machines: what is set, what is in force, at which revision."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from knobctl.engine.interface import NEVER_WRITTEN
from knobctl.errors import UsageError
from knobctl.report.ages import ago
from knobctl.text import count, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Catalogue, Knob

BLOCKS_UP_TO: Final = 3
"""More tenants than this are a table, a line each."""
USUAL_COLUMNS: Final = ("tenant", "revision", "updated", "by", "set")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSet:
    """A live set, with what the documents know of its tenant."""

    live: LiveSet
    catalogue: Catalogue
    labels: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""

    def as_json(self) -> dict[str, Any]:
        """The tenant's part of `get --format json`."""
        live = self.live
        return {
            "tenant": live.tenant,
            "revision": live.revision,
            "updated_at": live.updated_at,
            "updated_by": live.updated_by,
            "last_good": live.last_good,
            "knobs": dict(live.knobs),
            "effective": self.catalogue.effective(live.knobs),
            "unknown": dict(live.unknown),
        }


def revision_words(live: LiveSet) -> str:
    """The revision for people: `r7`, `never written`, or that there are none."""
    match live.revision:
        case None:
            return "no revisions"
        case str(revision) if revision == NEVER_WRITTEN:
            return "never written"
        case revision:
            return visible(revision)


def sets_text(
    shown: Sequence[ShownSet],
    *,
    columns: Sequence[str] | None,
    every_knob: bool,
    now: datetime,
    colored: bool,
) -> str:
    """Write live sets for people.

    Args:
        shown: The sets, in order.
        columns: The columns of a table; None for a block each while they are few.
        every_knob: Whether blocks list the knobs at the platform default too.
        now: For ages.
        colored: Whether names stand out.
    """
    if columns is None and (len(shown) <= BLOCKS_UP_TO or every_knob):
        return "\n".join(_block(one, every_knob, now, colored) for one in shown)
    names = tuple(columns or USUAL_COLUMNS)
    rows = [
        [visible(name) for name in names],
        *([_cell(one, name, now) for name in names] for one in shown),
    ]
    return table(rows)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Align rows of cells into columns; the last one is left as long as it is."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    widths[-1] = 0
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _block(one: ShownSet, every_knob: bool, now: datetime, colored: bool) -> str:
    live, knobs = one.live, one.catalogue
    tenant = visible(live.tenant)
    name = click.style(tenant, bold=True) if colored else tenant
    told = [visible(live.updated_by)] if live.updated_by else []
    told += [visible(ago(live.updated_at, now))] if live.updated_at else []
    who = f" ({', '.join(told)})" if told else ""
    lines = [f"{name}  {revision_words(live)}{who}: {_how_many(live, knobs)}"]
    if live.last_good:
        lines.append(
            "  the engine's store is damaged or cannot be asked; this is the last good set, still in force"
        )
    rows = [_knob_row(knob, live) for knob in knobs if every_knob or knob.name in live.knobs]
    if rows:
        lines += [f"  {line}" for line in table(rows).splitlines()]
    for field_name, raw in live.unknown.items():
        shown = visible(json.dumps(raw))[:80]
        why = "no value of the schema's" if field_name in knobs else "unknown to the schema"
        lines.append(f"  {visible(field_name)}  {shown}  {why}; a push would lose it")
    return "\n".join(lines)


def _how_many(live: LiveSet, catalogue: Catalogue) -> str:
    rest = len(catalogue) - len(live.knobs) - sum(name in catalogue for name in live.unknown)
    if rest == len(catalogue):
        return f"all {len(catalogue)} knobs at the platform default"
    return f"{count(len(live.knobs), 'knob')} set, {rest} at the platform default"


def _knob_row(knob: Knob, live: LiveSet) -> tuple[str, str, str]:
    if knob.name in live.knobs:
        return knob.name, spelled(live.knobs[knob.name]), f"default {spelled(knob.default)}"
    return knob.name, spelled(knob.default), "default"


def _cell(one: ShownSet, column: str, now: datetime) -> str:
    live = one.live
    if column in one.catalogue:
        return spelled(one.catalogue.effective(live.knobs)[column])
    if column == "revision":
        return revision_words(live)
    known: Mapping[str, str | None] = {
        "tenant": live.tenant,
        "updated": ago(live.updated_at, now) if live.updated_at else None,
        "by": live.updated_by,
        "owner": one.owner,
        "set": " ".join(f"{name}={spelled(value)}" for name, value in live.knobs.items()),
    }
    label = one.labels.get(column.removeprefix("labels."))
    return visible(known.get(column, label) or "-")


def read_columns(text: str | None, catalogue: Catalogue) -> tuple[str, ...] | None:
    """Read `--columns`.

    Raises:
        UsageError: If a column is none.
    """
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise UsageError("--columns names no column")
    return tuple(_column(name, catalogue) for name in names)


def _column(name: str, catalogue: Catalogue) -> str:
    if name in {*USUAL_COLUMNS, "owner"} or name.removeprefix("labels.") not in {name, ""}:
        return name
    if name in catalogue.by_any_name:
        return catalogue.by_any_name[name].name
    near = catalogue.nearest(name)
    known = ", ".join((*USUAL_COLUMNS, "owner", "labels.NAME"))
    raise UsageError(
        f"{name!r} is no column", hint=f"did you mean {near}?" if near else f"{known}, or a knob"
    )


def sort_sets(
    shown: Sequence[ShownSet], column: str | None, catalogue: Catalogue
) -> list[ShownSet]:
    """Order sets by a column, `-` before its name for descending; equal ones keep their order.

    Raises:
        UsageError: If the column is none.
    """
    if not column:
        return list(shown)
    name = _column(column.removeprefix("-"), catalogue)
    return sorted(shown, key=lambda one: _sort_key(one, name), reverse=column.startswith("-"))


def _sort_key(one: ShownSet, column: str) -> tuple[int, float, str]:
    live = one.live
    if column in one.catalogue:
        value = one.catalogue.effective(live.knobs)[column]
        return (0, 0.0, value) if isinstance(value, str) else (0, float(value), "")
    text: Mapping[str, str | None] = {
        "tenant": live.tenant,
        "revision": live.revision,
        "updated": live.updated_at,
        "by": live.updated_by,
        "owner": one.owner,
        "set": f"{len(live.knobs):06}",
    }
    found = text[column] if column in text else one.labels.get(column.removeprefix("labels."))
    return (0, 0.0, found) if found else (1, 0.0, "")


def sets_json(shown: Sequence[ShownSet]) -> str:
    """The machine-readable answer, contract section 7."""
    return json.dumps(
        {
            "version": 1,
            "command": "get",
            "outcome": "ok",
            "exit_code": 0,
            "tenants": [one.as_json() for one in shown],
        },
        indent=2,
    )
