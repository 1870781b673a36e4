"""The impact of a moved default for people and machines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from knobctl.report.plan import refusal_json
from knobctl.text import count, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.changes.guards import Verdict
    from knobctl.changes.impact import Depth, Impact
    from knobctl.errors import ExitCode

MOST_LISTED = 20
"""More tenants than this are counted, and listed in JSON."""


def impact_text(impact: Impact, *, source: str) -> str:
    """Write who follows, who pins, and what the floor then lets through."""
    knob, followers, pinners = impact.knob, impact.followers, impact.pinners
    total = len(followers) + len(pinners)
    before, after = spelled(knob.default), spelled(impact.after)
    if not impact.changes:
        return f"{knob.name} has the platform default {before} already; {count(total, 'tenant')} of {source}, nobody changes"
    verb = "follows" if len(followers) == 1 else "follow"
    pins = "pins" if len(pinners) == 1 else "pin"
    lead = (
        f"{knob.name} default {before} -> {after}: {len(followers):,} of {count(total, 'tenant')}"
    )
    lines = [f"{lead} of {source} {verb} it and would change, {len(pinners):,} {pins} it"]
    names = [one.tenant for one in followers] + [one.tenant for one in pinners]
    width = max(map(len, names), default=0)
    values = max((len(spelled(one.value)) for one in pinners), default=0)
    lines += _listed([f"  follows  {one.tenant:{width}}  {before} -> {after}" for one in followers])
    lines += _listed(
        [
            f"  pins     {one.tenant:{width}}  {visible(spelled(one.value)):{values}}"
            + (f"   {visible(one.place)}" if one.place else "")
            for one in pinners
        ]
    )
    lines += _reach_lines(impact)
    if followers:
        lines.append(
            "A default moves for all of them at once, and no audit event of a tenant tells it."
        )
    return "\n".join(lines)


def _listed(lines: Sequence[str]) -> list[str]:
    if len(lines) <= MOST_LISTED:
        return list(lines)
    return [
        *lines[:MOST_LISTED],
        f"  and {len(lines) - MOST_LISTED:,} more; --format json lists them",
    ]


def _reach_lines(impact: Impact) -> list[str]:
    """What the floor lets through of each ranker alone, by how many tenants it concerns."""
    groups = Counter(one.depths for one in impact.followers if one.depths)
    return [
        f"  reach    {count(number, 'tenant')}: {'; '.join(_depth_words(depths))}"
        for depths, number in groups.most_common()
    ]


def _depth_words(depths: Sequence[Depth]) -> list[str]:
    """One phrase for the rankers that move alike."""
    alike: dict[tuple[int, int], list[str]] = {}
    for depth in depths:
        alike.setdefault((depth.before, depth.after), []).append(visible(depth.ranker))
    return [
        f"found by {' or '.join(rankers)} alone {_passes(after)}, was {_rank(before)}"
        for (before, after), rankers in alike.items()
    ]


def _passes(rank: int) -> str:
    return f"passes down to rank {rank}" if rank else "never passes"


def _rank(rank: int) -> str:
    return f"down to rank {rank}" if rank else "never"


def impact_json(
    impact: Impact, verdict: Verdict, *, fleet: str | None, source: str, code: ExitCode
) -> dict[str, Any]:
    """The machine-readable answer."""
    followers = impact.followers if impact.changes else ()
    return {
        "version": 1,
        "command": "impact",
        "outcome": code.outcome,
        "exit_code": int(code),
        "knob": impact.knob.name,
        "default_before": impact.knob.default,
        "default_after": impact.after,
        "source": source,
        "fleet": fleet,
        "refusals": refusal_json(verdict.refusals),
        "allowed": list(verdict.allowances),
        "summary": {
            "tenants": len(impact.followers) + len(impact.pinners),
            "follow": len(impact.followers),
            "change": len(followers),
            "pin": len(impact.pinners),
        },
        "follow": [
            {
                "tenant": one.tenant,
                "effective_before": impact.knob.default,
                "effective_after": impact.after,
                "reach": [
                    {
                        "found_by": depth.ranker,
                        "deepest_rank_before": depth.before,
                        "deepest_rank_after": depth.after,
                    }
                    for depth in one.depths
                ],
            }
            for one in impact.followers
        ],
        "pin": [
            {"tenant": one.tenant, "value": one.value, "place": one.place} for one in impact.pinners
        ],
    }
