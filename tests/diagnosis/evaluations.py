"""Answers to Evaluate, made with the engine's own arithmetic."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.diagnosis.answers import ALL, bands, hit_at, rankers


def evaluation(
    candidates: list[dict[str, Any]], floor: float = 0.3, most: int = 12, **quality: Any
) -> dict[str, Any]:
    """One evaluation: the floor, then room for so many."""
    found = sorted(candidates, key=lambda one: (-one["score"], one["chunkId"]))
    kept = [one for one in found if one["score"] >= floor]
    left = max(len(kept) - most, 0)
    attested = {
        "effectiveMinScore": floor,
        "resultsBelowThreshold": len(found) - len(kept),
        "retrievalOutcome": "ok" if kept else "below_threshold" if found else "no_results",
        "rankers": rankers(*(sum(r in one["ranks"] for one in found) for r in ALL)),
        "corpusVersion": "c12",
        "scoreHistogram": bands(found),
        "promptTokens": 10 * len(kept[:most]),
    }
    if left:
        attested["omitted"] = {"maxChunks": left}
    return {
        "query": "how do I pause a workflow?",
        "candidates": found,
        "rankers": attested["rankers"],
        "bestCosine": 0.5,
        "chunks": kept[:most],
        "quality": attested | quality,
    }


def evaluated(*evaluations: dict[str, Any]) -> dict[str, Any]:
    """The answer of the call."""
    return {"evaluations": list(evaluations), "corpusVersion": "c12"}


@st.composite
def evaluations(draw: st.DrawFn) -> dict[str, Any]:
    """An evaluation of a few chunks under some floor."""
    names = draw(st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=8))
    ranks = st.dictionaries(st.sampled_from(ALL), st.integers(1, 80), min_size=1)
    candidates = [hit_at(name, draw(ranks)) for name in names]
    floor = draw(st.sampled_from([0.0001, 0.2, 0.3, 1 / 3, 0.6, 1.0]))
    return evaluation(candidates, floor, draw(st.integers(1, 5)))
