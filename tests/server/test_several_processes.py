"""Three engine processes on one PostgreSQL and one Milvus, as behind a balancer."""

from __future__ import annotations

import http.client
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

import pytest

from knobctl.knobs import load_catalogue
from knobctl.server.auth import Caller
from knobctl.server.knobs import KnobsService, open_service
from tests.engine.chains import broken_links
from tests.server.doors import every_event
from tests.server.engine_processes import MAIN, CallFailedError, Calls, EngineProcess
from tests.server.services import milvus, postgres_url

FAILURES = (OSError, http.client.HTTPException, CallFailedError)
"""How a call to a process fails that is being killed."""
ROOT = Caller(subject="balancer", clearance=5, tenants=None)
KNOB = "assemblyTokenBudget"
"""A knob wide enough to count in: 256 to 200000."""


@pytest.fixture(scope="module")
def store_url() -> str:
    return postgres_url()


@pytest.fixture(scope="module")
def service(store_url: str) -> Iterator[KnobsService]:
    """The same store, seen without any of the processes."""
    service = open_service(store_url, load_catalogue(), clock=lambda: datetime.now(UTC))
    yield service
    service.close()


@pytest.fixture(scope="module")
def engines(
    tmp_path_factory: pytest.TempPathFactory, store_url: str, service: KnobsService
) -> Iterator[list[EngineProcess]]:
    """Three processes that answer."""
    folder = tmp_path_factory.mktemp("engines")
    token = service.new_token(ROOT)
    engines = [
        EngineProcess(folder, f"engine-{n}", store_url, milvus().url, token) for n in range(3)
    ]
    for engine in engines:
        engine.launch()
    for engine in engines:
        engine.wait()
    yield engines
    for engine in engines:
        engine.kill()


@pytest.fixture
def lines(engines: list[EngineProcess]) -> Iterator[list[Calls]]:
    """A connection to each."""
    lines = [engine.line() for engine in engines]
    yield lines
    for line in lines:
        line.close()


def test_no_read_behind_a_write_sees_the_old_set(
    lines: list[Calls], service: KnobsService, tenant: str
) -> None:
    """1,000 writes and reads in turn, each through another process than the one before."""
    turn = cycle(lines)
    for number in range(500):
        revision = next(turn).update(tenant, **{KNOB: 1000 + number})
        read = next(turn).get(tenant)
        assert (read["config"][KNOB], read["revision"]) == (1000 + number, revision)
    chain = every_event(service, ROOT, tenant)
    assert [event["revision"] for event in chain] == [f"r{number + 1}" for number in range(500)]
    assert broken_links(chain) == []


class Writers:
    """Writes one tenant's knob through every process at once, as fast as they answer, and keeps what was acknowledged."""

    def __init__(self, engines: list[EngineProcess], tenant: str) -> None:
        self.acknowledged: dict[str, int] = {}
        """By revision, what was written."""
        self._tenant = tenant
        self._numbers = iter(range(1000, 100_000))
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(one,)) for one in engines]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, engine: EngineProcess) -> None:
        line = engine.line()
        while not self._stop.is_set():
            with self._lock:
                number = next(self._numbers)
            try:
                revision = line.update(self._tenant, **{KNOB: number})
            except FAILURES:
                line.close()
                time.sleep(0.05)
                line = engine.line()  # at another port, when it is back
            else:
                with self._lock:
                    self.acknowledged[revision] = number
        line.close()


def test_a_killed_process_takes_nothing_with_it(
    engines: list[EngineProcess], service: KnobsService, tenant: str
) -> None:
    """Each is killed once, at any moment, while all write: every acknowledged write has its event, in one chain."""
    writers = Writers(engines, tenant)
    moments = random.Random(2047)
    for victim in engines:
        time.sleep(moments.uniform(0.2, 0.8))
        victim.kill()
        victim.launch()
    for engine in engines:
        engine.wait()
    writers.stop()

    chain = every_event(service, ROOT, tenant)
    assert broken_links(chain) == []
    assert [event["revision"] for event in chain] == [f"r{n + 1}" for n in range(len(chain))]
    written = {event["revision"]: event["after"]["assembly_token_budget"] for event in chain}
    assert len(writers.acknowledged) > 20
    assert writers.acknowledged.items() <= written.items()
    # What was not acknowledged may have been written: at most one for each that was killed.
    assert len(chain) <= len(writers.acknowledged) + len(engines)
    last = chain[-1]["revision"]
    for engine in engines:
        line = engine.line()
        read = line.get(tenant)
        line.close()
        assert (read["revision"], read["config"][KNOB]) == (last, written[last])


def test_what_one_takes_in_the_others_find_on_the_next_call(
    lines: list[Calls], tenant: str
) -> None:
    """Chunks, their replacement and their removal, whichever process they came through."""
    first, second, third = lines
    first.update(
        tenant, ranker_timeout_ms=30_000
    )  # on a busy machine too each ranker is waited for
    first.upsert(tenant, heron="a grey heron stands in the reeds", otter="an otter dives")
    for line in (second, third, first):
        best = line.search(tenant, "heron")["results"][0]
        assert (best["documentId"], best["ranks"]["bm25"], best["ranks"]["vector"]) == (
            "heron",
            1,
            1,
        )
    second.upsert(tenant, heron="a red tractor")
    found = third.search(tenant, "tractor")
    assert found["results"][0]["text"] == "a red tractor"
    assert "bm25" in found["results"][0]["ranks"]
    assert all("bm25" not in one["ranks"] for one in first.search(tenant, "reeds")["results"])
    third.delete(tenant, "heron")
    for line in (first, second, third):
        names = [one["documentId"] for one in line.search(tenant, "tractor")["results"]]
        assert names == ["otter"]


def test_a_knob_set_through_one_governs_what_another_assembles(
    lines: list[Calls], tenant: str
) -> None:
    """The floor rises on the first process, and the next call of the second is cut by it."""
    first, second, third = lines
    first.upsert(tenant, heron="a grey heron stands in the reeds", otter="an otter dives")
    before = second.assemble(tenant, "where does the heron stand?")
    assert before["quality"]["retrievalOutcome"] in ("ok", "RETRIEVAL_OUTCOME_OK")
    first.update(tenant, retrievalMinScore=1.0, gateMode="DISABLED", vectorMinCosine=0.99)
    for line in (second, third):
        after = line.assemble(tenant, "where does the heron stand?")["quality"]
        assert after["effectiveMinScore"] == 1.0
        assert after["resultsBelowThreshold"] >= 1
    third.update(tenant, retrievalMinScore=0.0001)
    assert first.assemble(tenant, "where does the heron stand?")["quality"][
        "effectiveMinScore"
    ] == pytest.approx(0.0001)


@pytest.mark.parametrize("kills", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_a_process_killed_while_it_takes_texts_in_leaves_a_true_index(
    engines: list[EngineProcess], tenant: str, kills: int
) -> None:
    """Every text that was acknowledged is found through another process on its next call, by its own word."""
    moments = random.Random(2618)
    acknowledged: list[str] = []
    for kill in range(kills):
        victim, other = engines[kill % 2], engines[2]
        line = victim.line()
        line.upsert(tenant, **{f"first{kill}": "What loads the model."})
        killing = threading.Timer(moments.uniform(0.3, 1.2), victim.kill)
        killing.start()
        for number in range(10_000):
            word = f"word{kill}x{number}"
            try:
                line.upsert(tenant, **{word: f"{word} and something else"})
            except FAILURES:
                break
            acknowledged.append(word)
        killing.join()
        line.close()
        another = other.line()
        for word in acknowledged[-3:]:
            found = another.search(tenant, word)["results"]
            assert [one["documentId"] for one in found if "bm25" in one["ranks"]] == [word]
        another.close()
        victim.launch()
        victim.wait()
    assert acknowledged


def test_a_file_is_loaded_beside_the_processes(
    lines: list[Calls], store_url: str, tmp_path: Path, tenant: str
) -> None:
    """`engine load` on the same store and the same Milvus: the processes find it on their next call."""
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"documentId": "kite", "text": "a kite over the dunes"}\n')
    done = subprocess.run(
        [
            *(sys.executable, "-c", MAIN, "engine", "load", str(texts)),
            *("--tenant", tenant, "--store", store_url, "--candidates", milvus().url),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for line in lines:
        assert line.search(tenant, "dunes")["results"][0]["ranks"] == {
            "vector": 1,
            "bm25": 1,
            "recency": 1,
        }
