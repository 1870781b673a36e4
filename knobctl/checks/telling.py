"""What a policy says of a tenant in which its condition holds: place, message and hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.checks.expressions import Expression, ExpressionError, RunawayError, truth
from knobctl.checks.reading import KEYED, reading_of
from knobctl.checks.templates import Template, shown_value
from knobctl.checks.terms import ABSENT, wanted_by

if TYPE_CHECKING:
    from knobctl.checks.policies import Policy
    from knobctl.checks.subject import Subject
    from knobctl.checks.terms import Row, Term
    from knobctl.knobs import Catalogue


class Hit(NamedTuple):
    """A policy that found fault, not yet with one tenant at one place."""

    policy: Policy
    knob: str | None
    """The knob whose place is shown."""
    value: object
    message: str
    hint: str | None
    failed: str | None = None
    """The field of the policy that could not be evaluated."""
    runs_away: bool = False
    """Whether that took too many steps."""


class _Words(NamedTuple):
    """What is said where equal things are read: all but the value at the place."""

    place: str | None
    message: str
    hint: str | None
    failed: str | None = None
    runs_away: bool = False


class Telling:
    """One policy's words. What was said of equal values is not made again."""

    def __init__(self, policy: Policy, catalogue: Catalogue) -> None:
        self.policy = policy
        self._catalogue = catalogue
        self._wanted = wanted_by(policy.depends)
        self._message = _Text(policy.message, catalogue)
        self._hint = _Text(policy.hint, catalogue) if policy.hint else None
        self._at = _Text(policy.at, catalogue) if isinstance(policy.at, Template) else None
        self._known: dict[object, _Words] = {}

    def hit(self, row: Row, outcome: object) -> Hit:
        """Say what the policy found; what fails while it runs is a fault, never a pass.

        Args:
            row: The tenant, and the knob where the policy is asked for each.
            outcome: What its condition gave.
        """
        key = outcome, row.name, row.key(self._wanted)
        words = self._known.get(key) if outcome is True else None
        if words is None:
            words = self._words(row, outcome)
            if outcome is True:
                self._known[key] = words
        value = None if words.failed else _value(row.subject, words.place, row.name)
        return Hit(
            self.policy,
            words.place,
            value,
            words.message,
            words.hint,
            words.failed,
            words.runs_away,
        )

    def _words(self, row: Row, outcome: object) -> _Words:
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
            return _Words(None, error.message, None, step, isinstance(error, RunawayError))
        return _Words(place, message, hint)

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
    """A template, filled part by part."""

    def __init__(self, template: Template, catalogue: Catalogue) -> None:
        self._template = template
        self._parts = {id(part): _Part(part, catalogue) for _, part in template.expressions()}

    def filled(self, row: Row) -> str:
        """Fill the braces for one tenant.

        Raises:
            ExpressionError: Of the first expression that fails.
        """
        return self._template.text(lambda part: self._parts[id(part)].shown(row))


class _Part:
    """One expression of a template: most are one term, for which nobody needs CEL."""

    def __init__(self, expression: Expression, catalogue: Catalogue) -> None:
        self._expression = expression
        reading = reading_of(expression.text, catalogue)
        self._wanted = wanted_by(reading)
        self._term = _only_term(expression.text.strip(), reading.keys)
        self._known: dict[object, str] = {}

    def shown(self, row: Row) -> str:
        """What stands in the text.

        Raises:
            ExpressionError: As `Expression.value`.
        """
        if self._term is not None and _is_plain(value := row.value(self._term)):
            return shown_value(value)
        key = row.key(self._wanted)
        known = self._known.get(key)
        if known is None:
            known = shown_value(self._expression.value(row.bound(self._wanted)))
            self._known[key] = known
        return known


def _only_term(text: str, keys: frozenset[Term]) -> Term | None:
    """The term that is the whole of an expression, such as `reach.vector_depth` or `name['fusion.k']`."""
    for variable, key in keys if len(keys) == 1 else ():
        spellings = (f"{variable}.{key}", f"{variable}['{key}']", f'{variable}["{key}"]')
        if variable in KEYED and key and "\\" not in key and text in spellings:
            return variable, key
    return None


_WHOLE: Final = range(-(2**63), 2**63)


def _is_plain(value: object) -> bool:
    """Whether CEL would give a value back as it is."""
    if value is ABSENT:
        return False
    if isinstance(value, str):
        return value.isascii()
    return isinstance(value, (bool, float)) or (isinstance(value, int) and value in _WHOLE)
