"""What the cells of the fleet's list say, and which columns there is room for. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Final

from knobctl.text import spelled
from knobctl.tui.fleet import Mark, State
from knobctl.tui.query import SHORT
from knobctl.tui.widgets.virtual_table import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knobctl.tui.fleet import Fleet
    from knobctl.tui.ui import Role

ROLES: Final[dict[State, Role]] = {
    State.ERROR: "error",
    State.DRIFT: "drift",
    State.WARN: "warn",
    State.UNMANAGED: "muted",
    State.OK: "good",
    State.WAITING: "muted",
}
_STATE: Final = Column("state", "state", 9)
_FLOOR: Final = Column("floor", "floor", 6, right=True)
_LIVE: Final = Column("live", "live", 6, right=True)
_TOPK: Final = Column("topk", "topk", 5, right=True)
_SET: Final = Column("set", "set", 3, right=True)
_CHANGE_WIDTHS: Final = ((130, 24), (100, 20), (74, 15))
"""From which width on the last change is shown, and how wide."""
_NOT_SET: Final[tuple[str, Role]] = ("-", "muted")
_NOT_KNOWN: Final[tuple[str, Role]] = ("...", "muted")
_NOBODY_KNOWS: Final[tuple[str, Role]] = ("?", "muted")


class FleetLines:
    """The fleet as a list shows it."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.marked: set[int] = set()
        catalogue = fleet.catalogue
        known = {name: catalogue.by_role.get(role) for name, role in SHORT.items()}
        self._topk = known["topk"].name if known["topk"] else ""

    @property
    def revision(self) -> object:
        """See `Lines.revision`."""
        return id(self.fleet), self.fleet.revision

    def columns(self, width: int) -> Sequence[Column]:
        """See `Lines.columns`."""
        has_floor = bool(self.fleet.floor_knob)
        middle = [_FLOOR, _LIVE] if has_floor else []
        middle += [_TOPK] if self._topk and width >= 100 else []
        middle.append(_SET)
        change = next((wide for least, wide in _CHANGE_WIDTHS if width >= least), 0)
        end = [Column("change", "last change", change)] if change else []
        # The signs, and a blank behind each.
        room = width - 2 - sum(one.width + 1 for one in (_STATE, *middle, *end)) - 1
        tenant = room if not change else min(max(20, room * 3 // 5), 40)
        if change and room - tenant - 1 >= 6:
            end.append(Column("findings", "findings", room - tenant - 1))
        else:
            tenant = room
        return [_STATE, Column("tenant", "tenant", max(tenant, 1)), *middle, *end]

    def is_marked(self, row: int) -> bool:
        """See `Lines.is_marked`."""
        return row in self.marked

    def cell(self, row: int, column: str) -> tuple[str, Role]:
        """See `Lines.cell`."""
        return self._cells[column](row)

    @cached_property
    def _cells(self) -> Mapping[str, Callable[[int], tuple[str, Role]]]:
        fleet = self.fleet
        return {
            "state": self._state,
            "tenant": lambda row: (fleet.names[row], ""),
            "floor": lambda row: self._value(row, fleet.floor_knob),
            "live": self._live,
            "topk": lambda row: self._value(row, self._topk),
            "set": self._set,
            "change": self._change,
            "findings": self._findings,
        }

    def _state(self, row: int) -> tuple[str, Role]:
        state = self.fleet.state(row)
        return state.value, ROLES[state]

    def _set(self, row: int) -> tuple[str, Role]:
        if self.fleet.marks[row] & Mark.UNRESOLVED:
            return _NOT_KNOWN
        if self.fleet.marks[row] & (Mark.UNMANAGED | Mark.NO_TENANT):
            return _NOT_SET
        return str(self.fleet.counts[row]), ""

    def _value(self, row: int, knob: str) -> tuple[str, Role]:
        if self.fleet.marks[row] & Mark.NO_TENANT:
            return _NOBODY_KNOWS
        if self.fleet.marks[row] & Mark.UNRESOLVED:
            return _NOT_KNOWN
        value = self.fleet.value(row, knob)
        return _NOT_SET if value is None else (spelled(value), "")

    def _live(self, row: int) -> tuple[str, Role]:
        marks = self.fleet.marks[row]
        if marks & Mark.NO_TENANT:
            return _NOBODY_KNOWS
        if not marks & Mark.COMPARED:
            return _NOT_KNOWN
        floor = self.fleet.live_floors[row]
        wanted = self.fleet.value(row, self.fleet.floor_knob)
        held = None if isnan(floor) else floor
        differs = held != wanted and not marks & Mark.UNMANAGED
        role: Role = "drift" if differs else "" if held is not None else "muted"
        return ("-" if held is None else spelled(held)), role

    def _change(self, row: int) -> tuple[str, Role]:
        marks = self.fleet.marks[row]
        if marks & Mark.NO_TENANT:
            return "", ""
        if not marks & Mark.COMPARED:
            return _NOT_KNOWN
        changed, actor = self.fleet.changed[row], self.fleet.actor_of(row)
        if isnan(changed):
            return (actor, "") if actor else ("never", "muted")
        return f"{datetime.fromtimestamp(changed, UTC):%Y-%m-%d} {actor}", ""

    def _findings(self, row: int) -> tuple[str, Role]:
        fleet = self.fleet
        rules = ", ".join(fleet.rules_of(row))
        number = fleet.warnings[row]
        if fleet.marks[row] & Mark.ERROR:
            return rules, "error"
        return (f"{number} {rules}" if number else "", "warn")
