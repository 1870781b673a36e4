"""Measuring over HTTP: what an engine tells is believed only as far as it can be."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.errors import EngineError
from knobctl.evidence.calibrating import Asked
from knobctl.evidence.corpus_calibration import StoppedError, corpus_on, measured
from knobctl.evidence.replaying import searched
from knobctl.knobs import load_catalogue
from tests.engine.answering import client_of_handler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.engine.http import HttpEngine
    from knobctl.evidence.calibrating import Calibration

DESCRIBED: dict[str, Any] = {
    "tenantId": "acme",
    "corpusVersion": "c1",
    "documents": 40,
    "chunks": 40,
    "embedder": {"model": "m", "revision": "1", "pooling": "mean", "dimensions": 3},
}


def good(text: str) -> dict[str, Any]:
    """An evaluation of a text that ends with a number: the closest chunk is c0, the next c1."""
    best = float(text.rsplit(maxsplit=1)[-1]) / 100
    hits = [
        {"chunkId": "c0", "cosine": best},
        {"chunkId": "c1", "cosine": best / 2},
        {"chunkId": "recent", "score": 0.5},
    ]
    return {"candidates": hits, "rankers": {"vector": {"rows": 2}}, "bestCosine": best}


@contextmanager
def answering(*described: Any, evaluate: Any = good) -> Iterator[tuple[HttpEngine, list[Any]]]:
    """An engine that describes itself so, one answer after the other, and evaluates so; with the requests it got."""
    descriptions, requests = list(described), []

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.endswith("Describe"):
                body = descriptions.pop(0) if len(descriptions) > 1 else descriptions[0]
            else:
                requests.append(asked)
                body = {"evaluations": [evaluate(query) for query in asked["queries"]]}
            raw = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with client_of_handler(Answering) as engine:
        yield engine, requests


def calibration(engine: HttpEngine, *, stop: bool = False) -> Calibration:
    """Of 25 probes at one time in ten."""
    stopped = Event()
    if stop:
        stopped.set()
    on = corpus_on(engine, "acme", load_catalogue(), parallelism=2, stop=stopped)
    return measured(
        on, [f"probe {at}" for at in range(25)], Asked(alpha=0.1, resamples=5), ["question 90"]
    )


def test_the_maxima_are_what_evaluate_says_is_closest() -> None:
    """Under the platform's own ranking; what only other rankers found has no cosine and counts nothing."""
    with answering(DESCRIBED) as (engine, requests):
        found = calibration(engine)
    assert found.off_topic.maxima == tuple(at / 100 for at in range(25))
    assert (found.noise_floor, found.off_topic.chunks) == (0.23, 40)
    assert found.hub is not None
    assert (found.hub.chunk, found.hub.without) == ("c0", 0.115)
    assert found.on_topic is not None
    assert found.on_topic.auc == 1
    assert {tuple(one["config"]) for one in requests} == {("ranker_timeout_ms",)}
    assert all(one["rankingOnly"] for one in requests)


def test_an_engine_that_does_not_name_its_embedder_gives_no_label() -> None:
    """Nobody could tell later whether cosines are of the same one."""
    with answering({**DESCRIBED, "embedder": {}}) as (engine, _):
        found = calibration(engine)
    assert found.faults == ("the engine does not say which embedder it has",)
    assert found.relevance(0.9).tier == "not_measurable"


NONSENSE: dict[str, Any] = {
    "a number": 5,
    "nothing": {},
    "no best": {**good("x 1"), "bestCosine": None},
    "a text": {**good("x 1"), "bestCosine": "near"},
    "too much": {**good("x 1"), "bestCosine": 7},
    "no candidates": {**good("x 1"), "candidates": []},
    "a cosine too large": {**good("x 1"), "candidates": [{"chunkId": "c", "cosine": 2}]},
    "failed": {**good("x 1"), "rankers": {"vector": {"error": "no index"}}},
    "late": {**good("x 1"), "rankers": {"vector": {"timedOut": True}}},
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_what_is_no_cosine_is_no_measurement(kind: str) -> None:
    """Not one probe may be missing: the floor would be of others than it says."""
    bad = NONSENSE[kind]
    answer = lambda text: bad if text == "probe 7" else good(text)  # noqa: E731
    with answering(DESCRIBED, evaluate=answer) as (engine, _), pytest.raises(EngineError):
        calibration(engine)


@pytest.mark.parametrize("described", [{"chunks": "many"}, {"chunks": 3, "embedder": [1]}])
def test_a_description_that_is_none_is_no_engine_to_replay_on(described: Any) -> None:
    """Neither is it one to simulate on."""
    with answering(described) as (engine, _), pytest.raises(EngineError, match="nonsense"):
        searched(engine, "acme")


@pytest.mark.parametrize("described", [{"chunks": "many"}, {"chunks": 3, "embedder": [1]}])
def test_a_description_that_is_none_is_said(described: Any) -> None:
    """And no traceback."""
    with answering(described) as (engine, _), pytest.raises(EngineError, match="nonsense"):
        calibration(engine)


def test_a_corpus_that_changes_meanwhile_is_measured_again() -> None:
    """Its maxima would be of two corpora."""
    later = {**DESCRIBED, "corpusVersion": "c2"}
    with answering(DESCRIBED, later) as (engine, _), pytest.raises(EngineError, match="changed"):
        calibration(engine)


def test_a_stop_is_no_measurement() -> None:
    """No further call begins."""
    with answering(DESCRIBED) as (engine, requests):
        with pytest.raises(StoppedError):
            calibration(engine, stop=True)
        assert requests == []
