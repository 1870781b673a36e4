"""Asks the policies of tenants: once for equal texts, and of other ones once for equal values of what they read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.checks.expressions import TOO_MANY_STEPS, Together, compile_expression
from knobctl.checks.policies import Each, Policy
from knobctl.checks.reading import Reading
from knobctl.checks.telling import Hit, Telling
from knobctl.checks.terms import OWN, Numbers, Row, Terms, Wanted, wanted_by
from knobctl.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knobctl.checks.subject import Subject
    from knobctl.documents.model import Document

_BEFORE: Final = frozenset({"live", "changed", "reach_before"})
_SEEN_OFTEN: Final = 8
_MOST_TOGETHER: Final = 64
"""How many sets of conditions are compiled as one expression: that costs as much as some evaluations."""


class _Shared(NamedTuple):
    """What is said of every tenant whose documents write the same characters."""

    terms: Terms
    hits: tuple[Hit, ...]
    personal: tuple[Policy, ...]
    """The policies that are to be asked of each such tenant by itself."""


class Asking:
    """The policies of one run, and what they said of the values that were seen already."""

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
        self._conditions = _grouped(policies)
        self._together = _Several()
        self._telling: dict[Policy, Telling] = {}
        self._numbers = Numbers()
        self._by_text: dict[object, _Shared] = {}
        self._stopped: dict[Policy, str] = {}
        """Policies that took too many steps once, and for whom: asked of each tenant, a run would never end."""

    def hits(self, subject: Subject) -> Sequence[Hit]:
        """Ask every policy of one tenant."""
        own = Terms(subject, self._numbers)
        if subject.faulty:
            sound = [one for one in self._policies if not one.looks_at(subject.faulty)]
            return tuple(self._hits(sound, subject, Row(subject, self._numbers, own, own)))
        text = _text(subject.document)
        shared = self._by_text.get(text) if text is not None else None
        if shared is None:
            shared = self._asked(subject)
            if text is not None:
                self._by_text[text] = shared
        if not shared.personal:
            return shared.hits
        row = Row(subject, self._numbers, shared.terms, own)
        return (*shared.hits, *self._hits(shared.personal, subject, row))

    def _asked(self, subject: Subject) -> _Shared:
        terms = Terms(subject, self._numbers)
        row = Row(subject, self._numbers, terms, terms)
        hits = tuple(self._hits(self._shared, subject, row))
        asked = self._personal
        if self._alone:  # what is asked is then decided by what is written
            asked = [policy for policy in asked if why_not_asked(policy, subject) is None]
        return _Shared(terms, hits, tuple(asked))

    def _hits(self, policies: Iterable[Policy], subject: Subject, row: Row) -> Iterator[Hit]:
        """Ask policies of one tenant; those that are asked for the first time of such values, in one step."""
        asked: dict[Each | None, list[Policy]] = {}
        for policy in policies:
            if why_not_asked(policy, subject) is None:
                asked.setdefault(policy.each, []).append(policy)
        seen: dict[tuple[Each | None, str | None], tuple[Row, Mapping[Policy, object]]] = {}
        for policy in [one for one in policies if one in asked.get(one.each, ())]:
            for name in (None,) if policy.each is None else _each(policy, subject):
                if policy in self._stopped:
                    yield _not_asked_again(policy, self._stopped[policy])
                    break
                look = seen.get((policy.each, name))
                if look is None:
                    one = row if name is None else row.about(name)
                    look = one, self._outcomes(asked[policy.each], one)
                    seen[policy.each, name] = look
                if look[1][policy] is False:
                    continue
                hit = self._told(policy, subject).hit(look[0], look[1][policy])
                yield hit
                if hit.runs_away:
                    self._stop(policy, subject)
                    break

    def _outcomes(self, policies: Iterable[Policy], row: Row) -> dict[Policy, object]:
        """Give for each policy whether its condition holds, or why that cannot be said."""
        unknown: dict[_Conditions, tuple[int, ...]] = {}
        found: dict[Policy, object] = {}
        for conditions in dict.fromkeys(map(self._conditions.__getitem__, policies)):
            key = row.key(conditions.wanted)
            outcomes = conditions.known.get(key)
            if outcomes is None:
                unknown[conditions] = key
            else:
                found.update(zip(conditions.policies, outcomes, strict=True))
        if unknown:
            for conditions, outcomes in self._together.outcomes(unknown, row):
                conditions.known[unknown[conditions]] = outcomes
                found.update(zip(conditions.policies, outcomes, strict=True))
        return found

    def _told(self, policy: Policy, subject: Subject) -> Telling:
        telling = self._telling.get(policy)
        if telling is None:
            telling = self._telling[policy] = Telling(policy, subject.catalogue)
        return telling

    def _stop(self, policy: Policy, subject: Subject) -> None:
        self._stopped[policy] = subject.document.name
        self._conditions[policy].stop(policy)
        self._together = _Several()


def _not_asked_again(policy: Policy, of: str) -> Hit:
    words = f"{TOO_MANY_STEPS}, for {of}; so it is asked of nobody else"
    return Hit(policy, None, None, words, None, "when")


def _text(tenant: Document) -> object:
    """The same for tenants that write the same characters; None where an alias may stand for anything."""
    written = tenant.literal("knobs")
    return None if "*" in written else (written, tenant.layers)


class _Conditions:
    """The conditions of policies that read the same, and what they gave for the values that were seen."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self.policies = policies
        self.reading = sum((policy.asks for policy in policies), Reading())
        self.wanted = wanted_by(self.reading)
        self.expressions = [policy.when for policy in policies]
        self.known: dict[tuple[int, ...], Sequence[object]] = {}

    def stop(self, policy: Policy) -> None:
        """Ask one of them no more."""
        self.expressions[self.policies.index(policy)] = compile_expression("false")


class _Several:
    """Asks several groups of conditions in one step, where they have been asked together often."""

    def __init__(self) -> None:
        self._times: dict[tuple[_Conditions, ...], int] = {}
        self._compiled: dict[tuple[_Conditions, ...], tuple[Together, Wanted]] = {}

    def outcomes(
        self, groups: Iterable[_Conditions], row: Row
    ) -> Iterator[tuple[_Conditions, Sequence[object]]]:
        """Give for each group what its conditions give."""
        together = tuple(groups)
        if len(together) > 1 and not self._are_often_asked(together):
            for one in together:
                yield from self.outcomes((one,), row)
            return
        asked, wanted = self._of(together)
        outcomes = iter(asked.outcomes(row.bound(wanted)))
        for group in together:
            yield group, [next(outcomes) for _ in group.policies]

    def _are_often_asked(self, together: tuple[_Conditions, ...]) -> bool:
        if together in self._compiled:
            return True
        times = self._times[together] = self._times.get(together, 0) + 1
        return times > _SEEN_OFTEN and len(self._compiled) < _MOST_TOGETHER

    def _of(self, together: tuple[_Conditions, ...]) -> tuple[Together, Wanted]:
        compiled = self._compiled.get(together)
        if compiled is None:
            expressions = [one for group in together for one in group.expressions]
            reading = sum((group.reading for group in together), Reading())
            compiled = self._compiled[together] = Together(expressions), wanted_by(reading)
        return compiled


def _grouped(policies: Iterable[Policy]) -> dict[Policy, _Conditions]:
    alike: dict[object, list[Policy]] = {}
    for policy in policies:
        key = policy.each, policy.on_change, policy.asks.variables, policy.asks.keys
        alike.setdefault(key, []).append(policy)
    groups = [(group, _Conditions(group)) for group in alike.values()]
    return {policy: conditions for group, conditions in groups for policy in group}


def _is_personal(policy: Policy, *, alone: bool) -> bool:
    """Whether tenants that write equal knobs may get different answers."""
    if policy.depends.variables & OWN:
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
