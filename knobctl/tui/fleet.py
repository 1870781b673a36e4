"""The fleet as columns: one line a tenant, 100,000 of them in a few megabytes. Pure.

It is filled in steps by whoever draws it, and by nobody else: first the rows that the documents give,
then the verdicts of the checks, then the live sets, as each of them becomes known.
"""

from __future__ import annotations

from array import array
from enum import IntEnum, StrEnum
from math import isnan, nan
from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.knobs import KnobType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knobctl.knobs import Catalogue, KnobValue


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

    def __init__(self, rows: Iterable[Row], catalogue: Catalogue) -> None:
        self.names: list[str] = []
        self.sources: list[str] = []
        self.marks = bytearray()
        self.abouts: list[About] = []
        self.about = array("I")
        abouts: dict[int, int] = {}
        sets: dict[int, int] = {}
        wanted: list[Mapping[str, KnobValue]] = []
        places = []
        # By identity: what many tenants say alike is one object.
        for name, source, about, desired, marks in rows:
            self.names.append(name)
            self.sources.append(source)
            self.marks.append(marks)
            if abouts.setdefault(id(about), len(abouts)) == len(self.abouts):
                self.abouts.append(about)
            self.about.append(abouts[id(about)])
            if sets.setdefault(id(desired), len(sets)) == len(wanted):
                wanted.append(desired)
            places.append(sets[id(desired)])
        sizes = list(map(len, wanted))
        self.counts = array("H", map(sizes.__getitem__, places))
        self.values = {
            knob: array("d", map(column.__getitem__, places))
            for knob, column in _columns(wanted, codes_of(catalogue)).items()
        }


def _columns(
    sets: Sequence[Mapping[str, KnobValue]], codes: Mapping[str, Mapping[str, float]]
) -> dict[str, list[float]]:
    """By knob that any of some sets has, its number in each of them; NaN where it is not in it."""
    found: dict[str, list[float]] = {}
    for at, one in enumerate(sets):
        for knob, value in one.items():
            column = found.get(knob)
            if column is None:
                column = found[knob] = [nan] * len(sets)
            column[at] = codes[knob][value] if isinstance(value, str) else value
    return found


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
        self.values: dict[str, array[float]] = {}
        """By knob that anybody sets; NaN where it is not set; the place of its choice for a mode."""
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
        self._about_places: dict[int, int] = {}
        self._rule_places: dict[tuple[str, ...], int] = {(): 0}
        self._actor_places: dict[str, int] = {"": 0}

    def __len__(self) -> int:
        return len(self.names)

    def add(self, chunk: Chunk) -> None:
        """Add rows at the end."""
        before, more = len(self.names), len(chunk.names)
        for row, name in enumerate(chunk.names, before):
            if self.at.setdefault(name, row) != row:
                self.twins.setdefault(name, []).append(row)
        self.names += chunk.names
        for name in chunk.names:
            lowered = name.lower()
            self.lowered.append(name if lowered == name else lowered)
        self.sources += chunk.sources
        self.marks += chunk.marks
        places = [self._about_place(about) for about in chunk.abouts]
        self.about.extend(places[place] for place in chunk.about)
        self.counts += chunk.counts
        for knob in chunk.values.keys() - self.values.keys():
            self.values[knob] = array("d", [nan]) * before
        for knob, column in self.values.items():
            column.extend(chunk.values.get(knob) or array("d", [nan]) * more)
        for counted in (self.warnings, self.rule, self.actor):
            counted.extend(array("I", [0]) * more)
        for unknown in (self.live_floors, self.changed):
            unknown.extend(array("d", [nan]) * more)
        self.revision += 1

    def _about_place(self, about: About) -> int:
        # By identity: it is one object for many, and comparing labels would cost more than a few twins.
        place = self._about_places.get(id(about))
        if place is None:
            place = self._about_places[id(about)] = len(self.abouts)
            self.abouts.append(about)
        return place

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
        column = self.values.get(knob)
        if column is None or isnan(column[row]):
            return None
        known = self.catalogue[knob]
        if known.choices:
            return known.choices[int(column[row])]
        return column[row] if known.type is KnobType.DOUBLE else int(column[row])

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


def _place(value: object, places: dict, values: list) -> int:  # type: ignore[type-arg]
    place = places.get(value)
    if place is None:
        place = places[value] = len(values)
        values.append(value)
    return place
