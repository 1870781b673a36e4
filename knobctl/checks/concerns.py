"""Which policies are asked of a tenant, and of which of its knobs: the others have nothing to say, whatever holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.checks.policies import Each, Policy
from knobctl.checks.terms import OWN
from knobctl.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knobctl.checks.subject import Subject


def why_not_asked(policy: Policy, subject: Subject) -> str | None:
    """Why a policy has nothing to say of a tenant, whatever its condition; None where it is asked."""
    if policy.on_change:
        if subject.before is None:
            return "it looks at a change, and no earlier set is known (base or live)"
        if not subject.changed or not _is_concerned(policy, subject.changed):
            return "it looks at a change, and no knob that it reads changes"
    elif policy.severity is Severity.INFO and policy.each is None:
        if not _is_concerned(policy, subject.effective.origins):
            return "an info speaks only where a knob that it reads is written"
        if not _is_concerned(policy, subject.news):
            return "with a base an info speaks only where a knob that it reads is written otherwise"
    return _what_is_not_known(policy, subject)


def _what_is_not_known(policy: Policy, subject: Subject) -> str | None:
    if "live" in policy.asks.variables and subject.live is None:
        return "it reads the live set, and that is not known"
    if "reach" in policy.depends.variables and subject.reached is None:
        return "no floor is in force"
    if "reach_before" in policy.depends.variables and subject.reached_before is None:
        return "no floor was in force before"
    return None


def _is_concerned(policy: Policy, names: Iterable[str]) -> bool:
    """Whether a policy looks at one of these knobs, or at none at all: at labels, at the day."""
    reads_some = policy.reads_all or bool(policy.reads)
    return policy.looks_at(names) or not reads_some


def asked_of(policies: Iterable[Policy], subject: Subject) -> tuple[Policy, ...]:
    """Those of some policies that are asked of a tenant."""
    return tuple(policy for policy in policies if why_not_asked(policy, subject) is None)


def names_for(each: Each, subject: Subject) -> Iterable[str]:
    """The knobs for which an `each` policy is asked; none of whose value nothing is known."""
    names = subject.omitted if each is Each.RESET else subject.effective.origins
    if subject.faulty:
        return [name for name in names if name not in subject.faulty]
    return names


def is_about(policy: Policy, subject: Subject, name: str | None) -> bool:
    """Whether a policy is asked for a knob: with a base, an info only for one that is written otherwise than there."""
    if name is None or policy.severity is not Severity.INFO or policy.each is Each.RESET:
        return True
    return subject.base is None or name in subject.news


def is_personal(policy: Policy, *, alone: bool) -> bool:
    """Whether tenants that write equal knobs may get different answers."""
    if policy.depends.variables & OWN:
        return True
    if alone:
        return False
    return policy.on_change or policy.each is Each.RESET or policy.severity is Severity.INFO
