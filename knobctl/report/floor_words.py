"""What a floor on fused scores keeps and loses, and how it stands to the expansion pass."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Self

from knobctl.fusion.numbers import number_text, rank_text
from knobctl.fusion.reach import EDGE
from knobctl.knobs.fusion_setup import DISABLED
from knobctl.report.reach import aligned, merged, passes
from knobctl.report.reach_words import topics
from knobctl.report.score_words import nonsense, of_best, worked
from knobctl.text import number_word, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.fusion import Reach, Row
    from knobctl.knobs import Catalogue, Knob, KnobValue

PRACTICALLY_NONE: Final = Fraction(1, 1000)
"""Up to this part of the best score a score knob is switched off on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionKnobs:
    """What the confidence gate and the expansion pass do, by role; a name is empty where the schema has no such knob."""

    floor_name: str
    floor: Fraction
    expanded_name: str
    expanded: Fraction
    confident_name: str
    confident: Fraction
    gate_name: str
    enabled: bool
    multiplier: Fraction

    @classmethod
    def found_in(
        cls,
        catalogue: Catalogue,
        values: Mapping[str, KnobValue],
        exact: Callable[[str], Fraction],
    ) -> Self:
        """Look the knobs up by role among effective values."""

        def named(role: str) -> str:
            return catalogue.by_role[role].name if role in catalogue.by_role else ""

        def number(role: str, otherwise: int) -> Fraction:
            return exact(named(role)) if named(role) else Fraction(otherwise)

        gate = named("gate")
        return cls(
            floor_name=named("floor.fused"),
            floor=number("floor.fused", 0),
            expanded_name=named("floor.expansion"),
            expanded=number("floor.expansion", 0),
            confident_name=named("gate.confident"),
            confident=number("gate.confident", 0),
            gate_name=gate,
            enabled=not gate or values[gate] != DISABLED,
            multiplier=number("expansion.depth", 1),
        )

    def widened(self, depth: int) -> int:
        """How many rows a ranker contributes in the expansion pass."""
        return math.floor(depth * self.multiplier)


def floor_headline(role: str, reached: Reach) -> str:
    """The answer in one sentence."""
    first = visible(reached.enabled[0])
    row = reached.row(reached.enabled, reached.enabled[:1])
    if role == "gate.confident":
        return _confident_headline(first, row, reached)
    if reached.always_empty:
        return f"unreachable: the best possible score is {reached.told(reached.best_score)}, so nothing ever passes."
    if reached.removes_nothing(reached.enabled):
        return "removes nothing while all rankers are live."
    if row.on_edge:
        return f"on the edge, just what the first hit of {first} alone scores."
    if row.unreachable:
        return f"a match found by {first} search alone can never pass."
    return (
        f"a match found by {first} search alone passes down to rank {rank_text(row.deepest_rank)}."
    )


def _confident_headline(first: str, row: Row, reached: Reach) -> str:
    if reached.setup.floor <= PRACTICALLY_NONE * reached.best_score:
        return "every first pass is accepted, so no query is expanded."
    if row.unreachable:
        return f"a query whose best hit {first} alone finds is never confident; it always expands."
    return f"a first pass is accepted if its best hit scores this; {first} alone does to rank {rank_text(row.deepest_rank)}."


def floor_table(role: str, reached: Reach) -> str:
    """The rows while all enabled rankers are live."""
    live = reached.enabled
    what = "reaches it down to rank" if role == "gate.confident" else "passes down to rank"
    lines = [("found by", "ceiling", what)]
    lines += [
        (visible(label), reached.told(row.ceiling), passes(row))
        for label, row in merged(reached, live)
    ]
    return f"With {_all(len(live))} live:\n{aligned(lines)}"


def _all(number: int) -> str:
    return {1: "it", 2: "both"}.get(number, f"all {number_word(number)}")


def floor_statements(
    knob: Knob, reached: Reach, expansion: ExpansionKnobs, catalogue: Catalogue
) -> list[tuple[str, str]]:
    """What follows from a floor, in falling order of need."""
    lines = [("exactly", relations(reached)), *of_best(reached)]
    match knob.role:
        case "floor.fused":
            lines += [*_lost(reached), *_write(knob, reached), *_of_fused(expansion)]
            lines += [*topics(reached), *nonsense(catalogue), *worked(reached)]
        case "floor.expansion":
            lines += [
                *_lost(reached),
                *_write(knob, reached),
                *_of_expanded(expansion),
                *_order(expansion),
            ]
        case _:
            lines += [*_of_confident(expansion, reached), *_order(expansion)]
    return lines


def relations(reached: Reach) -> str:
    """How the floor stands to the ceilings of one ranker, of the best two, and so on."""
    floor, enabled = reached.setup.floor, reached.enabled
    shares = sorted(reached.shares(enabled).values(), reverse=True)
    even = len(set(shares)) == 1
    parts = []
    for size in range(1, len(shares)):
        ceiling = sum(shares[:size], Fraction(0))
        who = "a hit of one ranker" if size == 1 else f"a hit of {number_word(size)}"
        best = "" if even else " at best"
        parts.append(f"{_stands(reached, ceiling)}, the most that {who} can score{best}")
    if not parts:
        return f"{number_text(floor)} of {reached.told(reached.best_score)}, the score of the first hit"
    return f"{number_text(floor)} is {'; '.join(parts)}"


def _stands(reached: Reach, ceiling: Fraction) -> str:
    floor, text = reached.setup.floor, reached.told(ceiling)
    if floor == ceiling:
        return f"exactly {text}"
    word = "above" if floor > ceiling else "under"
    return f"{word} {text} by less than 1e-9" if abs(floor - ceiling) < EDGE else f"{word} {text}"


def _lost(reached: Reach) -> list[tuple[str, str]]:
    """What no relevance can save, and what several rankers still bring through."""
    live = reached.enabled
    unreachable = [name for name in live if reached.row(live, (name,)).unreachable]
    lines = []
    if "vector" in unreachable:
        lines.append(
            (
                "lost",
                "every hit, whoever finds it"
                if reached.always_empty
                else "every paraphrase that BM25 does not find, however relevant"
                if "bm25" in live
                else "every hit that vector search alone finds",
            )
        )
    elif unreachable:
        lines.append(("lost", f"every hit that {', '.join(map(visible, unreachable))} alone finds"))
    if len(live) > 2 and "recency" in live and reached.setup.floor > reached.two_ranker_ceiling:
        lines.append(
            (
                "lost",
                'everything that is relevant but not recent: "relevant" then also means "recent"',
            )
        )
    if unreachable:
        lines.append(("kept", _kept(reached) or "nothing"))
    return lines


def _kept(reached: Reach) -> str:
    """What several rankers bring through: `found by two rankers: to rank 30 each; by all three: to rank 75`."""
    live = reached.enabled
    told = []
    for size in range(1, len(live) + 1):
        rows = [
            row
            for row in reached.rows
            if row.live == live and len(row.found_by) == size and not row.unreachable
        ]
        every = len(rows) == math.comb(len(live), size)
        ranks = {row.deepest_rank for row in rows}
        if size == len(live) and rows:
            told.append(f"by {_all(size)}: to rank {rank_text(rows[0].deepest_rank)}")
        elif every and len(ranks) == 1 and size > 1:
            told.append(
                f"by {number_word(size)} rankers: to rank {rank_text(rows[0].deepest_rank)} each"
            )
        else:
            told += [
                f"by {visible(' + '.join(row.found_by))}: to rank {rank_text(row.deepest_rank)}"
                for row in rows
            ]
    return f"found {'; '.join(told)}" if told else ""


def _write(knob: Knob, reached: Reach) -> list[tuple[str, str]]:
    """What to write instead, where something stands against the value."""
    first = "vector" if "vector" in reached.enabled else reached.enabled[0]
    ceiling, floor = reached.share(reached.enabled, first), reached.setup.floor
    if floor <= PRACTICALLY_NONE * reached.best_score:
        return [("note", "practically no floor, as one writes it on purpose")]
    if ceiling and floor > ceiling - EDGE:
        return [
            (
                "write",
                f"{reached.under(ceiling)} or less; the platform default is {spelled(knob.default)}",
            )
        ]
    return []


def _of_fused(expansion: ExpansionKnobs) -> list[tuple[str, str]]:
    """How the assembly floor stands to the floor of the expansion pass."""
    if not expansion.expanded_name:
        return []
    name, floor, expanded = (
        expansion.expanded_name,
        number_text(expansion.floor),
        number_text(expansion.expanded),
    )
    if not expansion.enabled:
        return [
            (
                "expansion",
                f"{expansion.gate_name} is DISABLED: no query is expanded, so {name} {expanded} cuts nothing",
            )
        ]
    if expansion.floor > expansion.expanded:
        text = f"above {name} {expanded}: what expansion admits from {expanded} up to {floor} is thrown away afterwards; set both alike"
    elif expansion.floor < expansion.expanded:
        text = f"below {name} {expanded}: an expanded query is cut at {expanded} first, which {floor} cannot rescue; set both alike"
    else:
        text = f"equal to {name}: what expansion admits is kept, so the pipeline agrees with itself"
    return [("expansion", text)]


def _of_expanded(expansion: ExpansionKnobs) -> list[tuple[str, str]]:
    """How the floor of the expansion pass stands to the assembly floor."""
    name, floor, expanded = (
        expansion.floor_name,
        number_text(expansion.floor),
        number_text(expansion.expanded),
    )
    lines = []
    if not expansion.enabled:
        lines.append(
            (
                "gate",
                f"{expansion.gate_name} is DISABLED: no query is expanded, so this floor cuts nothing",
            )
        )
    if expansion.multiplier != 1:
        lines.append(
            (
                "depths",
                f"the expansion pass widens the lists {number_text(expansion.multiplier)} times; the table counts with that",
            )
        )
    if expansion.expanded < expansion.floor:
        lines.append(
            (
                "assembly",
                f"below {name} {floor}: what expansion admits from {expanded} up to {floor} is thrown away afterwards; set both alike",
            )
        )
    elif expansion.expanded > expansion.floor:
        lines.append(
            (
                "assembly",
                f"above {name} {floor}: an expanded query is cut at {expanded} first, which the lower floor cannot rescue; set both alike",
            )
        )
    else:
        lines.append(
            (
                "assembly",
                f"equal to {name}: what expansion admits is kept, so the pipeline agrees with itself",
            )
        )
    return lines


def _of_confident(expansion: ExpansionKnobs, reached: Reach) -> list[tuple[str, str]]:
    if not expansion.enabled:
        return [
            (
                "gate",
                f"{expansion.gate_name} is DISABLED: every first pass is accepted, whatever this says",
            )
        ]
    if expansion.confident <= PRACTICALLY_NONE:
        return [("gate", "accepts every first pass on purpose: no query is expanded")]
    if reached.never_empty:
        return [
            (
                "gate",
                "the best row always reaches it, whichever rankers are live: no query is expanded",
            )
        ]
    return [
        ("cost", "each query under it issues an expansion: more searches, wider lists, more time")
    ]


def _order(expansion: ExpansionKnobs) -> list[tuple[str, str]]:
    """Whether surviving expansion is harder than needing none."""
    if not (expansion.enabled and expansion.confident_name and expansion.expanded_name):
        return []
    confident, expanded = number_text(expansion.confident), number_text(expansion.expanded)
    names = f"{expansion.expanded_name} {expanded}", f"{expansion.confident_name} {confident}"
    if not expansion.expanded > expansion.confident > PRACTICALLY_NONE:
        return []
    easier = "accepting without expansion is easier than surviving it (gate-order)"
    return [("order", f"{names[0]} is above {names[1]}: {easier}")]
