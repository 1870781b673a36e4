"""The fleet as columns: one line a tenant, 100,000 of them in a few megabytes. Pure.

It is filled in steps by whoever draws it, and by nobody else: first the rows that the documents give,
then the verdicts of the checks, then the live sets, as each of them becomes known.
"""

from __future__ import annotations

from array import array
from enum import IntEnum, StrEnum
from itertools import count
from math import nan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from knobctl.knobs import Catalogue, KnobValue

    Cells: TypeAlias = "tuple[str, str, About, Mapping[str, KnobValue], int]"
    """A row, or as much of a tuple."""


class Mark(IntEnum):
    """What is known of one line: each is one bit."""

    JUDGED = 1
    """The checks have said what they have to say."""
    WARN = 2
    ERROR = 4
    COMPARED = 8
    """It is known what the engine holds."""
    DRIFT = 16
    UNMANAGED = 32
    """The engine holds a set, and no document asks for it."""
    NO_TENANT = 64
    """A file that cannot be read, or a name that can be no tenant's: it can be looked at, not opened."""
    UNRESOLVED = 128
    """Its layers may not have been read yet, so that nobody knows what it comes to."""


class State(StrEnum):
    """The worst that is known of one line."""

    ERROR = "x error"
    DRIFT = "~ drift"
    WARN = "! warn"
    UNMANAGED = "unmanaged"
    OK = "ok"
    WAITING = "..."
    """Nobody has looked yet."""


class About(NamedTuple):
    """What a tenant's document says besides its name and its knobs; many say the same."""

    layers: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    owner: str = ""


class Row(NamedTuple):
    """One tenant as its document has it, or a file that gives none."""

    name: str
    source: str
    """The file; empty where there is none."""
    about: About
    desired: Mapping[str, KnobValue]
    """The canonical set that it wants, its layers resolved."""
    marks: int = 0


class Verdict(NamedTuple):
    """What the checks say of one line."""

    row: int
    errors: int
    warnings: int
    rules: tuple[str, ...]
    """Of what counts, the worst first, each once."""


class Held(NamedTuple):
    """What the engine holds of a tenant, as far as the list shows it."""

    tenant: str
    floor: float
    """Of the live set; NaN where it is not set."""
    changed: float
    """When it was written last, in seconds since 1970; NaN for never, or where nobody knows."""
    actor: str
    differs: bool
    """Whether it is another set than the one that its documents want."""


NOBODY: Final = About()
NO_KNOBS: Final[Mapping[str, KnobValue]] = MappingProxyType({})
# Plain numbers: a member costs a look-up in every row of 100,000.
_JUDGED, _WARN, _ERROR = int(Mark.JUDGED), int(Mark.WARN), int(Mark.ERROR)
_COMPARED, _DRIFT, _UNMANAGED = int(Mark.COMPARED), int(Mark.DRIFT), int(Mark.UNMANAGED)
_LOOKED: Final = _JUDGED | _COMPARED
_STATES: Final = (
    (Mark.ERROR, State.ERROR),
    (Mark.DRIFT, State.DRIFT),
    (Mark.WARN, State.WARN),
    (Mark.UNMANAGED, State.UNMANAGED),
)
_BY_MARKS: Final = tuple(
    next(
        (state for mark, state in _STATES if marks & mark),
        # What the engine holds may be another set: nothing is in order until that is known.
        State.OK if marks & _LOOKED == _LOOKED else State.WAITING,
    )
    for marks in range(256)
)


class Chunk:
    """Some rows, laid out as columns where nothing is drawn; see `Fleet.add`."""

    def __init__(self, rows: Iterable[Cells]) -> None:
        columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * len(Row._fields)
        self.names: list[str] = columns[0]
        self.sources: list[str] = columns[1]
        text = "".join(self.names)
        is_low = text == text.lower()
        self.lowered = self.names if is_low else [name.lower() for name in self.names]
        """For searching; mostly the names themselves."""
        self.marks = bytearray(columns[4])
        # By identity: what many tenants say alike is one object.
        self.abouts: list[About]
        self.abouts, about = _distinct(columns[2])
        self.about = array("I", about)
        self.sets: list[Mapping[str, KnobValue]]
        self.sets, places = _distinct(columns[3])
        self.set_of = array("I", places)
        sizes = list(map(len, self.sets))
        self.counts = array("H", map(sizes.__getitem__, places))


def _distinct(things: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """The different ones of some objects, and the place of each."""
    by_id = dict(zip(map(id, things), things, strict=True))
    places = dict(zip(by_id, count(), strict=False))
    return list(by_id.values()), [places[id(thing)] for thing in things]


def codes_of(catalogue: Catalogue) -> dict[str, dict[str, float]]:
    """By knob that holds a mode, the number that stands for each in a column."""
    return {
        knob.name: {choice: float(at) for at, choice in enumerate(knob.choices)}
        for knob in catalogue
        if knob.choices
    }


class Fleet:
    """The columns. What a line is called by is its row, which it keeps."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Take the knobs; there is no row yet."""
        self.catalogue = catalogue
        floor = catalogue.by_role.get("floor.fused")
        self.floor_knob = floor.name if floor else ""
        self.revision = 0
        """Another one whenever anything has changed."""
        self.names: list[str] = []
        self.lowered: list[str] = []
        """For searching."""
        self.sources: list[str] = []
        self.marks = bytearray()
        self.abouts: list[About] = []
        self.about = array("I")
        """Which of them, by row."""
        self.counts = array("H")
        """Knobs set."""
        self.sets: list[Mapping[str, KnobValue]] = []
        self.set_of = array("I")
        """Which of them, by row: the sets that documents want."""
        self.warnings = array("I")
        self.rules: list[tuple[str, ...]] = [()]
        self.rule = array("I")
        self.live_floors = array("d")
        self.changed = array("d")
        self.actors: list[str] = [""]
        self.actor = array("I")
        self.at: dict[str, int] = {}
        """The row of a tenant; the first where several documents claim it."""
        self.twins: dict[str, list[int]] = {}
        """The other rows of such a tenant."""
        self._columns: dict[str, array[float]] = {}
        self._about_places: dict[int, int] = {}
        self._set_places: dict[int, int] = {}
        self._rule_places: dict[tuple[str, ...], int] = {(): 0}
        self._actor_places: dict[str, int] = {"": 0}

    def __len__(self) -> int:
        return len(self.names)

    def add(self, chunk: Chunk) -> None:
        """Add rows at the end."""
        before, more = len(self.names), len(chunk.names)
        fresh = dict(zip(chunk.names, range(before, before + more), strict=True))
        if len(fresh) == more and self.at.keys().isdisjoint(fresh):
            self.at.update(fresh)
        else:
            self._add_twins(chunk.names)
        self.names += chunk.names
        self.lowered += chunk.lowered
        self.sources += chunk.sources
        self.marks += chunk.marks
        abouts = _places(chunk.abouts, self._about_places, self.abouts)
        self.about.extend(map(abouts.__getitem__, chunk.about))
        sets = _places(chunk.sets, self._set_places, self.sets)
        self.set_of.extend(map(sets.__getitem__, chunk.set_of))
        self.counts += chunk.counts
        for counted in (self.warnings, self.rule, self.actor):
            counted.extend(array("I", [0]) * more)
        for unknown in (self.live_floors, self.changed):
            unknown.extend(array("d", [nan]) * more)
        self.revision += 1

    def _add_twins(self, names: Sequence[str]) -> None:
        for row, name in enumerate(names, len(self.names)):
            if self.at.setdefault(name, row) != row:
                self.twins.setdefault(name, []).append(row)

    def rows_of(self, tenant: str) -> Iterator[int]:
        """The rows of a tenant; none where it is not known."""
        row = self.at.get(tenant)
        if row is not None:
            yield row
            yield from self.twins.get(tenant, ())

    def judge(self, verdicts: Iterable[Verdict]) -> None:
        """Take what the checks say."""
        marks, places = self.marks, self._rule_places
        keep = ~(_JUDGED | _WARN | _ERROR)
        for row, errors, warnings, rules in verdicts:
            new = _JUDGED | (_WARN if warnings else 0) | (_ERROR if errors else 0)
            marks[row] = marks[row] & keep | new
            self.warnings[row] = warnings
            self.rule[row] = _place(rules, places, self.rules)
        self.revision += 1

    def hold(self, held: Iterable[Held]) -> list[Held]:
        """Take what the engine holds.

        Returns:
            That of tenants that have no row.
        """
        strangers = []
        for one in held:
            row = self.at.get(one.tenant)
            if row is None:
                strangers.append(one)
                continue
            self._hold(row, one)
            for twin in self.twins.get(one.tenant, ()) if self.twins else ():
                self._hold(twin, one)
        self.revision += 1
        return strangers

    def _hold(self, row: int, one: Held) -> None:
        self.live_floors[row] = one.floor
        self.changed[row] = one.changed
        self.actor[row] = _place(one.actor, self._actor_places, self.actors)
        marks = self.marks[row] & ~_DRIFT | _COMPARED
        self.marks[row] = marks | _DRIFT if one.differs and not marks & _UNMANAGED else marks

    def state(self, row: int) -> State:
        """The worst that is known of a row."""
        return _BY_MARKS[self.marks[row]]

    def may_be_opened(self, row: int) -> bool:
        """Whether a row is a tenant that can be looked at from nearby, and edited."""
        return not self.marks[row] & Mark.NO_TENANT

    def value(self, row: int, knob: str) -> KnobValue | None:
        """What a row's documents set for a knob; None where they do not set it."""
        return self.sets[self.set_of[row]].get(knob)

    def column(self, knob: str) -> array[float]:
        """What the documents set for a knob, by row, for whoever compares it.

        Returns:
            NaN where it is not set; the place of its choice for a mode.
        """
        column = self._columns.get(knob)
        if column is None or len(column) != len(self.set_of):
            places = self.set_of[:]  # rows may come meanwhile, in another thread
            numbers = self._numbers(knob)
            column = self._columns[knob] = array("d", map(numbers.__getitem__, places))
        return column

    def _numbers(self, knob: str) -> list[float]:
        """By set, its value of a knob as a number."""
        codes = codes_of(self.catalogue).get(knob, {})
        values = [one.get(knob, nan) for one in self.sets]
        return [codes[value] if isinstance(value, str) else value for value in values]

    def about_of(self, row: int) -> About:
        """What a row's document says besides."""
        return self.abouts[self.about[row]]

    def rules_of(self, row: int) -> Sequence[str]:
        """The rules of what the checks say of a row."""
        return self.rules[self.rule[row]]

    def actor_of(self, row: int) -> str:
        """Who wrote a row's live set last; empty where nobody did, or nobody knows."""
        return self.actors[self.actor[row]]

    def tally(self) -> dict[State, int]:
        """How many rows are in each state."""
        found = dict.fromkeys(State, 0)
        for marks in range(len(_BY_MARKS)):
            number = self.marks.count(marks)
            if number:
                found[_BY_MARKS[marks]] += number
        return found


def _places(things: Sequence[Any], places: dict[int, int], known: list[Any]) -> list[int]:
    """The place of each of some objects among those that are known from now on.

    By identity: it is one object for many, and comparing what it says would cost more than a few twins.
    """
    found = []
    for thing in things:
        place = places.setdefault(id(thing), len(known))
        if place == len(known):
            known.append(thing)
        found.append(place)
    return found


def _place(value: object, places: dict, values: list) -> int:  # type: ignore[type-arg]
    place = places.get(value)
    if place is None:
        place = places[value] = len(values)
        values.append(value)
    return place
