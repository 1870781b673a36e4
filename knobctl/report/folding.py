"""Puts together what a reader needs once: a finding that several tenants share, the infos of one rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from knobctl.report.message import headline
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from knobctl.checks.report import Later, Report
    from knobctl.finding import Finding

T = TypeVar("T")
FEW_INFOS: Final = 10
"""More infos than these are told by rule, unless all are asked for: a fleet has thousands."""
FEW_WAIVED: Final = 10
"""The same of waived findings: a repository that adopts the gate has thousands."""
MOST_SHOWN: Final = 50
"""Of more tenants than these the rest is counted, or told of together, unless all are asked for."""
NAMED: Final = 3
"""How many tenants a line of text names where they share something."""
NAMED_IN_REVIEW: Final = 8
"""The same of an annotation and a comment."""


def divided(
    report: Report, shown: Sequence[Finding] | None, *, everything: bool = False
) -> tuple[Sequence[Finding], Sequence[Later]]:
    """What is shown one by one, and the infos of which only the rules are told."""
    if everything or shown is not None or report.untold <= FEW_INFOS:
        return (report.findings if shown is None else shown), ()
    return report.pressing, report.later


def grouped(
    findings: Iterable[Finding], *, whatever_place: bool = False
) -> Iterable[list[Finding]]:
    """Put together what differs in the tenant only: a value in a layer concerns all who share it.

    Args:
        findings: The findings.
        whatever_place: Whether also what stands in files of their own, with the tenant's name in its words.
    """
    groups: dict[object, list[Finding]] = {}
    for one in findings:
        words = (one.message, one.hint)
        key = (
            one.rule,
            _of_anybody(words, one.tenant) if whatever_place else (*words, one.primary),
            one.severity,
            one.waived_by,
            one.standing,
        )
        groups.setdefault(key, []).append(one)
    return groups.values()


def _of_anybody(words: tuple[str, str | None], tenant: str | None) -> tuple[str, ...]:
    """Words in which a tenant's own name does not count."""
    return tuple((text or "").replace(tenant or "\0", "\0") for text in words)


def alike(items: Iterable[T], key: Callable[[T], object]) -> list[list[T]]:
    """Put together what has the same key: the largest group first, else in the order given."""
    groups: dict[object, list[T]] = {}
    for one in items:
        groups.setdefault(key(one), []).append(one)
    return sorted(groups.values(), key=len, reverse=True)


def tenants_of(group: Iterable[Finding]) -> list[str]:
    """The tenants whom a finding is about, each once."""
    return list(dict.fromkeys(one.tenant for one in group if one.tenant))


def listed(
    names: Sequence[str],
    noun: str = "tenant",
    *,
    most: int = NAMED,
    spell: Callable[[str], str] = visible,
) -> str:
    """List names; where they are too many, the first ones and how many more: `a, b and 3 more tenants`."""
    if len(names) <= most:
        return ", ".join(map(spell, names))
    rest = count(len(names) - most + 1, f"more {noun}")
    return f"{', '.join(map(spell, names[: most - 1]))} and {rest}"


@dataclass(slots=True)
class Often:
    """How often a rule gave an info, and one of them."""

    such_as: str
    by_tenant: dict[str, int] = field(default_factory=dict)

    @property
    def times(self) -> int:
        """How many infos."""
        return sum(self.by_tenant.values())


def infos_by_rule(infos: Iterable[Later]) -> dict[str, Often]:
    """Count the infos of each rule, by tenant."""
    found: dict[str, Often] = {}
    for one in infos:
        tenant = one.tenant
        for index, rule in enumerate(one.rules):
            often = found.get(rule)
            if often is None:
                first = headline(one.message(index))
                often = found[rule] = Often(f"{visible(tenant)}: {visible(first)}")
            often.by_tenant[tenant] = often.by_tenant.get(tenant, 0) + 1
    return found
