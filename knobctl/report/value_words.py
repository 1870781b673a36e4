"""What a value changes, found by the role of its knob."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from knobctl.fusion import Reach, Scale, Setup, reach
from knobctl.fusion.numbers import number_text
from knobctl.fusion.reach import EDGE
from knobctl.knobs import KnobType
from knobctl.knobs.fusion_setup import DISABLED, fusion_setup
from knobctl.knobs.knob import Direction
from knobctl.report.expansion_words import ExpansionKnobs
from knobctl.report.floor_words import floor_headline, floor_statements, floor_table
from knobctl.report.reach import aligned, passes
from knobctl.report.score_words import distance_words, elsewhere, ranks_from
from knobctl.text import joined, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from knobctl.knobs import Catalogue, Knob, KnobValue

    Values: TypeAlias = tuple[Mapping[str, KnobValue], Callable[[str], Fraction]]

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?").match
MOST_SPREAD: Final = 100
"""The rule weights-spread warns beyond this ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a value does."""

    headline: str
    statements: tuple[tuple[str, str], ...] = ()
    table: str = ""
    reached: Reach | None = None


def effect_of(catalogue: Catalogue, knob: Knob, *, before: Values, after: Values) -> Effect:
    """Say what changes when a knob takes a value.

    Args:
        catalogue: The knobs of the engine.
        knob: The one that changes.
        before: Effective values, and what gives them exactly.
        after: The same with the knob at the value.
    """
    old, new = fusion_setup(catalogue, *before), fusion_setup(catalogue, *after)
    situation = _Situation(
        catalogue, knob, reach(old) if old else None, reach(new) if new else None, after
    )
    if _is_bound(knob, catalogue):
        return _bound(situation)
    if new is None:
        return _without_floor(situation)
    return _of_fusion(situation, new)


def _without_floor(situation: _Situation) -> Effect:
    """What a knob does where no floor is in force: to scores alone, which nothing is compared with."""
    knob = situation.knob
    role = knob.role or ""
    if role == "floor.fused":
        return Effect(headline="no floor: everything passes")
    setup = fusion_setup(situation.catalogue, *situation.after, floor=EDGE)
    if setup is None or not role.startswith("fusion."):
        return Effect(headline=_place(knob, situation.value))
    reached = reach(setup)
    best = reached.told(reached.best_score)
    headline = f"no floor is in force, so nothing is cut; the best score there is, first in every ranker, is {best}"
    return Effect(headline=headline, statements=tuple(_arithmetic(situation, reached)))


def _of_fusion(situation: _Situation, new: Setup) -> Effect:
    """What a knob does to fused scores, or to those that pass; of others, where its value lies."""
    knob = situation.knob
    role = knob.role or ""
    if role in {"floor.fused", "floor.expansion", "gate.confident"}:
        return _floor(situation, new)
    if role.startswith(("fusion.", "ranker.")) and role != "ranker.timeout":
        return _fusion(situation)
    if role.startswith("depth."):
        return _depth(situation)
    return _gate(situation) if role == "gate" else Effect(headline=_place(knob, situation.value))


def _is_bound(knob: Knob, catalogue: Catalogue) -> bool:
    """Whether a knob bounds one ranker's own scores, of cosines or distances."""
    own = {"floor.no_match", *(f"floor.{ranker}" for ranker in catalogue.rankers)}
    number = knob.type is not KnobType.MODE
    told = knob.direction is Direction.LOWER or (knob.role is None and knob.direction is not None)
    return number and (told or knob.role in own)


@dataclass(frozen=True, slots=True)
class _Situation:
    catalogue: Catalogue
    knob: Knob
    old: Reach | None
    new: Reach | None
    after: Values

    @property
    def value(self) -> KnobValue:
        return self.after[0][self.knob.name]

    @property
    def expansion(self) -> ExpansionKnobs:
        return ExpansionKnobs.found_in(self.catalogue, *self.after)


def _bound(situation: _Situation) -> Effect:
    """A bound on one ranker's own scores: which side is kept, and other engines' readings of it."""
    knob, value = situation.knob, situation.value
    assert isinstance(value, (int, float))
    lower = knob.direction is Direction.LOWER
    return Effect(
        headline=_place(knob, value),
        statements=(
            *(distance_words(knob, value) if lower else ()),
            *elsewhere(knob, value),
        ),
    )


def _place(knob: Knob, value: KnobValue) -> str:
    """Say where a value lies when nothing more is known of what it does."""
    if knob.type is KnobType.MODE:
        return f"{'off' if value == DISABLED else 'on'}. {knob.description}"
    assert isinstance(value, (int, float))
    unit = f" {knob.unit}" if knob.unit else ""
    ends = {knob.minimum: "the least that may be set", knob.maximum: "the most that may be set"}
    place = f"{ends[value]}, in{unit}" if value in ends and unit else ends.get(value)
    off = "practically off: " if _is_off(knob, value) else ""
    return f"{off}{place or f'inside {knob.range_text}{unit}'}. {knob.description}"


def _is_off(knob: Knob, value: float) -> bool:
    """Whether a number is the one that switches a knob practically off."""
    number = _NUMBER(knob.off.removeprefix("write "))
    return number is not None and float(number[0]) == value


def _gate(situation: _Situation) -> Effect:
    """The confidence gate on or off."""
    expansion = situation.expansion
    if not expansion.enabled:
        return Effect(headline="no query is expanded; every first pass is accepted")
    confident = f"{expansion.confident_name} {number_text(expansion.confident)}"
    cut = f"{expansion.expanded_name} {number_text(expansion.expanded)}"
    headline = f"a query whose best hit scores under {confident} is expanded, and what comes back is cut at {cut}"
    return Effect(headline=headline)


def _floor(situation: _Situation, setup: Setup) -> Effect:
    """A floor on fused scores, whichever of the three: what passes, what is lost, what to write."""
    role = situation.knob.role or ""
    exact = situation.after[1](situation.knob.name)
    if exact <= 0:
        return Effect(headline="no floor: everything passes")
    expansion = situation.expansion
    asked = replace(setup, floor=exact)
    if role == "floor.expansion":
        asked = replace(
            asked, depths={name: expansion.widened(depth) for name, depth in setup.depths.items()}
        )
    reached = reach(asked)
    return Effect(
        headline=floor_headline(role, reached),
        table=floor_table(role, reached),
        statements=tuple(floor_statements(situation.knob, reached, expansion, situation.catalogue)),
        reached=reached,
    )


def _fusion(situation: _Situation) -> Effect:
    """A weight, the rank constant, or a ranker's mode: shares and depths before and after."""
    old, new = situation.old, situation.new
    assert new is not None
    if old is None:
        return Effect(headline=_place(situation.knob, situation.value), reached=new)
    return Effect(
        headline=_fusion_headline(situation, old, new),
        table=_comparison(old, new),
        statements=tuple(_fusion_statements(situation, old, new)),
        reached=new,
    )


def _fusion_headline(situation: _Situation, old: Reach, new: Reach) -> str:
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


def _fusion_statements(situation: _Situation, old: Reach, new: Reach) -> list[tuple[str, str]]:
    return [
        *_lost(new),
        *_confidence(situation, old, new),
        *_spread(new),
        *_arithmetic(situation, new),
    ]


def _arithmetic(situation: _Situation, new: Reach) -> list[tuple[str, str]]:
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


def _confidence(situation: _Situation, old: Reach, new: Reach) -> list[tuple[str, str]]:
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


def _depth(situation: _Situation) -> Effect:
    """The length of one ranker's list: how much of it passes, and what would keep all."""
    new = situation.new
    assert new is not None
    ranker = (situation.knob.role or "").rsplit(".", 1)[1]
    if ranker not in new.enabled:
        return Effect(
            headline=f"{ranker} takes no part in fusion, so its list is not fetched", reached=new
        )
    row = new.row(new.enabled, (ranker,))
    assert row.depth is not None
    floor = number_text(new.setup.floor)
    passing = min(row.deepest_rank, row.depth)
    lowest = f"the last row scores {new.down(row.lowest)} if no other ranker finds it"
    ceiling = f"stays {new.told(row.ceiling)}: a longer list never makes a floor reachable"
    lines = [
        ("lowest", f"{lowest}; floors up to that keep all {row.depth}"),
        ("ceiling", ceiling),
    ]
    headline = f"at floor {floor}, {passing} of {row.depth} rows pass if {ranker} alone finds them"
    return Effect(headline=headline, statements=tuple(lines), reached=new)
