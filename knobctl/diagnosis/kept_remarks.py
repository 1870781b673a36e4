"""Remarks on what passed: who found it, what it is worth, what of it was left out after all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from knobctl.diagnosis.answer import Outcome
from knobctl.diagnosis.case import Case, Remark, score_text
from knobctl.fusion.numbers import number_text
from knobctl.text import count, joined, number_word, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.fusion.row import Names

RECENCY: Final = ("recency",)
_LIMITS: Final = 4
"""What an assembly has of them."""
"""What only the ranker that looks at no query found."""


def on_what_was_kept(case: Case) -> Iterator[Remark]:
    """Who found what was returned, and how much of it is merely recent."""
    answer = case.answer
    found: Counter[Names] = Counter(row.found_by for row in answer.rows if row.ranks)
    if not found:
        return
    order = {names: at for at, names in enumerate(case.scale.classes)}
    in_order = sorted(found, key=lambda names: (-len(names), order.get(names, len(order)), names))
    chunks = count(sum(found.values()), "chunk")
    if len(in_order) == 1:
        parts = f"{chunks}, by {_named(in_order[0], case)}"
    else:
        parts = (
            f"{chunks}: {joined(f'{found[names]} by {_named(names, case)}' for names in in_order)}"
        )
    yield Remark("found-by", "kept", parts)
    recent = found[RECENCY]
    if recent:
        chunks = "1 chunk passed" if recent == 1 else f"{recent} chunks passed"
        yield Remark(
            "merely-recent",
            "recent",
            f"{chunks} for nothing but being new: recency looks at no query",
        )


def on_the_reach_of_vector(case: Case) -> Iterator[Remark]:
    """What the vector ranker's part in an answer is worth: it always finds something."""
    answer, depth = case.answer, case.knobs.number("depth.vector")
    state = (answer.rankers or {}).get("vector")
    if not answer.rows or answer.outcome != Outcome.OK:
        return
    whole = state is not None and not state.removed_by_cosine and not answer.expanded
    if state and whole and case.knobs.tenant and depth and 0 < state.rows < depth:
        yield Remark(
            "vector-holds-all",
            "vector",
            f"{state.rows:,} rows, fewer than {case.knobs.said('depth.vector')}: every chunk there "
            "is, so being found by it says nothing",
        )
    gate = case.knobs.name("floor.no_match")
    if answer.best_cosine is not None and gate:
        floor = case.knobs.number("floor.no_match")
        default = " by default" if case.knobs.tenant is None else ""
        is_what = f"it is {number_text(floor)}" if floor else f"off{default}"
        text = f"cosine {answer.best_cosine:.3f}; only {gate} looks at it ({is_what})"
        yield Remark("best-cosine", "closest", text)


def _named(found_by: Names, case: Case) -> str:
    if len(found_by) == 1:
        return f"{visible(found_by[0])} alone"
    if found_by == case.scale.live and len(found_by) > 2:
        return f"all {number_word(len(found_by))}"
    return visible("+".join(found_by))


def on_the_prompt(case: Case) -> Iterator[Remark]:
    """What of the kept did not enter the prompt, and which limits bound."""
    answer = case.answer
    if not case.assembled or not answer.omitted.total:
        return
    bound = left_out(case)
    rest = "; no other limit was reached" if len(bound) < _LIMITS else ""
    entered = f"{len(answer.rows):,} of {answer.kept:,} kept"
    yield Remark("omitted", "prompt", f"{entered}; left out: {joined(bound)}{rest}")


def left_out(case: Case) -> list[str]:
    """What passed the floor and did not enter the prompt, limit by limit."""
    omitted = case.answer.omitted
    limits = {
        "dedup_min_similarity": (omitted.duplicates, "as duplicates"),
        "max_chunks_per_document": (omitted.per_document, "of one document"),
        "assembly_max_chunks": (omitted.max_chunks, "for want of room"),
        "assembly_token_budget": (omitted.token_budget, "for want of tokens"),
    }
    return [
        f"{number:,} {what} ({case.knobs.noted(knob)})"
        for knob, (number, what) in limits.items()
        if number
    ]


def on_top_k(case: Case) -> Iterator[Remark]:
    """What Search kept and did not return."""
    answer = case.answer
    left = answer.kept - len(answer.rows)
    if case.assembled or answer.bands is None or left <= 0 or not case.is_outcome(Outcome.OK):
        return
    yield Remark(
        "top-k",
        "topK",
        f"{count(left, 'more candidate')} passed the floor and were left out",
    )


def on_the_breach(case: Case) -> Iterator[Remark]:
    """Rows that the floor should have removed."""
    if not case.breaches:
        return
    rows = [
        f"{visible(row.chunk_id[:60]) or '?'} {score_text(row.score or 0.0, case.floor)}"
        for row in case.breaches[:5]
    ]
    more = f" and {len(case.breaches) - 5:,} more" if len(case.breaches) > 5 else ""
    yield Remark("row-below-floor", "rows", f"{', '.join(rows)}{more}")
    yield Remark(
        "breach-is-no-tuning",
        "means",
        "the engine returned what its own floor excludes: a defect of the engine, or a step after "
        "the floor that adds rows; no value of a knob mends it",
    )
