"""Sentences about a reach: what an operator does not expect of a floor."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.fusion import Scale
from knobctl.fusion.doubles import float_outcomes
from knobctl.fusion.numbers import rank_text
from knobctl.text import all_of, joined, number_word, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knobctl.fusion import Reach, Row
    from knobctl.fusion.row import Names

RECENCY: Final = "recency"
"""The ranker that looks at no query."""


def named(found_by: Names, live: Names) -> str:
    """Name the rankers that found a hit: `vector alone`, `vector + bm25, same rank`, `all three, same rank`."""
    if len(found_by) == 1:
        return f"{found_by[0]} alone"
    if found_by == live:
        return f"{all_of(len(live))}, same rank"
    return f"{' + '.join(found_by)}, same rank"


def notes(reached: Reach) -> list[str]:
    """Say what a table does not: emptiness, waste, silence, recency, edges. One sentence or two each."""
    return [sentence for _, sentence in topics(reached)]


def topics(reached: Reach) -> list[tuple[str, str]]:
    """The notes, each with a word for what it is about."""
    parts: tuple[tuple[str, Callable[[Reach], list[str]]], ...] = (
        ("empty", emptiness),
        ("dropped", waste),
        ("time-out", silence),
        ("recent", recency),
        ("edge", edges),
    )
    return [(topic, sentence) for topic, part in parts for sentence in part(reached)]


def emptiness(reached: Reach) -> list[str]:
    """Whether the floor can remove every row of a result."""
    least = reached.told(reached.least_best_score)
    if reached.never_empty and len(reached.enabled) == 1:
        return [
            f'Never empty: the first row scores {least}. So no floor here can say "nothing relevant".'
        ]
    if reached.always_empty:
        most = reached.told(reached.best_score)
        return [f"Always empty: the best score there is, first in every ranker, is {most}."]
    if reached.never_empty:
        first = f"the first row of one of them scores at least {least}"
        return [
            f'Never empty: whichever rankers are live, {first}. So this floor cannot say "nothing relevant".'
        ]
    groups: dict[tuple[int, Fraction, int], list[Names]] = defaultdict(list)
    for live in reached.live_sets:
        if reached.can_be_empty(live):
            needed, best = _needed(reached, live)
            groups[needed, best, len(live)].append(live)
    cases = [
        f"with {live_words(lives, reached)} live, where no chunk is found by {_company(needed, size)} "
        f"(others score {reached.told(best)} at most)"
        for (needed, best, size), lives in groups.items()
        if needed
    ]
    empty = [live for (needed, _, _), lives in groups.items() if not needed for live in lives]
    if empty:
        cases.append(
            f"with {joined(('+'.join(live) for live in empty), 'or')} alone live, whatever is found"
        )
    return [f"Can be empty: {'; '.join(cases)}."]


def _needed(reached: Reach, live: Names) -> tuple[int, Fraction]:
    """How many rankers must find a hit before it can pass, and the best score with fewer; 0 if none can pass."""
    rows = [row for row in reached.rows if row.live == live]
    needed = min((len(row.found_by) for row in rows if not row.unreachable), default=0)
    if not needed:
        return 0, Fraction(0)
    return needed, max(row.ceiling for row in rows if len(row.found_by) < needed)


def _company(needed: int, live: int) -> str:
    return all_of(live) if needed == live else f"{number_word(needed)} rankers"


def live_words(live_sets: Sequence[Names], reached: Reach) -> str:
    """Name some sets of live rankers of one size: `all three`, `any two`, `vector+bm25 or vector+recency`."""
    if list(live_sets) == [reached.enabled]:
        return all_of(len(reached.enabled))
    size = len(live_sets[0])
    if len(live_sets) == sum(len(live) == size for live in reached.live_sets):
        return f"any {number_word(size)}"
    return joined(("+".join(live) for live in live_sets), "or")


def waste(reached: Reach) -> list[str]:
    """Rows that are fetched and dropped unless another ranker finds them too, and how to keep them."""
    live = reached.enabled
    rows = [row for row in (reached.row(live, (name,)) for name in live) if row.depth is not None]
    if reached.removes_nothing(live):
        lowest = reached.down(min(row.lowest for row in rows))
        return [f"It removes nothing: the lowest row of any list still scores {lowest}."]
    dropped = [
        (row, row.depth - row.deepest_rank)
        for row in rows
        if row.depth and row.depth > row.deepest_rank
    ]
    if not dropped:
        return []
    parts = joined(
        f"{'all' if number == row.depth else f'{number} of'} {row.depth} {row.found_by[0]} rows"
        for row, number in dropped
    )
    keeping = _keeping([row for row, _ in dropped], reached)
    return [
        f"{parts[0].upper()}{parts[1:]} are fetched and dropped{_unless(reached)}. To keep them all: {keeping}."
    ]


def _unless(reached: Reach) -> str:
    """Which company saves a row."""
    live = reached.enabled
    if len(live) == 1:
        return ""
    saving = min(
        (
            len(row.found_by)
            for row in reached.rows
            if row.live == live and len(row.found_by) > 1 and not row.unreachable
        ),
        default=0,
    )
    if saving == 2:
        return " unless a second ranker finds them too"
    return f" unless all {number_word(saving)} rankers find them" if saving else ""


def _keeping(rows: Sequence[Row], reached: Reach) -> str:
    """The highest floors that keep all rows, by ranker where they differ."""
    by_floor: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_floor[reached.down(row.lowest)].append(row.found_by[0])
    if len(by_floor) == 1:
        return f"{next(iter(by_floor))} or less"
    return ", ".join(f"{floor} or less for {joined(names)}" for floor, names in by_floor.items())


def recency(reached: Reach) -> list[str]:
    """How many chunks pass for nothing but being new."""
    if RECENCY not in reached.enabled:
        return []
    row = reached.row(reached.enabled, (RECENCY,))
    rows = row.deepest_rank if row.depth is None else min(row.deepest_rank, row.depth)
    if not rows:
        return ["No chunk passes for being recent alone."]
    newest = f"The {rows} newest chunks pass" if rows > 1 else "The newest chunk passes"
    return [f"{newest} for every question, relevant or not: {RECENCY} looks at no query."]


def silence(reached: Reach) -> list[str]:
    """How much a ranker that falls silent loosens the floor."""
    live = reached.enabled
    if reached.setup.formula.scale is Scale.RAW:
        return (
            [
                "A ranker that times out or finds nothing takes its part of each score with it; what the others can score stays."
            ]
            if len(live) > 1
            else []
        )
    fewer = [rest for rest in reached.live_sets if len(rest) == len(live) - 1 and live[0] in rest]
    if len(live) < 2 or not fewer or reached.removes_nothing(live):
        return []
    alone = (live[0],)
    now = reached.row(live, alone).deepest_rank
    then = max(reached.row(rest, alone).deepest_rank for rest in fewer)
    if then == now:
        return []
    before = f"to rank {rank_text(now)}" if now else "never"
    change = f"{visible(live[0])} alone passes to rank {rank_text(then)} then, {before} now"
    return [
        f"A ranker that times out or finds nothing is not live, which loosens the floor: {change}."
    ]


def edges(reached: Reach) -> list[str]:
    """What doubles do where the floor is a ceiling: our order of summation, and the others."""
    groups: dict[tuple[Fraction, float, int, int], list[Row]] = defaultdict(list)
    raw = reached.setup.formula.scale is Scale.RAW  # then no row depends on who else is live
    for row in reached.rows:
        if row.on_edge and (row.live == reached.enabled or not raw):
            score, by_order = float_outcomes(row, reached.setup)
            groups[row.ceiling, score, sum(by_order.values()), len(by_order)].append(row)
    told = [
        _edge(reached, rows, score, (passing, orders))
        for (_, score, passing, orders), rows in groups.items()
    ]
    return list(dict.fromkeys(told))


def _edge(reached: Reach, rows: Sequence[Row], score: float, outcomes: tuple[int, int]) -> str:
    floor, ceiling = reached.setup.floor, rows[0].ceiling
    equals = "is" if floor == ceiling else "lies within 1e-9 of"
    if ceiling == 1 and reached.setup.formula.scale is Scale.NORMALISED:
        return f"The floor {equals} 1: a hit must be first in every live ranker. It then scores 1.0, in any order of summation."
    where = joined(dict.fromkeys("+".join(row.found_by) for row in rows), "or")
    lives = f"with {live_words(list(dict.fromkeys(row.live for row in rows)), reached)} live"
    if reached.setup.formula.scale is Scale.RAW:
        lives = "whichever others are live"
    fate = "passes" if score >= float(floor) else "is dropped"
    return (
        f"On the edge: the floor {equals} {reached.told(ceiling)}, the ceiling of a hit found by {where} "
        f"alone {lives}. In the order of the engine's sum its best double is {score!r}, which {fate}; "
        f"{_others(*outcomes)} Write {reached.under(ceiling)} to be clear of it."
    )


def _others(passing: int, orders: int) -> str:
    if passing == orders:
        return "so it does in every order, but single precision or another formula may differ."
    if passing == 0:
        return "so it is in every order, but single precision or another formula may differ."
    return f"an engine that sums in another order may answer otherwise: {passing} of {orders} orders pass it."
