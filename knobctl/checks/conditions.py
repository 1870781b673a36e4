"""The conditions of policies: those that read the same are evaluated together, and once for equal values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.checks.expressions import Together, compile_expression
from knobctl.checks.known import Known
from knobctl.checks.reading import Reading
from knobctl.checks.terms import wanted_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.checks.policies import Policy
    from knobctl.checks.terms import Row, Wanted
    from knobctl.knobs import Catalogue

_SEEN_OFTEN: Final = 8
_MOST_TOGETHER: Final = 64
"""How many sets of conditions are compiled as one expression: that costs as much as some evaluations."""


class Conditions:
    """The conditions of policies that read the same, and what they gave for the values that were seen."""

    def __init__(self, policies: Sequence[Policy], catalogue: Catalogue) -> None:
        self.policies = policies
        self.reading = sum((policy.asks for policy in policies), Reading())
        self.wanted = wanted_by(self.reading, catalogue)
        self.expressions = [policy.when for policy in policies]
        self.known: Known[Sequence[tuple[Policy, object]]] = Known()
        """By what is read, the policies whose condition does not pass, with what it gives."""

    def stop(self, policy: Policy) -> None:
        """Ask one of them no more."""
        self.expressions[self.policies.index(policy)] = compile_expression("false")


class Several:
    """Asks several groups of conditions in one step, where they have been asked together often."""

    def __init__(self) -> None:
        self._times: dict[tuple[Conditions, ...], int] = {}
        self._compiled: dict[tuple[Conditions, ...], tuple[Together, Wanted]] = {}

    def outcomes(
        self, groups: Iterable[Conditions], row: Row
    ) -> Iterator[tuple[Conditions, Sequence[tuple[Policy, object]]]]:
        """Give for each group the policies whose condition does not pass, with what it gives."""
        together = tuple(groups)
        if len(together) > 1 and not self._are_often_asked(together):
            for one in together:
                yield from self.outcomes((one,), row)
            return
        asked, wanted = self._of(together, row.subject.catalogue)
        outcomes = iter(asked.outcomes(row.bound(wanted)))
        for group in together:
            given = [(policy, next(outcomes)) for policy in group.policies]
            yield group, [one for one in given if one[1] is not False]

    def _are_often_asked(self, together: tuple[Conditions, ...]) -> bool:
        if together in self._compiled:
            return True
        times = self._times[together] = self._times.get(together, 0) + 1
        return times > _SEEN_OFTEN and len(self._compiled) < _MOST_TOGETHER

    def _of(
        self, together: tuple[Conditions, ...], catalogue: Catalogue
    ) -> tuple[Together, Wanted]:
        compiled = self._compiled.get(together)
        if compiled is None:
            expressions = [one for group in together for one in group.expressions]
            reading = sum((group.reading for group in together), Reading())
            wanted = wanted_by(reading, catalogue)
            compiled = self._compiled[together] = Together(expressions), wanted
        return compiled


def grouped(policies: Iterable[Policy], catalogue: Catalogue) -> dict[Policy, Conditions]:
    """Put policies together that are asked for the same knobs and whose conditions read the same; by policy, its group."""
    alike: dict[object, list[Policy]] = {}
    for policy in policies:
        reads = (policy.asks.variables, policy.asks.keys) if policy.each is None else None
        alike.setdefault((policy.each, policy.on_change, reads), []).append(policy)
    groups = [(group, Conditions(group, catalogue)) for group in alike.values()]
    return {policy: conditions for group, conditions in groups for policy in group}
