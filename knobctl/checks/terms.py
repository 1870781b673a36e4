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
    """The variables but `knob`, each with its keys."""
    own: _Parts
    """Those of them that the knobs of the document do not decide."""
    of_knob: bool
    """Whether the variable `knob` is read."""
    as_written: Callable[[Mapping[str, object]], object]
    """Picks the knobs that decide the others, as they are written."""


def wanted_by(reading: Reading, catalogue: Catalogue) -> Wanted:
    """Say what decides the variables that are read."""
    parts = sorted((one for one in reading.wanted if one[0] != "knob"), key=itemgetter(0))
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


class AsWritten(dict[str, object]):
    """Knobs as a tenant and its layers write them: where these are equal, what is in force is."""

    @classmethod
    def by(cls, subject: Subject) -> AsWritten:
        """Take those of a tenant."""
        origins = subject.effective.origins.items()
        return cls((name, (chain[0].literal, chain[0].value)) for name, chain in origins)

    def __missing__(self, _: str) -> None:
        """A knob that is not written is at its default."""


class Row:
    """One tenant, or one of its knobs, as expressions see it."""

    __slots__ = ("_knob", "_mark", "_own", "name", "subject", "written")

    def __init__(
        self,
        subject: Subject,
        written: AsWritten,
        own: dict[str, str] | None = None,
        name: str | None = None,
    ) -> None:
        self.subject, self.written = subject, written
        self.name = name
        """The knob that an `each` policy is asked for."""
        self._own: dict[str, str] = {} if own is None else own
        self._mark: object = None
        self._knob: dict[str, object] | None = None

    def about(self, name: str) -> Row:
        """The same tenant, for one of its knobs."""
        row = Row(self.subject, self.written, self._own, name)
        row._mark = decided_by(self.subject, name) or object()
        return row

    def key(self, wanted: Wanted) -> object:
        """What is equal where everything that is read is equal."""
        written = wanted.as_written(self.written)
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
        values = self.subject.variable(variable, keys)
        assert isinstance(values, dict)
        return values

    def value(self, term: Term) -> object:
        """The value of a term; `ABSENT` where its map lacks the key."""
        variable, key = term
        if variable == "knob":
            return self._of_knob.get(key, ABSENT)
        return self._values(variable, frozenset((key,))).get(key, ABSENT)

    @property
    def _of_knob(self) -> dict[str, object]:
        if self._knob is None:
            self._knob = asked_knob(self.subject, self.name, None) if self.name is not None else {}
        return self._knob

    def bound(self, wanted: Wanted) -> cel.Activation:
        """Bind what is read, for CEL."""
        variables: dict[str, object] = {"knob": self._of_knob} if wanted.of_knob else {}
        for variable, keys in wanted.parts:
            variables[variable] = self.subject.variable(variable, keys)
        return activation(variables)

    def bound_to(self, term: Term) -> cel.Activation:
        """Bind one key of a variable alone."""
        variable, key = term
        value = self.value(term)
        return activation({variable: {} if value is ABSENT else {key: value}})
