"""What a weight, a rank constant or a ranker's mode changes of fused scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.fusion import Scale
from knobctl.fusion.numbers import number_text
from knobctl.report.effect import Effect
from knobctl.report.reach import aligned, passes
from knobctl.report.score_words import ranks_from
from knobctl.text import joined, visible

if TYPE_CHECKING:
    from knobctl.fusion import Reach
    from knobctl.report.effect import Situation

MOST_SPREAD: Final = 100
"""The rule weights-spread warns beyond this ratio."""


def of_fusion(situation: Situation, old: Reach, new: Reach) -> Effect:
    """A weight, the rank constant, or a ranker's mode: shares and depths before and after."""
    return Effect(
        headline=_headline(situation, old, new),
        table=_comparison(old, new),
        statements=tuple(_statements(situation, old, new)),
        reached=new,
    )


def _headline(situation: Situation, old: Reach, new: Reach) -> str:
    role = situation.knob.role or ""
    if old.setup == new.setup:
        return f"nothing changes at floor {number_text(new.setup.floor)}; it is in force already"
    if role == "fusion.k" and new.setup.formula.scale is Scale.RAW:
        return f"ceilings move with it: the best score there is, {old.told(old.best_score)}, becomes {new.told(new.best_score)}"
    if role == "fusion.k":
        return "ceilings stay; how many ranks pass under them changes"
    ranker = role.rsplit(".", 1)[1]
    if ranker not in new.enabled:
        return f"{ranker} takes no part, so the ceilings of the others rise and the same floor is looser"
    share = new.told(new.share(new.enabled, ranker))
    return f"a hit of {ranker} alone scores {share} at most while all are live"


def _comparison(old: Reach, new: Reach) -> str:
    """Ceilings and depths of single rankers, all enabled ones live, before and after."""
    lines = [("found by", "ceiling", "passes down to rank")]
    for name in dict.fromkeys((*old.enabled, *new.enabled)):
        ceilings, depths = [], []
        for reached in (old, new):
            is_in = name in reached.enabled
            row = reached.row(reached.enabled, (name,)) if is_in else None
            ceilings.append(reached.told(row.ceiling) if row else "off")
            depths.append(passes(row).strip() if row else "off")
        lines.append((f"{visible(name)} alone", _arrow(ceilings), _arrow(depths)))
    title = f"At floor {number_text(new.setup.floor)}, all enabled rankers live:"
    return f"{title}\n{aligned(lines)}"


def _arrow(cells: list[str]) -> str:
    old, new = cells
    return old if old == new else f"{old} -> {new}"


def _statements(situation: Situation, old: Reach, new: Reach) -> list[tuple[str, str]]:
    return [
        *_lost(new),
        *_confidence(situation, old, new),
        *_spread(new),
        *arithmetic(situation, new),
    ]


def arithmetic(situation: Situation, new: Reach) -> list[tuple[str, str]]:
    """What an engine that obeys the knob must show, so that one that does not is found out."""
    role = situation.knob.role or ""
    if role == "fusion.k":
        return [("ranks", ranks_from(situation.catalogue, new.setup.k))]
    ranker = role.rsplit(".", 1)[1]
    if not role.startswith("fusion.weight.") or ranker not in new.enabled:
        return []
    score = new.told(new.share(new.enabled, ranker))
    live = "" if new.setup.formula.scale is Scale.RAW else " while all are live"
    says = f"a hit that is first in {visible(ranker)} and in no other list scores exactly {score}{live}"
    return [("worked", f"{says}; where it scores anything else, the weight is not applied")]


def _lost(new: Reach) -> list[tuple[str, str]]:
    """The rankers whose own hits never pass."""
    out = [name for name in new.enabled if new.row(new.enabled, (name,)).unreachable]
    floor = number_text(new.setup.floor)
    return (
        [("lost", f"every hit that {joined(out, 'or')} alone finds, at floor {floor}")]
        if out
        else []
    )


def _confidence(situation: Situation, old: Reach, new: Reach) -> list[tuple[str, str]]:
    """Whether vector search alone can make the gate confident, where that changes."""
    confident = situation.expansion.confident
    before, after = (confident > reached.vector_ceiling for reached in (old, new))
    if before == after or not situation.expansion.enabled or "vector" not in new.enabled:
        return []
    needed = f"{situation.expansion.confident_name} {number_text(confident)}"
    can = "can no longer reach" if after else "can now reach"
    return [("gate", f"vector alone {can} {needed}, with which no query is expanded")]


def _spread(new: Reach) -> list[tuple[str, str]]:
    """Weights so far apart that the light ranker is noise."""
    weights = new.setup.weights.values()
    heaviest, lightest = max(weights), min(weights)
    if not lightest or heaviest / lightest <= MOST_SPREAD:
        return []
    times = f"{float(heaviest / lightest):.4g}"
    return [
        (
            "spread",
            f"the heaviest weight is {times} times the lightest: the light ranker is noise (weights-spread)",
        )
    ]
