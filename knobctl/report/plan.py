"""Plans for people and machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knobctl.changes.diff import Op
from knobctl.changes.guards import NUMBERS
from knobctl.report.carried_evidence import evidence_lines
from knobctl.report.changes import change_lines, unknown_words
from knobctl.report.folding import MOST_SHOWN, alike, listed
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knobctl.changes.guards import Refusal
    from knobctl.changes.plan import Plan, TenantPlan
    from knobctl.checks.report import Report
    from knobctl.documents.model import Effective


def plan_headline(plan: Plan, report: Report | None = None) -> str:
    """The first line: `6 tenants: 3 change (4 fields, 1 reset), 3 unchanged; 2 warnings, no errors`."""
    changing = plan.changing
    left = plan.looked_at - len(changing)
    resets = sum(len(tenant.resets) for tenant in changing)
    fields = count(sum(len(tenant.changes) for tenant in changing), "field")
    what = f"{fields}, {count(resets, 'reset') if resets else 'no resets'}"
    head = f"{count(plan.looked_at, 'tenant')}: "
    if not changing:
        head += "no changes"
    elif plan.looked_at == 1:
        head += what
    else:
        verb = "changes" if len(changing) == 1 else "change"
        head += f"{len(changing):,} {verb} ({what})"
        pruned = sum(tenant.pruned for tenant in changing)
        head += f", {pruned:,} of them without a document" if pruned else ""
        head += f", {left:,} unchanged" if left else ""
    if report is None:
        return head
    warnings = count(report.warnings, "warning") if report.warnings else "no warnings"
    waived = f", {report.waived:,} waived" if report.waived else ""
    aside = report.staying.get("warning", 0)
    more = f" ({aside:,} more about what is unchanged)" if aside else ""
    return f"{head}; {warnings}{more}{waived}, no errors"


def plan_text(
    plan: Plan,
    report: Report | None,
    *,
    findings: str = "",
    effective: Mapping[str, Effective] | None = None,
    colored: bool = False,
    everything: bool = False,
) -> str:
    """Write a plan for people: the answer first, the tenants, resets first, then the findings.

    Of many tenants those in which the same changes are told of together. Not those of which something
    is reset, or would be lost: that is named tenant by tenant, however many they are.

    Args:
        plan: The plan.
        report: What the checks said; its counts stand in the first line.
        findings: The findings as text, if any are to be shown.
        effective: By tenant, where every value comes from.
        colored: Whether colour may be used.
        everything: Whether to show every tenant, however many there are.
    """
    effective = effective or {}
    ordered = sorted(plan.changing, key=lambda tenant: (not tenant.resets, tenant.tenant))
    careful = [one for one in ordered if one.resets or one.unknown]
    others = [one for one in ordered if not (one.resets or one.unknown)]
    lines = [plan_headline(plan, report)]
    for tenant in careful if len(others) > MOST_SHOWN and not everything else ordered:
        lines += _tenant_lines(tenant, effective.get(tenant.tenant), colored)
    if len(others) > MOST_SHOWN and not everything:
        lines += _many_lines(others, effective, colored)
    if findings:
        lines += ["", findings.rstrip("\n")]
    return "\n".join(lines)


def _many_lines(
    tenants: Sequence[TenantPlan], effective: Mapping[str, Effective], colored: bool
) -> Iterator[str]:
    """Tell of many tenants by what changes, what most of them have in common first."""
    groups = alike(tenants, key=lambda one: one.changes)
    for group in groups[:MOST_SHOWN]:
        one = group[0]
        if len(group) == 1:
            yield from _tenant_lines(one, effective.get(one.tenant), colored)
            continue
        names = listed([each.tenant for each in group])
        yield click.style(names, bold=True) if colored else names
        yield from change_lines(one.changes, effective=None, colored=colored)
        yield from _shared_evidence(group)
    if left := sum(map(len, groups[MOST_SHOWN:])):
        yield f"and {count(left, 'more tenant')}; -v shows each"


def _shared_evidence(group: Sequence[TenantPlan]) -> list[str]:
    """What the same changes of several tenants carry; where each has its own, how many have some."""
    first = group[0].evidence
    if all(one.evidence == first for one in group):
        return evidence_lines(first)
    carrying = sum(any(said.statement for said in one.evidence) for one in group)
    if not carrying:
        return []
    return [f"  evidence  {carrying:,} of these {len(group):,} carry some; -v shows it"]


def _tenant_lines(tenant: TenantPlan, effective: Effective | None, colored: bool) -> list[str]:
    name = click.style(tenant.tenant, bold=True) if colored else visible(tenant.tenant)
    base = {None: "live", "": "live, never written"}.get(tenant.base_revision)
    base = base or f"live {visible(tenant.base_revision or '')}"
    source = f" -> {visible(tenant.source)}" if tenant.source else ""
    source = " -> no document, pruned" if tenant.pruned else source
    lines = [f"{name}  {base}{source}"]
    if tenant.unknown:
        lines.append(unknown_words(tenant.unknown))
    lines += change_lines(tenant.changes, effective=effective, colored=colored)
    return lines + evidence_lines(tenant.evidence)


def plan_counts(plan: Plan, report: Report | None) -> dict[str, int]:
    """The counts of a plan, for machines."""
    aside = report.staying.get("warning", 0) if report else 0
    changes = [change for tenant in plan.changing for change in tenant.changes]
    return {
        "tenants": plan.looked_at,
        "changing": len(plan.changing),
        "fields": len(changes),
        "resets": sum(change.op is Op.RESET for change in changes),
        **({"warnings_unchanged": aside} if aside else {}),
    }


def refusal_json(refusals: Sequence[Refusal]) -> list[dict[str, Any]]:
    """What stops a push, for machines: with the flag that acknowledges it."""
    return [
        {
            "guard": refusal.guard,
            "message": refusal.message,
            "allow": refusal.allowance,
            "remedy": refusal.remedy,
        }
        for refusal in refusals
    ]


def refusal_words(refusals: Sequence[Refusal]) -> tuple[str, str]:
    """What stops a push, for people.

    Returns:
        The refusals, one a line, and how to go on, one way a line.
    """
    allow = " ".join(f"--allow {one.allowance}" for one in refusals if one.allowance)
    remedies = [one.remedy for one in refusals if one.remedy]
    allowable = [one for one in refusals if one.allowance]
    how = "with these"
    if len(allowable) == 1:
        how = "with this number" if allowable[0].guard in NUMBERS else "all the same"
    ways = [f"To go on {how}: {allow}"] if allow else []
    ways += [remedy[0].upper() + remedy[1:] for remedy in dict.fromkeys(remedies)]
    first, *others = ways or [""]
    hint = "\n  ".join([f"Nothing was written. {first}".rstrip(), *others])
    return "\n".join(one.message for one in refusals), hint
