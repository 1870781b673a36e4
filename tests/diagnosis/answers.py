"""Answers as engines give them, made with the engine's own arithmetic: what a diagnosis is shown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

from knobctl.fusion import fused_score

ALL: Final = ("vector", "bm25", "recency")
EQUAL: Final = dict.fromkeys(ALL, 1)


def hit(
    name: str,
    *,
    active: tuple[str, ...] = ALL,
    weights: dict[str, Any] | None = None,
    **ranks: int,
) -> dict[str, Any]:
    """One returned chunk with the score that follows from its ranks."""
    return hit_at(name, ranks, active, weights)


def hit_at(
    name: str,
    ranks: dict[str, int],
    active: tuple[str, ...] = ALL,
    weights: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The same for ranks that are a value."""
    score = fused_score(ranks, weights=weights or EQUAL, k=60, active=active)
    text = f"About {name}."
    return {"chunkId": name, "documentId": name, "text": text, "score": score, "ranks": ranks}


def bands(hits: list[dict[str, Any]]) -> list[int]:
    """The histogram of some hits."""
    found = [0] * 20
    for one in hits:
        found[max(1, math.ceil(round(one["score"] * 20, 9))) - 1] += 1
    return found


def rankers(
    vector: int | None = None,
    bm25: int | None = None,
    recency: int | None = None,
    /,
    **more: Any,
) -> dict[str, Any]:
    """Reports with that many rows; rankers without a number are left out."""
    rows = zip(ALL, (vector, bm25, recency), strict=True)
    return {name: {"rows": n} | more.get(name, {}) for name, n in rows if n is not None}


def search(
    candidates: list[dict[str, Any]], floor: float = 0.7, top_k: int = 10, **more: Any
) -> Any:
    """What Search answers for these candidates."""
    ranked = sorted(candidates, key=lambda one: (-one["score"], one["chunkId"]))
    kept = [one for one in ranked if one["score"] >= floor]
    removed = ranked[len(kept) :]
    answer = {
        "results": kept[:top_k],
        "effectiveMinScore": floor,
        "resultsBelowThreshold": len(removed),
        "outcome": "ok" if kept else "below_threshold" if ranked else "no_results",
        "rankers": rankers(50, 50, 20),
        "corpusVersion": "c12",
        "scoreHistogram": bands(ranked),
    }
    if removed:
        answer["bestRemovedScore"] = removed[0]["score"]
    return answer | more


def assembled(
    candidates: list[dict[str, Any]], floor: float = 0.3, chunks: int = 12, **more: Any
) -> Any:
    """What AssembleContext answers for these candidates."""
    found = search(candidates, floor, chunks)
    kept = len(candidates) - found["resultsBelowThreshold"]
    omitted = {"maxChunks": kept - chunks} if kept > chunks else {}
    quality = {
        "effectiveMinScore": floor,
        "resultsBelowThreshold": found["resultsBelowThreshold"],
        "retrievalOutcome": found["outcome"],
        **{name: found[name] for name in ("rankers", "corpusVersion", "scoreHistogram")},
        "omitted": omitted,
        "promptTokens": 40 * len(found["results"]),
    }
    if "bestRemovedScore" in found:
        quality["bestRemovedScore"] = found["bestRemovedScore"]
    return {"prompt": "...", "chunks": found["results"], "quality": quality | more}


def quality(**fields: Any) -> dict[str, Any]:
    """An AssembleContext answer without chunks."""
    return {"prompt": "...", "quality": fields}


FIELD_REPORT: Final = [
    hit("gates", vector=1, bm25=2),
    hit("approvals", vector=2, bm25=4),
    hit("policy", vector=5, bm25=1),
    *(hit(f"new-{n}", recency=n) for n in range(1, 6)),
    *(hit(f"near-{n}", vector=n) for n in (3, 4, 6)),
    hit("words", bm25=3),
]
"""Twelve candidates of which the best two rankers found: the report on the given page."""
TWO: Final = ("vector", "recency")
UNEQUAL: Final = {"vector": 2.0, "bm25": 1.0, "recency": 0.5}
FAILED: Final = {
    "vector": {"error": "the embedder did not answer"},
    "bm25": {"error": "the index could not be asked"},
    "recency": {"error": "the store could not be asked"},
}
OFF_TOPIC: Final = {
    "tier": "no_match",
    "pValue": 0.99,
    "z": -1.6335,
    "cosine": 0.1664,
    "cutOff": 0.3918,
    "probes": 99,
    "alpha": 0.05,
    "probeSetVersion": 2,
    "chunks": 1336,
}
"""As `TaskRelevance` goes over the wire."""
LATE: Final = {name: {"timedOut": True} for name in ALL}


@dataclass(frozen=True)
class Shown:
    """One answer, how it is shown, and the verdict that it must get."""

    answer: Any
    verdict: str
    remarks: tuple[str, ...] = ()
    """Ids that must be among the remarks."""
    knobs: dict[str, Any] = field(default_factory=dict)
    """The tenant's set; none for no tenant."""
    floor: str | None = None
    """A what-if."""


CASES: Final[dict[str, Shown]] = {
    "search-inherited-floor": Shown(
        search(FIELD_REPORT, rankers=rankers(6, 4, 5)),
        "floor-removed-all",
        ("search-own-floor", "best-removed", "vector-only-lost", "cost", "knobs-assumed"),
        floor="0.3",
    ),
    "search-own-min-score": Shown(
        search(FIELD_REPORT, 0.5), "floor-removed-some", ("request-floor", "found-by")
    ),
    "search-top-k": Shown(
        search(FIELD_REPORT, 0.01, 8, rankers=rankers(6, 4, 5)),
        "all-passed",
        ("top-k", "merely-recent"),
        floor="0.33",
    ),
    "assemble-removed-all": Shown(
        assembled(FIELD_REPORT, 0.68),
        "floor-removed-all",
        ("floor-diverges-from-expanded-floor", "cost"),
        {"retrieval_min_score": 0.68},
    ),
    "assemble-removed-some": Shown(
        assembled(FIELD_REPORT, 0.45, rankers=rankers(6, 4, 5)),
        "floor-removed-some",
        ("vector-only-lost", "floor-needs"),
        floor="1/3",
    ),
    "assemble-knob-moved": Shown(
        assembled(FIELD_REPORT, 0.45),
        "floor-removed-some",
        ("knob-moved",),
        {"rrf_k": 60, "retrieval_min_score": 0.2},
    ),
    "assemble-expanded": Shown(
        assembled(
            [hit(f"v{n}", active=TWO, vector=n) for n in range(1, 42)]
            + [hit(f"r{n}", active=TWO, recency=n) for n in range(1, 41)],
            rankers=rankers(100, 0, 40),
            expanded=True,
            rewrites=["train timetable", "timetable station departures"],
            removedByExpansionFloor=59,
        ),
        "all-passed",
        ("expansion-floor-removed-some", "expanded", "ranker-silent", "merely-recent", "omitted"),
    ),
    "assemble-expansion-removed-all": Shown(
        quality(
            effectiveMinScore=0.3,
            retrievalOutcome="below_threshold",
            rankers=rankers(100, 3, 40),
            expanded=True,
            removedByExpansionFloor=143,
            corpusVersion="c12",
        ),
        "expansion-floor-removed-all",
        ("expansion-floor-removed-all", "cost"),
        {"gate_expanded_floor": 0.5},
    ),
    "assemble-cosine-filter": Shown(
        assembled(FIELD_REPORT, rankers=rankers(50, 4, 5, vector={"removedByCosineFloor": 44})),
        "all-passed",
        ("cosine-floor-removed-rows",),
        {"vector_min_cosine": 0.25},
    ),
    "assemble-no-match": Shown(
        quality(
            effectiveMinScore=0.3,
            resultsBelowThreshold=70,
            retrievalOutcome="below_threshold",
            rankers=rankers(50, 0, 20),
            noMatch=True,
            bestCosine=0.2113,
            nearest=[
                {"chunkId": "parking", "documentId": "parking", "cosine": 0.2113},
                {"chunkId": "travel#2", "documentId": "travel", "cosine": 0.1902},
            ],
            corpusVersion="c12",
        ),
        "no-match",
        ("no-match-gate", "nearest"),
        {"no_match_min_cosine": 0.29},
    ),
    "assemble-off-topic": Shown(
        assembled(FIELD_REPORT, bestCosine=0.1664, relevance=OFF_TOPIC),
        "all-passed",
        ("best-cosine", "relevance"),
    ),
    "assemble-relevant": Shown(
        assembled(
            FIELD_REPORT,
            bestCosine=0.55,
            relevance=OFF_TOPIC | {"tier": "moderate", "pValue": 0.01, "z": 4.3374, "cosine": 0.55},
        ),
        "all-passed",
        ("relevance",),
    ),
    "assemble-not-measurable": Shown(
        assembled(
            FIELD_REPORT,
            relevance={"tier": "not_measurable", "cosine": 0.7, "probes": 99, "chunks": 12},
        ),
        "all-passed",
        ("relevance",),
    ),
    "assemble-not-measured": Shown(
        assembled(FIELD_REPORT, relevance={"tier": "not_measurable", "cosine": 0.7}),
        "all-passed",
        ("relevance",),
    ),
    "assemble-ranker-late": Shown(
        assembled(
            [hit(f"v{n}", active=("vector", "bm25"), vector=n) for n in range(1, 51)],
            rankers=rankers(50, 3, 0, recency={"timedOut": True}),
        ),
        "floor-removed-some",
        ("ranker-late", "omitted"),
    ),
    "assemble-prompt-empty": Shown(
        quality(
            effectiveMinScore=0.3,
            retrievalOutcome="ok",
            rankers=rankers(2, 0, 0),
            omitted={"tokenBudget": 2},
            corpusVersion="c3",
        ),
        "prompt-empty",
        ("omitted", "cost"),
    ),
    "assemble-last-good": Shown(
        assembled(FIELD_REPORT, lastGoodKnobs=True), "all-passed", ("last-good-knobs",)
    ),
    "unequal-weights": Shown(
        assembled([hit(f"v{n}", weights=UNEQUAL, vector=n) for n in range(1, 31)], 0.45),
        "floor-removed-some",
        ("floor-needs", "best-removed"),
        {"rrf_weight_vector": 2, "rrf_weight_recency": 0.5, "retrieval_min_score": 0.45},
    ),
    "other-weights-than-assumed": Shown(
        assembled([hit(f"v{n}", weights=UNEQUAL, vector=n) for n in range(1, 31)]),
        "all-passed",
        ("knobs-contradicted",),
    ),
    "no-results-empty-corpus": Shown(
        search([], corpusVersion="c0", rankers=rankers(0, 0, 0)),
        "no-results",
        ("first-empty-stage", "empty-corpus", "not-a-floor-problem"),
    ),
    "no-results-failed": Shown(
        search([], rankers=rankers(0, 0, 0, **FAILED)),
        "no-results",
        ("first-empty-stage", "ranker-failed"),
    ),
    "no-results-cosine-filter": Shown(
        search([], rankers=rankers(50, 0, 0, vector={"removedByCosineFloor": 50})),
        "no-results",
        ("cosine-floor-removed-all",),
    ),
    "fallback-no-query": Shown(
        quality(fallbackUsed=True, fallbackReason="no_query"),
        "retrieval-did-not-run",
        ("fallback",),
    ),
    "fallback-failed": Shown(
        quality(
            fallbackUsed=True, fallbackReason="retrieval_failed", rankers=rankers(0, 0, 0, **FAILED)
        ),
        "retrieval-did-not-run",
        ("ranker-failed",),
    ),
    "fallback-timeout": Shown(
        quality(
            fallbackUsed=True, fallbackReason="retrieval_timeout", rankers=rankers(0, 0, 0, **LATE)
        ),
        "retrieval-did-not-run",
        ("ranker-late",),
        {"ranker_timeout_ms": 300},
    ),
    "fallback-other": Shown(
        quality(fallbackUsed=True, fallbackReason="index_rebuilding"),
        "retrieval-did-not-run",
        ("fallback",),
    ),
    "unspecified-search": Shown({"effectiveMinScore": 0.7, "results": []}, "unclassified"),
    "unspecified-assemble": Shown(
        quality(effectiveMinScore=0.3), "unclassified", ("unspecified-without-fallback",)
    ),
    "older-results": Shown(
        {"results": [{"chunkId": "a", "score": 0.91}, {"chunkId": "b", "score": 0.66}]},
        "unclassified",
        ("older-engine", "floor-unknown", "live-unknown"),
    ),
    "older-empty": Shown({"results": []}, "unclassified", ("older-engine",)),
    "older-with-min-score": Shown(
        {"results": [{"id": "a", "score": "0.91"}], "min_score": "0.7"},
        "unclassified",
        ("older-engine", "search-own-floor"),
    ),
    "row-below-floor": Shown(
        {
            "results": [
                {"chunkId": f"c{n}", "score": score}
                for n, score in enumerate((0.82, 0.61, 0.0, 0.0))
            ],
            "effectiveMinScore": 0.5,
            "outcome": "ok",
        },
        "row-below-floor",
        ("row-below-floor",),
    ),
    "scale-raw": Shown(
        {
            "results": [],
            "effectiveMinScore": 0.3,
            "resultsBelowThreshold": 2,
            "outcome": "below_threshold",
            "bestRemovedScore": 0.032787,
            "rankers": rankers(2, 2, 0),
        },
        "floor-removed-all",
        ("scale-mismatch",),
    ),
    "scale-tiny": Shown(
        {
            "effectiveMinScore": 0.0001,
            "resultsBelowThreshold": 2,
            "outcome": "below_threshold",
            "rankers": rankers(2, 1, 1),
        },
        "floor-removed-all",
        ("scale-mismatch",),
    ),
    "direction-inverted": Shown(
        {
            "effectiveMinScore": 0.8,
            "resultsBelowThreshold": 3,
            "outcome": "below_threshold",
            "bestRemovedScore": 0.15,
            "rankers": rankers(3, 0, 0),
        },
        "floor-removed-all",
        ("scale-mismatch", "direction-inverted"),
    ),
    "contradiction": Shown(
        search(FIELD_REPORT, 0.5, outcome="below_threshold"),
        "floor-removed-all",
        ("contradiction",),
    ),
    "removed-uncounted": Shown(
        {"outcome": "RETRIEVAL_OUTCOME_BELOW_THRESHOLD"}, "removed-uncounted", ("floor-unknown",)
    ),
    "declared": Shown({"outcome": "access_revoked_upstream"}, "access-revoked-upstream"),
    "newer-outcome": Shown({"results": [], "outcome": "quota_spent"}, "unknown-outcome"),
    "call-error": Shown(
        {"code": "not_found", "message": "there is no such tenant"}, "call-failed", ("no-answer",)
    ),
    "oddities": Shown(
        {
            "results": [
                {"chunkId": "a\x1b[31m", "score": "NaN"},
                7,
                {"chunkId": "b", "score": 0.9},
            ],
            "effectiveMinScore": "0.7",
            "resultsBelowThreshold": "-3",
            "outcome": "ok",
            "rankers": {"vector": {"rows": "50"}, "evil\u202e": {"rows": 2.5}},
        },
        "all-passed",
        ("oddity",),
    ),
}
