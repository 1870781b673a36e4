"""What expressions read of a tenant, and a key that is equal where that is: nothing is asked of it twice."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from knobctl.checks.asked_knob import asked_knob, decided_by
from knobctl.checks.expressions import activation
from knobctl.checks.reading import ARITHMETIC

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cel_expr_python import cel

    from knobctl.checks.reading import Reading
    from knobctl.checks.subject import Subject
    from knobctl.knobs import Catalogue

Term: TypeAlias = tuple[str, str]
"""A variable that is a map, and its key."""
BEFORE: Final = frozenset({"live", "changed", "reach_before"})
"""The variables that say what was before."""
OWN: Final = BEFORE | {"labels", "owner", "tenant", "evidence", "fleet"}
"""The variables that differ between tenants whose documents write equal knobs."""
ABSENT: Final = object()
_Parts: TypeAlias = "Sequence[tuple[str, frozenset[str] | None]]"


class Wanted(NamedTuple):
    """What one or several expressions read."""

    parts: _Parts
    """The variables, each with its keys."""
    own: _Parts
    """Those of them that the knobs of the document do not decide."""
    of_knob: bool
    """Whether the variable `knob` is read."""
    as_written: Callable[[Mapping[str, object]], object]
    """Picks the knobs that decide the others, as they are written."""


def wanted_by(reading: Reading, catalogue: Catalogue) -> Wanted:
    """Say what decides the variables that are read."""
    parts = sorted(reading.wanted, key=itemgetter(0))
    names = reading.knobs
    if reading.variables & ARITHMETIC and (constant := catalogue.by_role.get("fusion.k")):
        names = (*names, constant.name)  # it moves ceilings too, where the sum is not divided
    return Wanted(
        parts,
        [one for one in parts if one[0] in OWN],
        "knob" in reading.variables,
        _everything if reading.everything else itemgetter(*names) if names else _nothing,
    )


def _everything(written: Mapping[str, object]) -> object:
    return tuple(written.items())


def _nothing(_: object) -> object:
    return ()


class Row:
    """One tenant, or one of its knobs, as expressions see it."""

    __slots__ = ("_mark", "_own", "name", "subject")

    def __init__(self, subject: Subject, name: str | None = None) -> None:
        self.subject = subject
        self.name = name
        """The knob that an `each` policy is asked for."""
        self._mark = None if name is None else decided_by(subject, name) or object()
        self._own: dict[str, str] = {}

    def key(self, wanted: Wanted) -> object:
        """What is equal where everything that is read is equal."""
        written = wanted.as_written(self.subject.as_written)
        if wanted.own:
            written = (written, *map(self._spelling, wanted.own))
        return (written, self._mark) if wanted.of_knob else written

    def _spelling(self, part: tuple[str, frozenset[str] | None]) -> str:
        """A variable, spelled out: 1, 1.0 and true are three values to CEL, and to their spelling."""
        variable, keys = part
        if keys is not None:
            return repr(sorted(self._values(variable, keys).items()))
        found = self._own.get(variable)
        if found is None:
            found = self._own[variable] = repr(self.subject.variable(variable))
        return found

    def _values(self, variable: str, keys: frozenset[str]) -> dict[str, object]:
        values = self._variable(variable, keys)
        assert isinstance(values, dict)
        return values

    def _variable(self, variable: str, keys: frozenset[str] | None) -> object:
        if variable != "knob":
            return self.subject.variable(variable, keys)
        return {} if self.name is None else asked_knob(self.subject, self.name, keys)

    def value(self, term: Term) -> object:
        """The value of a term; `ABSENT` where its map lacks the key."""
        variable, key = term
        return self._values(variable, frozenset((key,))).get(key, ABSENT)

    def bound(self, wanted: Wanted) -> cel.Activation:
        """Bind what is read, for CEL."""
        return activation({one: self._variable(one, keys) for one, keys in wanted.parts})

    def bound_to(self, term: Term) -> cel.Activation:
        """Bind one key of a variable alone."""
        variable, key = term
        value = self.value(term)
        return activation({variable: {} if value is ABSENT else {key: value}})
