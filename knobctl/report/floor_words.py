"""What a floor on fused scores keeps and loses, and what to write instead."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from knobctl.fusion.numbers import number_text, rank_text
from knobctl.fusion.reach import EDGE
from knobctl.report.expansion_words import (
    gate_order,
    is_practically_none,
    of_confident,
    of_expanded,
    of_fused,
)
from knobctl.report.reach import aligned, merged, passes
from knobctl.report.reach_words import topics
from knobctl.report.score_words import nonsense, of_best, worked
from knobctl.text import all_of, number_word, spelled, visible

if TYPE_CHECKING:
    from knobctl.fusion import Reach, Row
    from knobctl.knobs import Catalogue, Knob
    from knobctl.report.expansion_words import ExpansionKnobs


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
    if is_practically_none(reached):
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
    return f"With {all_of(len(live))} live:\n{aligned(lines)}"


def floor_statements(
    knob: Knob, reached: Reach, expansion: ExpansionKnobs, catalogue: Catalogue
) -> list[tuple[str, str]]:
    """What follows from a floor, in falling order of need."""
    lines = [("exactly", relations(reached)), *of_best(reached)]
    match knob.role:
        case "floor.fused":
            lines += [*_lost(reached), *_write(knob, reached), *of_fused(expansion)]
            lines += [*topics(reached), *nonsense(catalogue), *worked(reached)]
        case "floor.expansion":
            lines += [
                *_lost(reached),
                *_write(knob, reached),
                *of_expanded(expansion),
                *gate_order(expansion),
            ]
        case _:
            lines += [*of_confident(expansion, reached), *gate_order(expansion)]
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
        lines.append(("lost", _lost_meanings(reached)))
    elif unreachable:
        lines.append(("lost", f"every hit that {', '.join(map(visible, unreachable))} alone finds"))
    if len(live) > 2 and "recency" in live and reached.setup.floor > reached.two_ranker_ceiling:
        old = 'everything that is relevant but not recent: "relevant" then also means "recent"'
        lines.append(("lost", old))
    if unreachable:
        lines.append(("kept", _kept(reached) or "nothing"))
    return lines


def _lost_meanings(reached: Reach) -> str:
    """What is lost with the hits that vector search alone finds."""
    if reached.always_empty:
        return "every hit, whoever finds it"
    if "bm25" in reached.enabled:
        return "every paraphrase that BM25 does not find, however relevant"
    return "every hit that vector search alone finds"


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
            told.append(f"by {all_of(size)}: to rank {rank_text(rows[0].deepest_rank)}")
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
    if is_practically_none(reached):
        return [("note", "practically no floor, as one writes it on purpose")]
    if ceiling and floor > ceiling - EDGE:
        most = f"{reached.under(ceiling)} or less"
        return [("write", f"{most}; the platform default is {spelled(knob.default)}")]
    return []
