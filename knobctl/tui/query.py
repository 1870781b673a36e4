"""The words of the fleet's filter: read at each key, and asked of the columns of 100,000 rows in milliseconds. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.text import nearest
from knobctl.tui.comparisons import column_compared
from knobctl.tui.fleet import Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knobctl.knobs import Catalogue, Knob
    from knobctl.tui.comparisons import Kept
    from knobctl.tui.fleet import About, Fleet

_WORD: Final = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_COMPARISON: Final = re.compile(r"([A-Za-z_][\w.]*)(<=|>=|!=|=|<|>)(.*)", re.DOTALL)
_FIELD: Final = re.compile(r"([A-Za-z_]+):(.*)", re.DOTALL)
_LOOKED: Final = Mark.JUDGED | Mark.COMPARED
_FAULTY: Final = Mark.WARN | Mark.DRIFT | Mark.ERROR | Mark.UNMANAGED
STATES: Final[Mapping[str, Callable[[int], bool]]] = {
    "ok": lambda marks: marks & (_LOOKED | _FAULTY) == _LOOKED,
    "warn": lambda marks: bool(marks & Mark.WARN),
    "drift": lambda marks: bool(marks & Mark.DRIFT),
    "error": lambda marks: bool(marks & Mark.ERROR),
    "x": lambda marks: bool(marks & Mark.ERROR),
    "unreadable": lambda marks: bool(marks & Mark.NO_TENANT),
    "unmanaged": lambda marks: bool(marks & Mark.UNMANAGED),
    "waiting": lambda marks: not marks & _FAULTY and marks & _LOOKED != _LOOKED,
}
"""By word, whether the marks of a row are in that state; a row may be in several."""
SHORT: Final = {
    "floor": "floor.fused",
    "topk": "depth.vector",
    "k": "fusion.k",
}
"""Short names of knobs, by role."""
_COUNTED: Final = ("set", "warnings")
"""What can be compared besides knobs."""


class Fault(NamedTuple):
    """A word that cannot be understood."""

    word: str
    message: str


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a filter: a chip on the screen."""

    word: str
    """As typed."""
    kept: Kept


@dataclass(frozen=True, slots=True)
class Query:
    """A whole filter: every word must hold."""

    terms: tuple[Term, ...] = ()
    faults: tuple[Fault, ...] = ()

    def rows(self, fleet: Fleet, rows: Sequence[int]) -> Sequence[int]:
        """Those of some rows that every word keeps, in their order."""
        for term in self.terms:
            rows = term.kept(fleet, rows)
        return rows


def read_query(text: str, catalogue: Catalogue) -> Query:
    """Read a filter as it is typed: what cannot be understood is told, and the rest holds all the same.

    Args:
        text: Words between blanks; a blank within quotes belongs to its word.
        catalogue: The knobs that can be named.
    """
    terms, faults = [], []
    for word in words_of(text):
        try:
            terms.append(Term(word, _kept(word, catalogue)))
        except _NotUnderstoodError as error:
            faults.append(Fault(word, error.args[0]))
    return Query(tuple(terms), tuple(faults))


def words_of(text: str) -> list[str]:
    """The words of a filter."""
    return _WORD.findall(text)


def without(text: str, word: str) -> str:
    """A filter without one of its words."""
    words = words_of(text)
    if word in words:
        words.reverse()
        words.remove(word)
        words.reverse()
    return " ".join(words)


class _NotUnderstoodError(Exception):
    """Says what is wrong with a word."""


def _kept(word: str, catalogue: Catalogue) -> Kept:
    if word.count('"') % 2:
        raise _NotUnderstoodError("the quote is not closed")
    if word.startswith("!"):
        return _none_of(_kept(word[1:], catalogue)) if len(word) > 1 else _everything
    found = _FIELD.fullmatch(word)
    if found:
        return _of_field(found[1].lower(), found[2].replace('"', ""), catalogue)
    found = _COMPARISON.fullmatch(word)
    if found:
        return _compared(found[1], found[2], found[3].replace('"', ""), catalogue)
    return _named(word.replace('"', "").lower())


def _everything(_fleet: Fleet, rows: Sequence[int]) -> list[int]:
    return list(rows)


def _none_of(kept: Kept) -> Kept:
    def others(fleet: Fleet, rows: Sequence[int]) -> list[int]:
        out = bytearray(len(fleet))
        for row in kept(fleet, rows):
            out[row] = 1
        return [row for row in rows if not out[row]]

    return others


def _named(part: str) -> Kept:
    def kept(fleet: Fleet, rows: Sequence[int]) -> list[int]:
        names = fleet.lowered
        return [row for row in rows if part in names[row]]

    return kept


def _of_field(name: str, wanted: str, catalogue: Catalogue) -> Kept:
    field = FIELDS.get(name)
    if field is None:
        raise _NotUnderstoodError(_unknown("filter", name, list(FIELDS)))
    if not wanted:
        raise _NotUnderstoodError(f"{name}: takes {field.takes}")
    return field.kept(wanted, catalogue)


def _in_file(part: str, _catalogue: Catalogue) -> Kept:
    def kept(fleet: Fleet, rows: Sequence[int]) -> list[int]:
        sources = fleet.sources
        return [row for row in rows if part in sources[row]]

    return kept


def _owner(wanted: str, _catalogue: Catalogue) -> Kept:
    parts = _parts(wanted)
    return _about(lambda about: _has(about.owner, parts))


def _layer(wanted: str, _catalogue: Catalogue) -> Kept:
    parts = _parts(wanted)
    return _about(lambda about: any(layer.lower() in parts for layer in about.layers))


def _rule(wanted: str, _catalogue: Catalogue) -> Kept:
    parts = _parts(wanted)

    def answers(fleet: Fleet) -> list[bool]:
        return [any(_has(rule, parts) for rule in rules) for rules in fleet.rules]

    return _within(lambda fleet: (answers(fleet), fleet.rule))


def _by(wanted: str, _catalogue: Catalogue) -> Kept:
    parts = _parts(wanted)
    return _within(lambda fleet: ([_has(one, parts) for one in fleet.actors], fleet.actor))


def _parts(wanted: str) -> list[str]:
    return [one for one in wanted.lower().split("|") if one]


def _has(text: str, parts: Sequence[str]) -> bool:
    lowered = text.lower()
    return any(part in lowered for part in parts)


def _label(wanted: str, _catalogue: Catalogue) -> Kept:
    pairs = [one.partition("=") for one in wanted.split("|")]

    def holds(about: About) -> bool:
        return any(
            about.labels.get(label) == value if sign else label in about.labels
            for label, sign, value in pairs
        )

    return _about(holds)


def _about(holds: Callable[[About], bool]) -> Kept:
    return _within(lambda fleet: ([holds(about) for about in fleet.abouts], fleet.about))


def _within(asked: Callable[[Fleet], tuple[Sequence[bool], Sequence[int]]]) -> Kept:
    """Ask once of what many rows share."""

    def kept(fleet: Fleet, rows: Sequence[int]) -> list[int]:
        answers, places = asked(fleet)
        return [row for row in rows if answers[places[row]]]

    return kept


def _state(wanted: str, _catalogue: Catalogue) -> Kept:
    words = wanted.lower().split("|")
    for word in words:
        if word not in STATES:
            raise _NotUnderstoodError(_unknown("state", word, list(STATES)))
    holds = bytes(any(STATES[word](marks) for word in words) for marks in range(256))

    def kept(fleet: Fleet, rows: Sequence[int]) -> list[int]:
        marks = fleet.marks
        return [row for row in rows if holds[marks[row]]]

    return kept


def _is_set(wanted: str, catalogue: Catalogue) -> Kept:
    knobs = [_knob(one, catalogue).name for one in wanted.split("|")]

    def kept(fleet: Fleet, rows: Sequence[int]) -> list[int]:
        columns = list(map(fleet.column, knobs))
        if len(columns) == 1:  # only NaN is unequal to itself
            (column,) = columns
            return [row for row in rows if column[row] == column[row]]
        return [row for row in rows if any(one[row] == one[row] for one in columns)]

    return kept


def _compared(name: str, sign: str, text: str, catalogue: Catalogue) -> Kept:
    if name == "live" or name in _COUNTED:
        return _number_compared(name, sign, text, catalogue)
    knob = _knob(name, catalogue)
    if knob.choices:
        return _mode_compared(knob, sign, text)
    wanted = _number(name, sign, text)
    assert isinstance(knob.default, (int, float))
    return column_compared(lambda fleet: fleet.column(knob.name), sign, wanted, float(knob.default))


def _number_compared(name: str, sign: str, text: str, catalogue: Catalogue) -> Kept:
    wanted = _number(name, sign, text)
    if name == "set":
        return column_compared(lambda fleet: fleet.counts, sign, wanted, nan)
    if name == "warnings":
        return column_compared(lambda fleet: fleet.warnings, sign, wanted, nan)
    floor = catalogue.by_role.get("floor.fused")
    if floor is None:
        raise _NotUnderstoodError("these knobs have no fused floor")
    assert isinstance(floor.default, (int, float))
    held = column_compared(lambda fleet: fleet.live_floors, sign, wanted, float(floor.default))

    def kept(fleet: Fleet, rows: Sequence[int]) -> list[int]:
        marks, read = fleet.marks, int(Mark.COMPARED)
        return [row for row in held(fleet, rows) if marks[row] & read]

    return kept


def _mode_compared(knob: Knob, sign: str, text: str) -> Kept:
    if sign not in {"=", "!="}:
        raise _NotUnderstoodError(f"{knob.name} is a mode: only = and != compare it")
    choices = {choice.lower(): float(at) for at, choice in enumerate(knob.choices)}
    wanted = choices.get(text.lower())
    if wanted is None:
        raise _NotUnderstoodError(_unknown("value of " + knob.name, text, list(knob.choices)))
    default = choices.get(str(knob.default).lower(), nan)
    return column_compared(lambda fleet: fleet.column(knob.name), sign, wanted, default)


def _number(name: str, sign: str, text: str) -> float:
    over, slash, under = text.partition("/")
    try:
        number = float(over) / float(under) if slash else float(over)
    except (ValueError, ZeroDivisionError):
        number = nan
    if not isfinite(number):
        raise _NotUnderstoodError(f"{name}{sign} takes a number, such as 0.33 or 1/3")
    return number


def _knob(name: str, catalogue: Catalogue) -> Knob:
    knob = catalogue.by_any_name.get(name) or catalogue.by_role.get(SHORT.get(name, ""))
    if knob is None:
        short = [one for one, role in SHORT.items() if role in catalogue.by_role]
        raise _NotUnderstoodError(_unknown("knob", name, [*catalogue.by_any_name, *short, "live"]))
    return knob


def _unknown(what: str, word: str, known: Sequence[str]) -> str:
    close = nearest(word, known)
    known_words = ", ".join(known) if len(known) <= 8 else f"{len(known)} others"
    return f"there is no {what} {word}" + (
        f"; did you mean {close}?" if close else f"; there are {known_words}"
    )


class Field(NamedTuple):
    """A filter by what stands before a colon."""

    takes: str
    kept: Callable[[str, Catalogue], Kept]


FIELDS: Final[Mapping[str, Field]] = {
    "state": Field(", ".join(STATES), _state),
    "set": Field("a knob that is set, such as set:retrieval_vector_top_k", _is_set),
    "label": Field("a label, or one with its value: label:plan=pro", _label),
    "owner": Field("part of the owner's name", _owner),
    "layer": Field("the name of a layer", _layer),
    "rule": Field("part of the id of a rule that has found something", _rule),
    "file": Field("part of the name of the file", _in_file),
    "by": Field("part of the name of who wrote the live set last", _by),
}
"""By its name, what each takes; `|` stands between what may be either, but in the name of a file."""
