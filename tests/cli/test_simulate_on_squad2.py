"""What `knobctl simulate` says of the judged corpus of the examples: a raised floor, and an honest nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.test_bench_sweep import EXAMPLES
from tests.cli.test_recommend_on_squad2 import judged  # noqa: F401  a fixture
from tests.cli.test_simulate import answer, counts

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]  # some 7,000 texts are embedded first
KNOWN = (
    *("--qrels", str(EXAMPLES / "qrels.tsv"), "--queries", str(EXAMPLES / "queries.jsonl")),
    *("--labels", "labels.jsonl", "--format", "json"),
)


@pytest.fixture
def squad2(
    judged: Path,  # noqa: F811  the fixture
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Inside:
    """The command beside the store."""
    monkeypatch.chdir(judged)
    inside = Inside(judged, capsys)
    if not (judged / "e.db").exists():
        store = ("--store", "embedded:e.db")
        loaded = inside("engine", "load", "corpus.jsonl", "--tenant", "squad2", *store)
        assert loaded.code == 0, loaded.err
    return inside


def of_engine(inside: Inside, change: str) -> dict[str, Any]:
    """What a change does, by the engine."""
    asked = ("--tenant", "squad2", "--set", change, "--questions", "q.jsonl")
    return answer(inside("simulate", *asked, *KNOWN, *ENGINE))


def by_rankers(found: dict[str, Any]) -> dict[tuple[str, ...], tuple[int, int, int]]:
    """By the rankers of the best match: questions, and how many are above the floors, before and after."""
    return {
        tuple(one["rankers"]): (
            one["above_floors"]["before"]["denominator"],
            one["above_floors"]["before"]["numerator"],
            one["above_floors"]["after"]["numerator"],
        )
        for one in found["best_match_by_rankers"]
    }


def test_a_floor_above_a_third_loses_all_that_one_ranker_found(squad2: Inside) -> None:
    """From 0.30 to 0.34 on this engine: 26 of 2,153 documents fall under the floor, 24 of 24 that only vector search found."""
    found = of_engine(squad2, "retrieval_min_score=0.34")
    cut, shown = found["answerable_above_floors"], found["answerable_in_prompt"]
    assert counts(cut["lost"]) == (26, 2_153)
    assert cut["lost"]["exact"] == pytest.approx([0.0079, 0.0176], abs=1e-4)
    assert (counts(shown["lost"]), counts(shown["gained"])) == ((3, 2_153), (5, 2_153))
    assert by_rankers(found) == {
        ("vector",): (24, 11, 0),
        ("bm25",): (19, 15, 0),
        ("vector", "bm25"): (2_052, 2_052, 2_052),
        ("vector", "bm25", "recency"): (55, 55, 55),
    }
    assert counts(found["nothing_assembled"]["after"]) == (0, 6_068)


def test_a_cosine_floor_gives_an_honest_nothing(squad2: Inside) -> None:
    """At 0.30: 59 of 3,912 questions that nothing answers get nothing, 13 of 2,153 that something does as well."""
    found = of_engine(squad2, "no_match_min_cosine=0.3")
    silenced = found["unanswerable_nothing_assembled"]
    assert counts(silenced["before"]) == (0, 3_912)
    assert counts(silenced["after"]) == (59, 3_912)
    assert counts(found["nothing_assembled"]["after"]) == (72, 6_068)
    assert counts(found["answerable_above_floors"]["lost"]) == (12, 2_153)
    assert counts(found["answerable_in_prompt"]["lost"]) == (11, 2_153)


def test_a_recording_says_the_same_of_the_floor_without_the_engine(squad2: Inside) -> None:
    """What passes is the same to the question; what fits into a prompt is not known without texts."""
    recorded = squad2(
        "simulate", "--tenant", "squad2", "--record", "k.jsonl", "--questions", "q.jsonl", *ENGINE
    )
    assert recorded.code == 0, recorded.err
    floor = ("--set", "retrieval_min_score=0.34")
    found = answer(squad2("simulate", "--rankings", "k.jsonl", *floor, *KNOWN))
    assert found["unknown"] == {}
    assert counts(found["answerable_above_floors"]["lost"]) == (26, 2_153)
    assert by_rankers(found)["vector",] == (24, 11, 0)
