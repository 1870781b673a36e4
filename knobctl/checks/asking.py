"""Asks the policies of tenants: once for equal texts, and of other ones once for equal values of what they read."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from knobctl.checks.asked_knob import decided_by
from knobctl.checks.concerns import asked_of, is_about, is_personal, names_for
from knobctl.checks.conditions import Conditions, Several, grouped
from knobctl.checks.expressions import TOO_MANY_STEPS
from knobctl.checks.known import Known
from knobctl.checks.reading import Reading
from knobctl.checks.telling import Hit, Telling, Words
from knobctl.checks.terms import Row, Wanted, wanted_by

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from knobctl.checks.policies import Each, Policy
    from knobctl.checks.subject import AsWritten, Subject
    from knobctl.documents.model import Document
    from knobctl.knobs import Catalogue


class _Shared(NamedTuple):
    """What is said of every tenant whose documents write the same characters."""

    written: AsWritten
    hits: tuple[Hit, ...]
    personal: tuple[Policy, ...]
    """The policies that are to be asked of each such tenant by itself."""


_Found: TypeAlias = "tuple[tuple[int, int], Policy, object, Hit | None]"
"""A condition that does not pass: its place by policy and knob, what it gives, and what is said where that is known."""


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
        self._shared = [policy for policy in policies if not is_personal(policy, alone=alone)]
        self._personal = {policy: None for policy in policies if policy not in self._shared}
        self._conditions: dict[Policy, Conditions] = {}
        self._together = Several()
        self._telling: dict[Policy, Telling] = {}
        self._by_text: Known[_Shared] = Known()
        self._rounds: dict[tuple[Policy, ...], _Round] = {}
        self._asked_alone: dict[object, tuple[tuple[Policy, ...], tuple[Policy, ...]]] = {}
        self._stopped: dict[Policy, str] = {}
        """Policies that took too many steps once, and for whom: asked of each tenant, a run would never end."""

    def hits(self, subject: Subject) -> Sequence[Hit]:
        """Ask every policy of one tenant."""
        if subject.faulty:
            sound = [one for one in self._policies if not one.looks_at(subject.faulty)]
            return tuple(self._hits(asked_of(sound, subject), Row(subject)))
        text = None if self._by_text.gave_up else _text(subject.document)
        shared = self._by_text.get(text) if text is not None else None
        if shared is None:
            return self._first(text, subject)
        if not shared.personal:
            return shared.hits
        subject.as_written = shared.written
        asked = shared.personal if self._alone else asked_of(shared.personal, subject)
        return (*shared.hits, *self._hits(asked, Row(subject)))

    def _first(self, text: object, subject: Subject) -> Sequence[Hit]:
        """Ask all policies of the first tenant that writes a text, in one step."""
        shared, personal = self._asked_of(subject)
        hits = tuple(self._hits((*shared, *personal), Row(subject)))
        if text is not None:
            lasting = tuple(hit for hit in hits if hit.policy not in self._personal)
            # Alone, what is asked is decided by what is written.
            again = personal if self._alone else tuple(self._personal)
            self._by_text.put(text, _Shared(subject.as_written, lasting, again))
        return hits

    def _asked_of(self, subject: Subject) -> tuple[tuple[Policy, ...], tuple[Policy, ...]]:
        """The policies that are asked of a tenant: for all that write the same, and for itself."""
        # Alone, these decide it.
        written = (tuple(subject.news), subject.reached is None) if self._alone else None
        asked = self._asked_alone.get(written)
        if asked is None:
            asked = asked_of(self._shared, subject), asked_of(self._personal, subject)
            if written is not None:
                self._asked_alone[written] = asked
        return asked

    def _hits(self, asked: tuple[Policy, ...], row: Row) -> Iterator[Hit]:
        """Ask policies of one tenant; those that are asked for the first time of such values, in one step."""
        if not asked:
            return
        turn = self._rounds.get(asked)
        if turn is None:
            catalogue = row.subject.catalogue
            self._conditions = self._conditions or grouped(self._policies, catalogue)
            turn = self._rounds[asked] = _Round.of(asked, self._conditions, catalogue)
        stopped = (
            {policy for policy in asked if policy in self._stopped} if self._stopped else set()
        )
        found = sorted(self._found(turn, row, stopped), key=itemgetter(0))
        for _, policy, outcome, said in found:
            if said is not None:
                yield said
            elif policy not in self._stopped:
                hit = self._told(policy, row.subject).hit(row, outcome)
                if not hit.is_sure and hit.words.runs_away:
                    self._stop(policy, row.subject)
                yield hit

    def _found(self, turn: _Round, row: Row, stopped: Collection[Policy]) -> Iterator[_Found]:
        """Give the conditions that do not pass, and once each policy that is asked no more."""
        subject, order = row.subject, turn.order
        for each, groups, wanted in turn.groups:
            if each is None:
                for policy, outcome in self._outcomes(groups, row):
                    if policy in order and policy not in stopped:
                        yield (order[policy], 0), policy, outcome, None
                continue
            alike = row.key(wanted)
            for number, name in enumerate(names_for(each, subject)):
                for policy, hit in self._of_knob(turn, groups, row, name, alike):
                    if policy not in stopped and is_about(policy, subject, name):
                        yield (order[policy], number), policy, True, hit
        for policy in stopped:
            names = (None,) if policy.each is None else names_for(policy.each, subject)
            if any(is_about(policy, subject, name) for name in names):
                hit = _not_asked_again(policy, row, self._stopped[policy])
                yield (order[policy], 0), policy, None, hit

    def _of_knob(
        self, turn: _Round, groups: Sequence[Conditions], row: Row, name: str, alike: object
    ) -> Sequence[tuple[Policy, Hit]]:
        """Give what policies say of one knob; the same wherever it is written the same."""
        decided = decided_by(row.subject, name)
        key = groups[0], decided, alike
        said = turn.said.get(key) if decided is not None else None
        if said is None:
            said = []
            one = Row(row.subject, name)
            for policy, outcome in self._outcomes(groups, one):
                if policy in turn.order:
                    hit = self._told(policy, row.subject).hit(one, outcome)
                    said.append((policy, hit))
                    if not hit.is_sure and hit.words.runs_away:
                        self._stop(policy, row.subject)
                        turn.said.clear()
                        return said
            if decided is not None:
                turn.said.put(key, said)
        return said

    def _outcomes(self, groups: Sequence[Conditions], row: Row) -> Iterator[tuple[Policy, object]]:
        """Give the policies whose condition does not pass, with what it gives."""
        unknown: dict[Conditions, object] = {}
        for conditions in groups:
            if conditions.known.gave_up:
                unknown[conditions] = None
                continue
            key = row.key(conditions.wanted)
            outcomes = conditions.known.get(key)
            if outcomes is None:
                unknown[conditions] = key
            elif outcomes:
                yield from outcomes
        if unknown:
            for conditions, outcomes in self._together.outcomes(unknown, row):
                if not conditions.known.gave_up:
                    conditions.known.put(unknown[conditions], outcomes)
                yield from outcomes

    def _told(self, policy: Policy, subject: Subject) -> Telling:
        telling = self._telling.get(policy)
        if telling is None:
            telling = self._telling[policy] = Telling(policy, subject.catalogue)
        return telling

    def _stop(self, policy: Policy, subject: Subject) -> None:
        self._stopped[policy] = subject.document.name
        self._conditions[policy].stop(policy)
        self._together = Several()


class Askings:
    """The policies of several runs about the same tenants, with what they said of values that were seen.

    Not for two threads at once, and for one day.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[tuple[Policy, ...], bool], Asking] = {}

    def __call__(self, policies: Sequence[Policy], *, alone: bool = True) -> Asking:
        """Give the one of some policies; see `Asking`."""
        key = tuple(policies), alone
        if key not in self._made:
            self._made[key] = Asking(policies, alone=alone)
        return self._made[key]


def _not_asked_again(policy: Policy, row: Row, of: str) -> Hit:
    words = Words(None, f"{TOO_MANY_STEPS}, for {of}; so it is asked of nobody else", None, "when")
    return Hit(policy, row, lambda _: words)


def _text(tenant: Document) -> object:
    """The same for tenants that write the same characters; None where an alias may stand for anything."""
    written = tenant.literal("knobs")
    return None if "*" in written else (written, tenant.layers)


class _Round(NamedTuple):
    """The policies that are asked of one tenant."""

    order: Mapping[Policy, int]
    groups: Sequence[tuple[Each | None, Sequence[Conditions], Wanted]]
    """By what they are asked for: the conditions, and what is read besides the knob."""
    said: Known[Sequence[tuple[Policy, Hit]]]
    """By a knob as it is written, and what else is read: what is said of it."""

    @classmethod
    def of(
        cls,
        asked: Sequence[Policy],
        conditions: Mapping[Policy, Conditions],
        catalogue: Catalogue,
    ) -> _Round:
        """Group the policies that are asked for the same knobs."""
        kinds: dict[Each | None, list[Policy]] = {}
        for policy in asked:
            kinds.setdefault(policy.each, []).append(policy)
        groups = [
            (
                each,
                list(dict.fromkeys(conditions[policy] for policy in several)),
                wanted_by(
                    sum((policy.depends for policy in several), Reading()), catalogue
                )._replace(of_knob=False),
            )
            for each, several in kinds.items()
        ]
        order = {policy: number for number, policy in enumerate(asked)}
        return cls(order, groups, Known())
