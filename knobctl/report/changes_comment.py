"""Diffs and plans as comments on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.changes.paths import PathStyle
from knobctl.report.carried_evidence import evidence_section
from knobctl.report.changes import change_summary
from knobctl.report.comment import comment
from knobctl.report.folding import listed
from knobctl.report.markdown_changes import changes_section
from knobctl.report.markdown_findings import findings_sections, folded_sections
from knobctl.report.markdown_reach import reach_section
from knobctl.report.markup import code, prose
from knobctl.report.plan import plan_headline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knobctl.changes.comparing import TenantDiff
    from knobctl.changes.guards import Refusal
    from knobctl.changes.limits import Limits
    from knobctl.changes.plan import Plan
    from knobctl.report.formats import FindingsAnswer

_NAMED = 20


def diff_comment(
    diffs: Sequence[TenantDiff],
    *,
    removed: Sequence[str] = (),
    style: PathStyle = PathStyle.FIELD,
) -> str:
    """Write what differs: the counts, a table with the resets first, what the floors then reach."""
    head = [f"### {change_summary(diffs)}"]
    unknown = sorted({name for diff in diffs if diff.live for name in diff.live.unknown})
    if unknown:
        head.append(
            f"Unknown to the schema, a push would lose them: {listed(unknown, most=_NAMED, spell=code)}"
        )
    if removed:
        head.append(removed_words(removed))
    sections = [
        changes_section(
            ((diff.tenant, diff.changes, diff.effective) for diff in diffs), share=0.6, style=style
        ),
        evidence_section(((diff.tenant, diff.evidence) for diff in diffs), share=0.1),
        reach_section(diffs, share=0.3),
    ]
    return comment("diff", "\n\n".join(head), sections, full="knobctl diff --output json=FILE")


def removed_words(removed: Sequence[str]) -> str:
    """Name the tenants whose documents are gone."""
    names = listed(removed, most=_NAMED, spell=code)
    return f"No document any more: {names}; unmanaged from now on, not reset"


def plan_comment(
    plan: Plan,
    answer: FindingsAnswer,
    diffs: Sequence[TenantDiff],
    *,
    digest: str,
    refusals: Sequence[Refusal] = (),
) -> str:
    """Write a plan: the counts, its digest, what stops it, the changes with the resets first, the hazards.

    Args:
        plan: The plan.
        answer: What the checks said.
        diffs: The same changes, with where the values come from.
        digest: The plan's.
        refusals: What would stop an apply now.
    """
    head = [f"### {plan_headline(plan, answer.report)}"]
    fleet = f", fleet {code(plan.fleet)}" if plan.fleet else ""
    head.append(f"Plan {code(digest[:12])} for {code(plan.engine)}{fleet}")
    if refusals:
        told = "\n".join(f"- {prose(one.message)}" for one in refusals)
        head.append(f"**Apply would be refused:**\n\n{told}")
    limits = list(_limits(plan.limits))
    if limits:
        head.append("Limits: " + "; ".join(map(prose, limits)))
    sections = [
        changes_section(((diff.tenant, diff.changes, diff.effective) for diff in diffs), share=0.3),
        evidence_section(((diff.tenant, diff.evidence) for diff in diffs), share=0.1),
        *findings_sections(answer),
        reach_section(diffs, share=0.1),
        *folded_sections(answer),
    ]
    return comment("plan", "\n\n".join(head), sections, full="knobctl plan --output json=FILE")


def _limits(limits: Limits) -> Iterator[str]:
    """What bounds a push, each with who sets it and where."""
    for bound in limits.max_tenants:
        yield bound.says("largest number of tenants")
    for bound in limits.max_share:
        yield bound.says("largest share of the tenants")
    for knob, bound in limits.largest_step.items():
        yield bound.says(f"largest step of {knob}")
    if limits.protected:
        yield f"protected: {listed(list(limits.protected), most=_NAMED)}"
    if limits.reason_required:
        yield f"a reason is required ({limits.reason_required})"
    for rule in limits.tickets:
        yield f"{rule.what} is required ({rule.setter})"
