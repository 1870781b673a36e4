"""Asks the policies of tenants: each question once for equal values, however many tenants have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knobctl.checks.expressions import ExpressionError, Template, activation
from knobctl.checks.policies import Each, Policy
from knobctl.finding import Severity
from knobctl.knobs.knob import KnobType
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cel_expr_python import cel

    from knobctl.checks.reading import Reading
    from knobctl.checks.subject import Subject

_OWN: Final = frozenset({"labels", "owner", "tenant", "evidence"})
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


class _Shared(NamedTuple):
    """What is said of every tenant that writes equal knobs."""

    hits: tuple[Hit, ...]
    personal: tuple[Policy, ...]
    """The policies that are to be asked of each such tenant by itself."""


class Asking:
    """The policies of one run, and the answers that they gave already."""

    def __init__(self, policies: Sequence[Policy], *, alone: bool = True) -> None:
        """Take the policies of a run.

        Args:
            policies: Those in force.
            alone: Whether the documents are all that is known: no base, no live sets.
        """
        self._policies = policies
        self._alone = alone
        self._by_text: dict[object, _Shared] = {}
        self._by_signature: dict[object, _Shared] = {}
        self._answers: dict[object, tuple[Hit, ...]] = {}

    def hits(self, subject: Subject, text: object = None) -> Sequence[Hit]:
        """Ask every policy of one tenant.

        Args:
            subject: The tenant.
            text: What all tenants have in common whose documents write the same characters; None
                where that cannot be told.
        """
        if subject.faulty:
            return [
                hit
                for policy in self._policies
                if not policy.looks_at(subject.faulty)
                for hit in self._ask(policy, subject)
            ]
        shared = self._by_text.get(text) if text is not None else None
        if shared is None:
            shared = self._shared(subject)
            if text is not None:
                self._by_text[text] = shared
        if not shared.personal:
            return shared.hits
        own = (hit for policy in shared.personal for hit in self._ask(policy, subject))
        return [*shared.hits, *own]

    def _shared(self, subject: Subject) -> _Shared:
        shared = self._by_signature.get(subject.signature)
        if shared is None:
            hits: list[Hit] = []
            personal: list[Policy] = []
            for policy in self._policies:
                if not _is_personal(policy, alone=self._alone):
                    hits += self._ask(policy, subject)
                elif not self._alone or _is_asked(policy, subject):
                    personal.append(policy)
            shared = _Shared(tuple(hits), tuple(personal))
            self._by_signature[subject.signature] = shared
        return shared

    def _ask(self, policy: Policy, subject: Subject) -> tuple[Hit, ...]:
        if not _is_asked(policy, subject):
            return ()
        if policy.each is None:
            return self._answer(policy, subject, None)
        return tuple(
            hit for name in _each(policy, subject) for hit in self._answer(policy, subject, name)
        )

    def _answer(self, policy: Policy, subject: Subject, name: str | None) -> tuple[Hit, ...]:
        key = (policy.id, name, _values_seen(policy, subject, name))
        answer = self._answers.get(key)
        if answer is None:
            answer = tuple(_evaluated(policy, subject, name))
            self._answers[key] = answer
        return answer


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


def _is_asked(policy: Policy, subject: Subject) -> bool:
    if policy.on_change:
        return subject.before is not None and policy.looks_at(subject.changed)
    if policy.severity is Severity.INFO and policy.each is None:
        return policy.looks_at(subject.news)
    return "live" not in policy.asks.variables or subject.live is not None


def _each(policy: Policy, subject: Subject) -> Iterable[str]:
    """The knobs for which an `each` policy is asked; none of whose value nothing is known."""
    names: Iterable[str] = subject.literals
    if policy.each is Each.RESET:
        names = [name for name in subject.live or () if name not in subject.literals]
    elif policy.severity is Severity.INFO and subject.base is not None:
        names = [name for name in subject.literals if name in subject.news]
    if subject.faulty:
        return [name for name in names if name not in subject.faulty]
    return names


def _values_seen(policy: Policy, subject: Subject, name: str | None) -> object:
    """Everything that the policy's expressions can see of this tenant, as one hashable value."""
    depends: Reading = policy.depends
    literals = subject.literals
    seen: list[object] = []
    if depends.everything:
        seen.append(subject.signature)
    else:
        seen.extend(map(literals.get, depends.knobs))
    if name is not None:
        seen.append(literals.get(name))
    if policy.at is None and name is None:
        seen.extend(map(literals.get, policy.reads))
    seen += [_hashable(subject.variable(variable)) for variable in depends.variables & _OWN]
    if depends.variables & _BEFORE or policy.each is Each.RESET:
        seen += [_hashable(subject.live), _hashable(subject.before)]
    return tuple(seen)


def _hashable(value: Any) -> object:  # noqa: ANN401  any variable of CEL
    if isinstance(value, dict):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


def _evaluated(policy: Policy, subject: Subject, name: str | None) -> Iterator[Hit]:
    """Evaluate a policy; what fails while it runs is a fault, never a pass."""
    if "reach" in policy.depends.variables and subject.reached is None:
        return  # no floor is in force, so there is nothing to say of it
    step = "when"
    try:
        if not policy.when.holds(_bound(policy.asks, subject, name)):
            return
        bound = _bound(policy.depends, subject, name)
        step = "at"
        place = name if name is not None else _place(policy, subject, bound)
        step = "message"
        message = policy.message.text(bound)
        step = "hint"
        hint = policy.hint.text(bound) if policy.hint else None
    except ExpressionError as error:
        yield Hit(policy, None, None, error.message, None, step)
        return
    yield Hit(policy, place, _value(subject, place, written=name is not None), message, hint)


def _bound(reading: Reading, subject: Subject, name: str | None) -> cel.Activation:
    """Bind the variables that expressions read."""
    variables: dict[str, object] = {}
    for variable, keys in reading.wanted:
        if variable == "knob":
            variables[variable] = _asked_knob(subject, name) if name is not None else {}
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
    if written and subject.live and name in subject.live:
        return subject.live[name]
    return subject.values[name]


def _asked_knob(subject: Subject, name: str) -> dict[str, object]:
    """The variable `knob` of an `each` policy."""
    knob = subject.catalogue[name]
    origin = subject.effective.origin(name)
    value = origin.value if origin else (subject.live or {}).get(name, knob.default)
    return {
        "name": name,
        "value": value,
        "literal": origin.literal if origin else spelled(value),
        "default": knob.default,
        "default_text": spelled(knob.default),
        "unset": value == knob.unset,
        "surprises": knob.zero_surprises,
        "hides": bool(subject.effective.hidden(name)),
        "mode": knob.type is KnobType.MODE,
        "off": knob.off,
        "off_hint": _off_hint(knob.off),
        "zero": knob.zero,
        "role": knob.role or "",
        "unit": knob.unit,
    }


def _off_hint(off: str) -> str:
    """How to write "practically off", as an instruction: `write recency_ranker_mode: DISABLED`."""
    if not off:
        return ""
    off = off.removeprefix("not offered: ")
    mode, _, state = off.partition(" ")
    if state == "DISABLED":
        return f"write {mode}: DISABLED to switch it off"
    if off.startswith("cannot"):
        return f"it {off}"
    return off if off.startswith(("write ", "leave ")) else f"write {off}"
