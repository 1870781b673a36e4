"""What expressions read of a tenant, as numbers: equal numbers are equal values, so nothing is asked of them twice."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from knobctl.checks.asked_knob import asked_knob
from knobctl.checks.expressions import activation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cel_expr_python import cel

    from knobctl.checks.reading import Reading
    from knobctl.checks.subject import Subject

Term: TypeAlias = tuple[str, str]
"""A variable and its key; the empty key where the whole variable is read."""
BEFORE: Final = frozenset({"live", "changed", "reach_before"})
"""The variables that say what was before."""
OWN: Final = BEFORE | {"labels", "owner", "tenant", "evidence", "fleet"}
"""The variables that differ between tenants whose documents write equal knobs."""
ABSENT: Final = object()
_COMPOSED: Final = frozenset({dict, list, tuple})


class Numbers:
    """Gives each value a number, by its type as well: 1, 1.0 and true are three values to CEL."""

    def __init__(self) -> None:
        self._known: dict[object, int] = {}

    def of(self, value: object) -> int:
        """The number of a value."""
        kind = value.__class__
        # Of what is empty or 0 the spelling decides: -0.0 equals 0.0 and divides otherwise.
        plain = repr(value) if not value or kind in _COMPOSED else value
        return self._known.setdefault((kind, plain), len(self._known))

    @property
    def unique(self) -> int:
        """A number that nothing else has."""
        return self.of(object())


_Parts: TypeAlias = "Sequence[tuple[str, frozenset[str] | None, Sequence[Term]]]"


class Wanted(NamedTuple):
    """What one or several expressions read."""

    alike: _Parts
    """Variables that are the same for all tenants that write the same, each with its keys."""
    own: _Parts
    of_knob: bool
    """Whether the variable `knob` is among them."""
    alike_of: Callable[[Mapping[Term, int]], object]
    """Picks the numbers of the terms."""
    own_of: Callable[[Mapping[Term, int]], object]


def wanted_by(reading: Reading) -> Wanted:
    """Divide what is read by whether it may differ between tenants that write the same."""
    parts: dict[bool, list[tuple[str, frozenset[str] | None, Sequence[Term]]]]
    parts = {True: [], False: []}
    for variable, keys in sorted(reading.wanted, key=lambda one: one[0]):
        if variable != "knob":
            terms = [(variable, "")] if keys is None else [(variable, key) for key in sorted(keys)]
            parts[variable in OWN].append((variable, keys, terms))
    alike, own = parts[False], parts[True]
    return Wanted(alike, own, "knob" in reading.variables, _picking(alike), _picking(own))


def _picking(parts: _Parts) -> Callable[[Mapping[Term, int]], object]:
    terms = [term for part in parts for term in part[2]]
    return itemgetter(*terms) if terms else _nothing


def _nothing(_: object) -> object:
    return ()


class Terms:
    """The terms of one tenant that were asked for, with their values and numbers."""

    __slots__ = ("_numbers", "_subject", "_taken", "numbers", "values")

    def __init__(self, subject: Subject, numbers: Numbers) -> None:
        self._subject, self._numbers = subject, numbers
        self.values: dict[Term, object] = {}
        self.numbers: dict[Term, int] = {}
        self._taken: _Parts = ()

    def take(self, parts: _Parts) -> None:
        """Look up what is not known yet."""
        if parts is self._taken:
            return
        self._taken = parts
        values = self.values
        for variable, keys, terms in parts:
            missing = [term for term in terms if term not in values] if values else terms
            if not missing:
                continue
            if len(missing) == len(terms):
                found = self._subject.variable(variable, keys)
            else:
                found = self._subject.variable(variable, frozenset(key for _, key in missing))
            of_key = found.get if keys is not None and isinstance(found, dict) else None
            for term in missing:
                values[term] = of_key(term[1], ABSENT) if of_key else found

    def picked(self, parts: _Parts, of: Callable[[Mapping[Term, int]], object]) -> object:
        """The numbers of terms."""
        try:
            return of(self.numbers)
        except KeyError:
            values, numbers, number = self.values, self.numbers, self._numbers.of
            for part in parts:
                for term in part[2]:
                    if term not in numbers:
                        if term not in values:
                            self.take((part,))
                        numbers[term] = number(values[term])
            return of(numbers)


class Row:
    """One tenant, or one of its knobs, as expressions see it."""

    __slots__ = ("_knob", "alike", "name", "number", "own", "subject")

    def __init__(
        self,
        subject: Subject,
        alike: Terms,
        own: Terms,
        name: str | None = None,
        number: int = -1,
    ) -> None:
        self.subject, self.alike, self.own = subject, alike, own
        self.name = name
        """The knob that an `each` policy is asked for."""
        self.number = number
        """Equal ones are equal knobs, written equally."""
        self._knob: dict[str, object] | None = None

    def about(self, name: str, number: int) -> Row:
        """The same tenant, for one of its knobs."""
        return Row(self.subject, self.alike, self.own, name, number)

    def take(self, wanted: Wanted) -> None:
        """Look up what several expressions read in one step."""
        self.alike.take(wanted.alike)
        self.own.take(wanted.own)

    def key(self, wanted: Wanted) -> object:
        """What is equal where everything that is read is equal."""
        return (
            self.alike.picked(wanted.alike, wanted.alike_of),
            self.own.picked(wanted.own, wanted.own_of) if wanted.own else (),
            self.number if wanted.of_knob else -1,
        )

    def value(self, term: Term) -> object:
        """The value of a term; `ABSENT` where its map lacks the key."""
        variable, key = term
        if variable == "knob":
            return self._of_knob.get(key, ABSENT)
        terms = self.own if variable in OWN else self.alike
        if term not in terms.values:
            terms.take([(variable, frozenset((key,)), [term])])
        return terms.values[term]

    @property
    def _of_knob(self) -> dict[str, object]:
        if self._knob is None:
            self._knob = asked_knob(self.subject, self.name, None) if self.name is not None else {}
        return self._knob

    def bound(self, wanted: Wanted) -> cel.Activation:
        """Bind what is read, for CEL."""
        variables: dict[str, object] = {"knob": self._of_knob} if wanted.of_knob else {}
        for terms, parts in ((self.alike, wanted.alike), (self.own, wanted.own)):
            terms.take(parts)
            for variable, keys, names in parts:
                variables[variable] = (
                    terms.values[names[0]] if keys is None else _map(terms.values, names)
                )
        return activation(variables)

    def bound_to(self, term: Term) -> cel.Activation:
        """Bind one key of a variable alone."""
        variable, key = term
        value = self.value(term)
        return activation({variable: {} if value is ABSENT else {key: value}})


def _map(values: Mapping[Term, object], terms: Iterable[Term]) -> dict[str, object]:
    return {term[1]: value for term in terms if (value := values[term]) is not ABSENT}
