"""One audit event in full: who, when and why, each field before and after, and how to go back to it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.changes.audit_reasons import reason_parts
from knobctl.report.ages import ago
from knobctl.report.history import change_row
from knobctl.report.sets import table
from knobctl.text import count, visible
from knobctl.tui.ui import line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from textual.content import Content

    from knobctl.knobs import Catalogue
    from knobctl.tui.audit import EventRow, Mine
    from knobctl.tui.ui import Part, Role

_SIGNS: Final[dict[str, tuple[str, Role]]] = {
    "set": ("+", "good"),
    "change": ("~", "edited"),
    "reset": ("-", "warn"),
}
"""By what happened to a field, its sign; the word stands beside it."""
_WIDEST: Final = 60
"""Characters of a path or a value, so that a row stays a line."""


def fields_text(paths: tuple[str, ...]) -> str:
    """Say which fields changed: their names where they are few."""
    if not paths:
        return "no field changed"
    return (
        ", ".join(paths) if len(paths) < 3 else f"{count(len(paths), 'field')}: {', '.join(paths)}"
    )


def head_lines(row: EventRow, mine: Mine, now: datetime) -> list[Content]:
    """Say who changed what, when and why."""
    why, added = reason_parts(row.reason)
    who: list[Part] = [(row.actor or "somebody", "strong")]
    if mine.is_mine(row):
        who.append((" (you)", "accent"))
    kind = "" if row.type == "config.updated" else f"  [{row.type}]"
    lines = [
        line(
            (f"{row.tenant}  {row.revision}", "strong"),
            "  by ",
            *who,
            f", {ago(row.occurred_at, now)}",
            (f"  {row.occurred_at}{kind}", "muted"),
        )
    ]
    if row.is_broken:
        lines.append(
            line(("x does not continue the chain: it was changed past the engine", "error"))
        )
    lines.append(line(("why   ", "muted"), why or ("no reason was given", "muted")))
    lines += [line((f"{name:<5} ", "muted"), text) for name, text in added.items()]
    if row.run:
        lines.append(line(("run   ", "muted"), row.run, ("  knobctl runs " + row.run, "muted")))
    return lines


def event_lines(event: Mapping[str, Any], catalogue: Catalogue) -> list[Content]:
    """Say what happened to each field, and what else the event holds."""
    rows = [
        [cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 1]}…" for cell in change]
        for change in (change_row(path, event, catalogue) for path in _paths(event))
    ]
    drawn = table(rows).splitlines() if rows else []
    lines = [
        line(_SIGNS.get(row[0], ("~", "")), f" {text}")
        for row, text in zip(rows, drawn, strict=True)
    ]
    lines += [] if rows else [line("no field changed: the set was written as it was")]
    return [*lines, *_ending(event)]


def _paths(event: Mapping[str, Any]) -> list[str]:
    """The fields that changed; of sets that are none there are none."""
    paths, sets = event.get("changed_field_paths"), (event.get("before"), event.get("after"))
    if not isinstance(paths, list) or not all(isinstance(one, dict) for one in sets):
        return []
    return [path for path in paths if isinstance(path, str)]


def _ending(event: Mapping[str, Any]) -> Iterator[Content]:
    after = event.get("after")
    held = count(len(after), "knob") if isinstance(after, dict) else "a set that cannot be read"
    yield line(("then  ", "muted"), f"the tenant held {held}", (f"  hash {_hash(event)}", "muted"))


def _hash(event: Mapping[str, Any]) -> str:
    found = event.get("hash")
    return visible(found[:16]) + "..." if isinstance(found, str) and found else "none"
