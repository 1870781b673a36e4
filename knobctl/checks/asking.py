"""Asks the policies of tenants: once for equal texts, however many tenants have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.checks.asked_knob import asked_knob
from knobctl.checks.expressions import (
    TOO_MANY_STEPS,
    ExpressionError,
    RunawayError,
    Template,
    Together,
    activation,
    compile_expression,
    truth,
)
from knobctl.checks.policies import Each, Policy
from knobctl.checks.reading import Reading
from knobctl.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cel_expr_python import cel

    from knobctl.checks.subject import Subject
    from knobctl.documents.model import Document

_OWN: Final = frozenset({"labels", "owner", "tenant", "evidence", "fleet"})
_BEFORE: Final = frozenset({"live", "changed", "reach_before"})


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


class _Shared(NamedTuple):
    """What is said of every tenant whose documents write the same characters."""

    hits: tuple[Hit, ...]
    personal: tuple[Policy, ...]
    """The policies that are to be asked of each such tenant by itself."""


class Asking:
    """The policies of one run, and what they said of the texts that were seen already."""

    def __init__(self, policies: Sequence[Policy], *, alone: bool = True) -> None:
        """Take the policies of a run.

        Args:
            policies: Those in force.
            alone: Whether the documents are all that is known: no base, no live sets.
        """
        self._policies = policies
        self._alone = alone
        self._shared = [policy for policy in policies if not _is_personal(policy, alone=alone)]
        self._personal = [policy for policy in policies if policy not in self._shared]
        self._conditions = {**_grouped(self._shared), **_grouped(self._personal)}
        self._by_text: dict[object, _Shared] = {}
        self._stopped: dict[Policy, str] = {}
        """Policies that took too many steps once, and for whom: asked of each tenant, a run would never end."""

    def hits(self, subject: Subject) -> Sequence[Hit]:
        """Ask every policy of one tenant."""
        if subject.faulty:
            sound = [one for one in self._policies if not one.looks_at(subject.faulty)]
            return tuple(self._hits(sound, subject))
        text = _text(subject.document)
        shared = self._by_text.get(text) if text is not None else None
        if shared is None:
            shared = self._asked(subject)
            if text is not None:
                self._by_text[text] = shared
        if not shared.personal:
            return shared.hits
        return (*shared.hits, *self._hits(shared.personal, subject))

    def _asked(self, subject: Subject) -> _Shared:
        asked = self._personal
        if self._alone:  # what is asked is then decided by what is written
            asked = [policy for policy in asked if why_not_asked(policy, subject) is None]
        return _Shared(tuple(self._hits(self._shared, subject)), tuple(asked))

    def _hits(self, policies: Iterable[Policy], subject: Subject) -> Iterator[Hit]:
        """Ask policies of one tenant; those that are asked about the same, in one step."""
        known: dict[tuple[_Conditions, str | None], Sequence[object]] = {}
        for policy in policies:
            if why_not_asked(policy, subject) is not None:
                continue
            conditions = self._conditions[policy]
            for name in (None,) if policy.each is None else _each(policy, subject):
                if policy in self._stopped:
                    yield _not_asked_again(policy, self._stopped[policy])
                    break
                key = conditions, name
                if key not in known:
                    known[key] = conditions.outcomes(subject, name)
                outcome = known[key][conditions.place[policy]]
                if outcome is not False:
                    hit = _hit(policy, subject, name, outcome)
                    yield hit
                    if hit.runs_away:
                        self._stopped[policy] = subject.document.name
                        conditions.stop(policy)
                        break


def _not_asked_again(policy: Policy, of: str) -> Hit:
    words = f"{TOO_MANY_STEPS}, for {of}; so it is asked of nobody else"
    return Hit(policy, None, None, words, None, "when")


def _text(tenant: Document) -> object:
    """The same for tenants that write the same characters; None where an alias may stand for anything."""
    written = tenant.literal("knobs")
    return None if "*" in written else (written, tenant.layers)


class _Conditions:
    """The conditions of policies that are asked about the same."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self.place = {policy: index for index, policy in enumerate(policies)}
        self._sees = sum((policy.asks for policy in policies), Reading())
        self._conditions = [policy.when for policy in policies]
        self._together = Together(self._conditions)

    def outcomes(self, subject: Subject, name: str | None) -> Sequence[object]:
        """Give for each policy whether its condition holds, or why that cannot be said."""
        return self._together.outcomes(_bound(self._sees, subject, name))

    def stop(self, policy: Policy) -> None:
        """Ask one of them no more."""
        self._conditions[self.place[policy]] = compile_expression("false")
        self._together = Together(self._conditions)


def _grouped(policies: Iterable[Policy]) -> dict[Policy, _Conditions]:
    alike: dict[tuple[Each | None, bool], list[Policy]] = {}
    for policy in policies:
        alike.setdefault((policy.each, policy.on_change), []).append(policy)
    groups = [(group, _Conditions(group)) for group in alike.values()]
    return {policy: conditions for group, conditions in groups for policy in group}


def _is_personal(policy: Policy, *, alone: bool) -> bool:
    """Whether tenants that write equal knobs may get different answers."""
    if policy.depends.variables & _OWN:
        return True
    if alone:
        return False
    return (
        policy.on_change
        or policy.each is Each.RESET
        or policy.severity is Severity.INFO
        or bool(policy.depends.variables & _BEFORE)
    )


def why_not_asked(policy: Policy, subject: Subject) -> str | None:
    """Why a policy has nothing to say of a tenant, whatever its condition; None where it is asked."""
    if policy.on_change:
        if subject.before is None:
            return "it looks at a change, and no earlier set is known (base or live)"
        if not policy.looks_at(subject.changed):
            return "it looks at a change, and no knob that it reads changes"
    elif (
        policy.severity is Severity.INFO
        and policy.each is None
        and not policy.looks_at(subject.news)
    ):
        return "an info speaks only where a knob that it reads is written"
    if "live" in policy.asks.variables and subject.live is None:
        return "it reads the live set, and that is not known"
    if "reach" in policy.depends.variables and subject.reached is None:
        return "no floor is in force"
    return None


def _each(policy: Policy, subject: Subject) -> Iterable[str]:
    """The knobs for which an `each` policy is asked; none of whose value nothing is known."""
    names: Iterable[str] = subject.literals
    if policy.each is Each.RESET:
        names = subject.omitted
    elif policy.severity is Severity.INFO and subject.base is not None:
        names = [name for name in subject.literals if name in subject.news]
    if subject.faulty:
        return [name for name in names if name not in subject.faulty]
    return names


def _hit(policy: Policy, subject: Subject, name: str | None, outcome: object) -> Hit:
    """Say what a policy found; what fails while it runs is a fault, never a pass."""
    step = "when"
    try:
        truth(outcome)
        bound = _bound(policy.depends, subject, name)
        step = "at"
        place = name if name is not None else _place(policy, subject, bound)
        step = "message"
        message = policy.message.text(bound)
        step = "hint"
        hint = policy.hint.text(bound) if policy.hint else None
    except ExpressionError as error:
        runs_away = isinstance(error, RunawayError)
        return Hit(policy, None, None, error.message, None, step, runs_away)
    return Hit(policy, place, _value(subject, place, written=name is not None), message, hint)


def _bound(reading: Reading, subject: Subject, name: str | None) -> cel.Activation:
    """Bind the variables that expressions read."""
    variables: dict[str, object] = {}
    for variable, keys in reading.wanted:
        if variable == "knob":
            variables[variable] = asked_knob(subject, name, keys) if name is not None else {}
        else:
            variables[variable] = subject.variable(variable, keys)
    return activation(variables)


def _place(policy: Policy, subject: Subject, bound: cel.Activation) -> str | None:
    at = policy.at
    if isinstance(at, Template):
        called = at.text(bound)
        catalogue = subject.catalogue
        knob = catalogue.by_any_name.get(called) or catalogue.by_role.get(called)
        if knob is None:
            raise ExpressionError(f"{called} is neither a knob nor a role")
        return knob.name
    return at or next(iter(policy.reads), None)


def _value(subject: Subject, name: str | None, *, written: bool) -> object:
    if name is None:
        return None
    if written and (origin := subject.effective.origin(name)):
        return origin.value
    if written and name in subject.omitted:
        return subject.omitted[name]
    return subject.values[name]
