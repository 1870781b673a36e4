"""What a policy says of a tenant in which its condition holds: place, message and hint."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.checks.expressions import (
    Expression,
    ExpressionError,
    RunawayError,
    Together,
    truth,
)
from knobctl.checks.known import Known
from knobctl.checks.reading import KEYED, Reading, reading_of
from knobctl.checks.templates import Template, shown_value
from knobctl.checks.terms import ABSENT, wanted_by

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knobctl.checks.policies import Policy
    from knobctl.checks.subject import Subject
    from knobctl.checks.terms import Row, Term
    from knobctl.knobs import Catalogue


class Words(NamedTuple):
    """What is said where equal things are read: all but the value at the place."""

    place: str | None
    """The knob whose place is shown."""
    message: str
    hint: str | None
    failed: str | None = None
    """The field of the policy that could not be evaluated."""
    runs_away: bool = False
    """Whether that took too many steps."""


class Hit:
    """A policy that found fault, not yet with one tenant at one place. Its words are made when they are asked for."""

    __slots__ = ("_row", "_say", "_words", "is_sure", "policy")

    def __init__(
        self, policy: Policy, row: Row, say: Callable[[Row], Words], *, holds: bool = False
    ) -> None:
        self.policy = policy
        self.is_sure = holds and policy.built_in
        """Whether nothing can fail any more: the condition holds, and the words of what ships are tested."""
        self._row, self._say = row, say
        self._words: Words | None = None

    @property
    def words(self) -> Words:
        """What is said."""
        if self._words is None:
            self._words = self._say(self._row)
        return self._words

    @property
    def value(self) -> object:
        """The value at the place."""
        words = self.words
        return None if words.failed else _value(self._row.subject, words.place, self._row.name)


class Telling:
    """One policy's words. What was said of equal values is not made again."""

    def __init__(self, policy: Policy, catalogue: Catalogue) -> None:
        self.policy = policy
        self._catalogue = catalogue
        self._wanted = wanted_by(policy.depends, catalogue)
        self._message = _Text(policy.message, catalogue)
        self._hint = _Text(policy.hint, catalogue) if policy.hint else None
        self._at = _Text(policy.at, catalogue) if isinstance(policy.at, Template) else None
        self._known: Known[Words] = Known()

    def hit(self, row: Row, outcome: object) -> Hit:
        """Say what the policy found; what fails while it runs is a fault, never a pass.

        Args:
            row: The tenant, and the knob where the policy is asked for each.
            outcome: What its condition gave.
        """
        if outcome is True:
            return Hit(self.policy, row, self._said, holds=True)
        return Hit(self.policy, row, partial(self._words, outcome=outcome))

    def _said(self, row: Row) -> Words:
        if self._known.gave_up:
            return self._words(row)
        key = row.name, row.key(self._wanted)
        words = self._known.get(key)
        if words is None:
            words = self._words(row)
            self._known.put(key, words)
        return words

    def _words(self, row: Row, outcome: object = True) -> Words:
        step = "when"
        try:
            truth(outcome)
            step = "at"
            place = row.name if row.name is not None else self._place(row)
            step = "message"
            message = self._message.filled(row)
            step = "hint"
            hint = self._hint.filled(row) if self._hint else None
        except ExpressionError as error:
            return Words(None, error.message, None, step, isinstance(error, RunawayError))
        return Words(place, message, hint)

    def _place(self, row: Row) -> str | None:
        if self._at is not None:
            called = self._at.filled(row)
            catalogue = self._catalogue
            knob = catalogue.by_any_name.get(called) or catalogue.by_role.get(called)
            if knob is None:
                raise ExpressionError(f"{called} is neither a knob nor a role")
            return knob.name
        at = self.policy.at
        assert not isinstance(at, Template)
        return at or next(iter(self.policy.reads), None)


def _value(subject: Subject, place: str | None, asked: str | None) -> object:
    """The value at the place: for a knob that is asked for by itself, as it is written."""
    if place is None:
        return None
    if asked is not None and (origin := subject.effective.origin(place)):
        return origin.value
    if asked is not None and place in subject.omitted:
        return subject.omitted[place]
    return subject.values[place]


class _Text:
    """A template, filled part by part: most are one term, for which nobody needs CEL."""

    def __init__(self, template: Template, catalogue: Catalogue) -> None:
        fixed = [_fixed(part, catalogue) for part in template.parts]
        self._template = Template(tuple(fixed))
        parts = [part for part in fixed if isinstance(part, Expression)]
        self._terms = {id(part): _only_term(part.text.strip(), catalogue) for part in parts}
        self._asked = [part for part in parts if self._terms[id(part)] is None]
        reading = sum((reading_of(part.text, catalogue) for part in self._asked), Reading())
        self._wanted = wanted_by(reading, catalogue)
        self._known: Known[Sequence[object]] = Known()

    @cached_property
    def _together(self) -> Together:
        return Together(self._asked)

    def filled(self, row: Row) -> str:
        """Fill the braces for one tenant.

        Raises:
            ExpressionError: Of the first expression that fails.
        """
        outcomes = iter(self._outcomes(row) if self._asked else ())

        def shown(part: Expression) -> str:
            term = self._terms[id(part)]
            if term is None:
                return _shown(next(outcomes))
            value = row.value(term)
            if not _is_plain(value):
                value = part.value(row.bound_to(term))
            return shown_value(value)

        return self._template.text(shown)

    def _outcomes(self, row: Row) -> Sequence[object]:
        if self._known.gave_up:
            return self._together.outcomes(row.bound(self._wanted))
        key = row.key(self._wanted)
        outcomes = self._known.get(key)
        if outcomes is None:
            outcomes = self._together.outcomes(row.bound(self._wanted))
            self._known.put(key, outcomes)
        return outcomes


def _shown(outcome: object) -> str:
    if isinstance(outcome, ExpressionError):
        raise outcome
    return shown_value(outcome)


def _only_term(text: str, catalogue: Catalogue) -> Term | None:
    """The term that is the whole of an expression, such as `reach.vector_depth` or `name['fusion.k']`."""
    keys = reading_of(text, catalogue).keys
    for variable, key in keys if len(keys) == 1 else ():
        spellings = (f"{variable}.{key}", f"{variable}['{key}']", f'{variable}["{key}"]')
        if variable in KEYED and key and "\\" not in key and text in spellings:
            return variable, key
    return None


def _fixed(part: str | Expression, catalogue: Catalogue) -> str | Expression:
    """A part of a template; what is the same for every tenant, such as `name['fusion.k']`, as its text."""
    term = _only_term(part.text.strip(), catalogue) if isinstance(part, Expression) else None
    if term is not None and term[0] in {"name", "default"}:
        knob = catalogue.by_role[term[1]]
        value = knob.name if term[0] == "name" else knob.default
        return shown_value(value) if _is_plain(value) else part
    return part


_WHOLE: Final = range(-(2**63), 2**63)


def _is_plain(value: object) -> bool:
    """Whether CEL would give a value back as it is."""
    if value is ABSENT:
        return False
    if isinstance(value, str):
        return value.isascii()
    return isinstance(value, (bool, float)) or (isinstance(value, int) and value in _WHOLE)
