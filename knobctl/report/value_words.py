"""What a value changes, found by the role of its knob."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knobctl.fusion import reach
from knobctl.fusion.numbers import number_text
from knobctl.fusion.reach import EDGE
from knobctl.knobs import KnobType
from knobctl.knobs.fusion_setup import DISABLED, fusion_setup
from knobctl.knobs.knob import Direction
from knobctl.report.bound_words import distance_words, elsewhere
from knobctl.report.effect import Effect, Situation
from knobctl.report.floor_words import floor_headline, floor_statements, floor_table
from knobctl.report.fusion_words import arithmetic, of_fusion

if TYPE_CHECKING:
    from knobctl.fusion import Setup
    from knobctl.knobs import Catalogue, Knob, KnobValue
    from knobctl.report.effect import Values

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?").match


def effect_of(catalogue: Catalogue, knob: Knob, *, before: Values, after: Values) -> Effect:
    """Say what changes when a knob takes a value.

    Args:
        catalogue: The knobs of the engine.
        knob: The one that changes.
        before: Effective values, and what gives them exactly.
        after: The same with the knob at the value.
    """
    old, new = fusion_setup(catalogue, *before), fusion_setup(catalogue, *after)
    situation = Situation(
        catalogue, knob, reach(old) if old else None, reach(new) if new else None, after
    )
    if _is_bound(knob, catalogue):
        return _bound(situation)
    if new is None:
        return _without_floor(situation)
    return _of_role(situation, new)


def _without_floor(situation: Situation) -> Effect:
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
    return Effect(headline=headline, statements=tuple(arithmetic(situation, reached)))


def _of_role(situation: Situation, new: Setup) -> Effect:
    """What a knob does to fused scores, or to those that pass; of others, where its value lies."""
    knob = situation.knob
    role = knob.role or ""
    if role in {"floor.fused", "floor.expansion", "gate.confident"}:
        return _floor(situation, new)
    if role.startswith(("fusion.", "ranker.")) and role != "ranker.timeout":
        if situation.old is None or situation.new is None:
            return Effect(headline=_place(knob, situation.value), reached=situation.new)
        return of_fusion(situation, situation.old, situation.new)
    if role.startswith("depth."):
        return _depth(situation)
    return _gate(situation) if role == "gate" else Effect(headline=_place(knob, situation.value))


def _is_bound(knob: Knob, catalogue: Catalogue) -> bool:
    """Whether a knob bounds one ranker's own scores, of cosines or distances."""
    own = {"floor.no_match", *(f"floor.{ranker}" for ranker in catalogue.rankers)}
    number = knob.type is not KnobType.MODE
    told = knob.direction is Direction.LOWER or (knob.role is None and knob.direction is not None)
    return number and (told or knob.role in own)


def _bound(situation: Situation) -> Effect:
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


def _gate(situation: Situation) -> Effect:
    """The confidence gate on or off."""
    expansion = situation.expansion
    if not expansion.enabled:
        return Effect(headline="no query is expanded; every first pass is accepted")
    confident = f"{expansion.confident_name} {number_text(expansion.confident)}"
    cut = f"{expansion.expanded_name} {number_text(expansion.expanded)}"
    headline = f"a query whose best hit scores under {confident} is expanded, and what comes back is cut at {cut}"
    return Effect(headline=headline)


def _floor(situation: Situation, setup: Setup) -> Effect:
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


def _depth(situation: Situation) -> Effect:
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
