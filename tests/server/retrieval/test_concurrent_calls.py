"""Many threads ask while knobs and corpus change: no answer is a mixture."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.server.retrieval.engines import Engine, ids, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from knobctl.server.retrieval.model import Assembled, SearchAnswer

QUERY = "the gate of the run"
ASKERS, CHANGES = 4, 25


def ask_beside(change: Callable[[int], None], ask: Callable[[int], object]) -> None:
    """Let several threads ask until another has changed things many times."""
    done = threading.Event()

    def changing() -> None:
        for number in range(CHANGES):
            change(number)
            done.wait(0.02)

    def asking() -> None:
        number = 0
        while not done.is_set():
            ask(number)
            number += 1

    with ThreadPoolExecutor(ASKERS + 1) as threads:
        asked = [threads.submit(asking) for _ in range(ASKERS)]
        try:
            threads.submit(changing).result(timeout=120)
        finally:
            done.set()
        for one in asked:
            one.result(timeout=60)


def test_an_answer_goes_by_one_set(opened: Callable[..., Engine]) -> None:
    """The floor in the answer and the rank constant in its scores were written together."""
    engine = opened()
    engine.load([text(f"c{n}", f"The gate of run {n}.", age_h=n) for n in range(6)])
    sets = {0.0001: 1, 0.0002: 1000}
    shared = {"ranker_timeout_ms": 30_000, "gate_mode": "DISABLED", "dedup_min_similarity": 1.0}
    engine.set(retrieval_min_score=0.0001, rrf_k=1, **shared)
    seen: list[Assembled] = []

    def write(number: int) -> None:
        floor, k = list(sets.items())[number % 2]
        engine.set(retrieval_min_score=floor, rrf_k=k, **shared)

    ask_beside(write, lambda n: seen.append(engine.assemble(f"{QUERY} {n % 3}")))

    assert {answer.quality.effective_min_score for answer in seen} == set(sets)
    for answer in seen:
        k = sets[answer.quality.effective_min_score]
        for hit in answer.chunks:
            ranks = hit.candidate.ranks
            assert len(ranks) == 3
            expected = sum((k + 1) / (k + rank) for rank in ranks.values()) / 3
            assert hit.candidate.score == pytest.approx(expected)


def test_an_answer_is_of_the_corpus_that_it_names(opened: Callable[..., Engine]) -> None:
    """Its candidates are the chunks of that version, each in all three rankers, with the text that it had then."""
    engine = opened()
    engine.set(ranker_timeout_ms=30_000, result_cache_mode="DISABLED")
    there: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    seen: list[SearchAnswer] = []

    def change(number: int) -> None:
        name = f"c{number % 7}"
        if name in current and number % 3 == 0:
            del current[name]
            version = engine.ingest.delete_documents(engine.caller, "acme", [name]).corpus_version
        else:
            current[name] = f"The gate of run {number % 40}."
            version = engine.load([text(name, current[name], age_h=number % 11)])
        there[version] = dict(current)

    for number in range(1, 8):
        change(number)
    ask_beside(
        lambda number: change(number + 7),
        lambda _: seen.append(engine.search(QUERY, min_score=0.0001, top_k=500)),
    )

    assert len({answer.corpus_version for answer in seen}) > 3
    for answer in seen:
        texts = {hit.chunk.chunk_id: hit.chunk.text for hit in answer.results}
        assert texts == there[answer.corpus_version]
        for hit in answer.results:
            assert hit.candidate.ranks.keys() == {"vector", "bm25", "recency"}, ids(answer)


def test_one_query_asked_at_once_by_many_is_answered_alike(opened: Callable[..., Engine]) -> None:
    """Nobody sees a half-made index, model or cache."""
    engine = opened()
    engine.load([text(f"c{n}", f"The gate of run {n}.", age_h=n) for n in range(6)])
    engine.set(ranker_timeout_ms=30_000)
    begin = threading.Barrier(8)

    def ask(_: int) -> list[tuple[str, float]]:
        begin.wait(timeout=30)
        answer = engine.search(QUERY, min_score=0.0001)
        return [(hit.chunk.chunk_id, hit.candidate.score) for hit in answer.results]

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, range(8)))
    assert all(answer == answers[0] for answer in answers)
    assert len(answers[0]) == 6
