"""Remarks on the floor: whose it was, which rankers it was measured against, what it asks of a hit."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.diagnosis.answer import Outcome
from knobctl.diagnosis.case import (
    Case,
    Remark,
    Verdict,
    ceilings_words,
    company,
    score_text,
)
from knobctl.fusion import Setup, reach
from knobctl.fusion.numbers import fraction_text, number_text, rank_text, safely_below
from knobctl.fusion.reach import EDGE
from knobctl.text import all_of, count, joined, number_word, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.diagnosis.answer import RankerState
    from knobctl.fusion import Row as FusionRow
    from knobctl.fusion.row import Names

LOST_EVERYTHING: Final = (Verdict.FLOOR_REMOVED_ALL, Verdict.REMOVED_UNCOUNTED)
_ORDINALS: Final = ("", "first", "second", "third")


def on_the_floor(case: Case) -> Iterator[Remark]:
    """Whose floor ran."""
    knob = case.knobs.said("floor.fused")
    if case.floor is None:
        if case.tells_of_scores or case.is_outcome(Outcome.BELOW_THRESHOLD):
            yield Remark("floor-unknown", "floor", "the answer does not state the floor that ran")
        return
    floor = number_text(case.floor)
    if not case.assembled:
        yield _of_search(case, floor, knob)
    elif case.knobs.tenant and case.knobs.number("floor.fused") != case.floor:
        yield Remark(
            "knob-moved",
            "floor",
            f"{floor} ran; {case.knobs.tenant} holds {knob} now, so the knob changed since or the "
            "answer is another tenant's",
        )


def _of_search(case: Case, floor: str, knob: str) -> Remark:
    governs = f"the tenant's {knob} does not govern Search"
    if not case.answer.inherits_search_floor:
        return Remark("request-floor", "floor", f"{floor} is the request's own minScore; {governs}")
    if case.asked and case.asked.min_score is None:
        said = f"no minScore was sent, so Search used its own {floor}"
    else:
        said = f"{floor} is Search's own, for requests without a minScore"
    return Remark("search-own-floor", "floor", f"{said}; {governs}")


def on_the_rankers(case: Case) -> Iterator[Remark]:
    """Which rankers were live, what that allows, and what silence did to it."""
    scale = case.scale
    if scale.live and case.tells_of_scores:
        names = ", ".join(map(visible, scale.live))
        if scale.stated:
            yield Remark("live-rankers", "live", f"{names}; {ceilings_words(scale)}")
        else:
            text = f"not told; if {names}, then {ceilings_words(scale)}"
            yield Remark("live-unknown", "live", text)
    silent = {name: state for name, state in (case.answer.rankers or {}).items() if not state.rows}
    for name, state in silent.items():
        kind, what = _why(case, name, state)
        yield Remark(kind, "silent", f"{visible(name)} {what}")
    yield from _loosened(case, [name for name in silent if not case.switched_off(name)])


def _why(case: Case, name: str, state: RankerState) -> tuple[str, str]:
    if state.timed_out:
        limit = case.knobs.noted("ranker.timeout")
        return "ranker-late", f"did not answer in time ({limit})"
    if state.error:
        return "ranker-failed", f"failed: {visible(state.error[:200])}"
    if case.switched_off(name):
        return "ranker-off", "is switched off"
    return "ranker-silent", "returned nothing"


def _loosened(case: Case, silent: list[str]) -> Iterator[Remark]:
    """What the scores would be worth with the silent rankers, and are without them."""
    scale = case.scale
    if case.floor is None or not silent or not scale.live or case.off_scale:
        return
    weight = case.knobs.in_force.by_role
    weights = dict(scale.weights) | {name: weight(f"fusion.weight.{name}") for name in silent}
    try:
        reached = reach(Setup(floor=case.floor, k=scale.k, weights=weights, depths={}))
    except ValueError:
        return
    first = (scale.live[0],)
    now, then = reached.row(scale.live, first), reached.row(tuple(weights), first)
    if not now.ceiling or now.deepest_rank == then.deepest_rank:
        return
    before = rank_text(then.deepest_rank) if then.deepest_rank else "none"
    yield Remark(
        "floor-loosened",
        "looser",
        f"so the floor is looser: {visible(first[0])} alone reaches {fraction_text(now.ceiling)} "
        f"instead of {fraction_text(then.ceiling)}, and passes {number_text(case.floor)} to rank "
        f"{rank_text(now.deepest_rank)} instead of {before}",
    )


def on_what_it_asks(case: Case, verdict: Verdict) -> Iterator[Remark]:
    """Which hits can pass the floor that bound, and down to which rank."""
    floor = case.floor
    if verdict is Verdict.EXPANSION_FLOOR_REMOVED_ALL:
        floor = case.knobs.number("floor.expansion") if case.knobs.tenant else None
    reached = case.scale.reach(floor) if floor else None
    if floor is None or reached is None or not case.scale.classes or not case.makes_sense:
        return
    live = case.scale.live
    rows = [row for row in reached.rows if row.live == live]
    passing = [row for row in rows if not row.unreachable]
    if not passing:
        ways = "nothing, it is above the best score"
    elif reached.removes_nothing(live):
        ways = "all that the lists hold"
    else:
        ways = f"{_passes(case, passing)}{'; nothing else' if len(passing) < len(rows) else ''}"
    yield Remark("floor-needs", "passes", f"at {number_text(floor)}: {ways}")
    yield from _lost(case, [row.found_by for row in passing])


def _passes(case: Case, passing: list[FusionRow]) -> str:
    """The ways to pass: `found by two to rank 30, by all three to rank 75`."""
    live, by_size = case.scale.live, case.scale.by_size()
    if len(live) == 1:
        return f"its rows to rank {rank_text(passing[0].deepest_rank)}"
    ways: dict[str, list[FusionRow]] = {}
    for row in passing:
        size = len(row.found_by)
        even = len(by_size[size]) == 1
        who = company(size, len(live)) if even else visible("+".join(row.found_by))
        ways.setdefault(who, []).append(row)
    by_rank: dict[str, list[str]] = {}
    for who, rows in ways.items():
        by_rank.setdefault(_down_to(rows), []).append(who)
    return "found " + ", ".join(f"by {joined(who, 'or')} {rank}" for rank, who in by_rank.items())


def _down_to(rows: list[FusionRow]) -> str:
    if all(row.within_depth for row in rows):
        return "at any rank"
    return f"to rank {rank_text(min(row.deepest_rank for row in rows))}"


def _lost(case: Case, passing: list[Names]) -> Iterator[Remark]:
    live = case.scale.live
    if "vector" not in live or len(live) < 2 or ("vector",) in passing:
        return
    text = (
        "every paraphrase that BM25 does not find, however relevant"
        if "bm25" in live
        else "every match that vector search alone finds, however relevant"
    )
    if len(live) > 2 and "recency" in live and passing == [live]:
        text += "; and all that is not recent"
    yield Remark("vector-only-lost", "lost", text)


def on_the_best_removed(case: Case) -> Iterator[Remark]:
    """What the best removed candidate is by its score, and which floor lets it through."""
    best = case.answer.best_removed
    if best is None or best <= 0 or not case.makes_sense:
        return
    is_what = _structure(case, best)
    through = letting_through(case)
    lets = f"; {through} or less lets it through" if through else ""
    yield Remark("best-removed", "best", f"{score_text(best, case.floor)}{is_what}{lets}")


def letting_through(case: Case) -> str:
    """The highest floor of two decimals (more for a small score) that the best removed candidate passes."""
    best = case.answer.best_removed
    if best is None or not 0 < best <= 1:
        return ""
    return safely_below(Fraction(best), EDGE)


def _structure(case: Case, score: float) -> str:
    """Who can have found a hit of this score, and where."""
    scale = case.scale
    classes = scale.can_score(score)
    if not classes:
        return ""
    ways: list[str] = []
    for size in sorted({len(found_by) for found_by in classes}):
        alike = [found_by for found_by in classes if len(found_by) == size]
        words = list(dict.fromkeys(_way(case, found_by, score, len(alike)) for found_by in alike))
        ways += words[:3]
    return f" is {', or '.join(ways)}"


def _way(case: Case, found_by: Names, score: float, alike: int) -> str:
    scale, size = case.scale, len(found_by)
    who = "one ranker" if size == 1 else f"{number_word(size)} rankers"
    if size == len(scale.live):
        who = visible(found_by[0]) if size == 1 else all_of(size)
    elif alike == 1 or len(scale.by_size()[size]) > 1:
        who = visible("+".join(found_by))
    absent = _absent(size, len(scale.live))
    ranks = scale.two_ranks(found_by, score) if size == 2 else None
    if ranks and ranks[0] == ranks[1]:
        return f"{_rank(ranks[0])} in {who}{absent}"
    if ranks:
        return f"{_rank(ranks[0])} and {_rank(ranks[1])} in {who}{absent}"
    rank = scale.equal_rank(found_by, score)
    return f"{'' if size == 1 else 'about '}{_rank(rank)} in {who}{absent}"


def _absent(size: int, live: int) -> str:
    missing = live - size
    if not missing:
        return ""
    if missing > 1:
        return f", absent from the other {number_word(missing)}"
    return f", absent from the {'third' if live == 3 else 'other'}"


def _rank(rank: int) -> str:
    return _ORDINALS[rank] if rank < len(_ORDINALS) else f"rank {rank}"


def on_the_cost(case: Case, verdict: Verdict) -> Iterator[Remark]:
    """What it costs a person."""
    removed = case.answer.removed or case.answer.removed_by_expansion
    was = "was" if removed == 1 else "were"
    though = f", though {count(removed, 'chunk')} {was} found" if removed else ""
    if verdict in {*LOST_EVERYTHING, Verdict.EXPANSION_FLOOR_REMOVED_ALL}:
        lost = (
            f"the model gets no retrieved text{though}: it answers from itself"
            if case.assembled
            else f"the caller gets nothing{though}"
        )
        yield Remark("cost", "cost", lost)
    elif verdict in {Verdict.DID_NOT_RUN, Verdict.PROMPT_EMPTY}:
        yield Remark("cost", "cost", "the model gets no retrieved text: it answers from itself")
