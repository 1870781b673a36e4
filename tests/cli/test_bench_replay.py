"""`knobctl bench replay`: what questions score on a real engine; interruptions lose nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.engine.interface import LiveSet
from knobctl.evidence.harvest.asked import Question as Asked
from knobctl.evidence.reading import read_recording
from knobctl.evidence.recording import Why, written
from knobctl.evidence.replaying import Replay, replayed
from knobctl.evidence.sampling import sampled
from knobctl.knobs import load_catalogue
from tests.cli.outputs import faults_of
from tests.cli.serving import serving
from tests.engine.answering import client_of_handler
from tests.evidence.recordings import heading, read_text
from tests.evidence.test_sweep import GIVEN

if TYPE_CHECKING:
    from knobctl.evidence.recording import Recording
    from tests.cli.inside import Inside
    from tests.running import Result

ENGINE = ("--engine", "embedded:e.db")
QUESTIONS = [
    "How long does an approval gate wait?",
    "Who may approve a workflow?",
    "What is served on Mondays?",
    "Which planet has rings?",
]


def write_set(path: Path, questions: list[str], source: str = "mcp_query") -> Path:
    """A held-out set."""
    lines = [{"question": one, "source": source, "historical_refused": None} for one in questions]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def recording_at(path: Path) -> Recording:
    """What stands in a report."""
    with path.open("rb") as stream:
        return read_recording(stream, str(path))


@pytest.fixture
def asking(probed: Inside) -> Inside:
    """The command beside a store with a corpus of acme and a set of questions."""
    write_set(probed.folder / "q.jsonl", QUESTIONS)
    return probed


def replay(inside: Inside, *more: str) -> Result:
    """Ask the set of acme."""
    return inside(
        "bench", "replay", "--questions", "q.jsonl", "--tenant", "acme",
        "--output", "r.jsonl", *ENGINE, *more,
    )  # fmt: skip


def test_every_question_gets_its_scores(asking: Inside) -> None:
    """By id, without a word of it, with the fusion and the corpus that it was asked of; for its owner alone."""
    done = replay(asking, "--format", "json")
    assert done.code == 0, done.err
    assert faults_of(done.json, "output-bench-replay.v1.schema.json") == []
    path = asking.folder / "r.jsonl"
    made = recording_at(path)
    assert [one.id for one in made.questions] == sorted(
        Asked(question=one, source="mcp_query").question_id for one in QUESTIONS
    )
    assert all(one.fused and one.nearest_cosine is not None for one in made.questions)
    assert all(one.max_cosine is not None for one in made.questions)
    assert made.heading.knobs["retrieval_min_score"] == 0.0001
    assert made.heading.configured["retrieval_min_score"] == 0.3
    assert not [word for word in ("approval", "Mondays") if word in path.read_text()]
    assert path.stat().st_mode & 0o777 == 0o600
    assert not (asking.folder / "r.jsonl.partial").exists()


def test_nothing_is_written_to_the_engine(asking: Inside) -> None:
    """Evaluate, and no event."""
    before = asking("history", "acme", "--format", "json", *ENGINE).json["events"]
    replay(asking)
    assert asking("history", "acme", "--format", "json", *ENGINE).json["events"] == before


def test_the_tenants_own_knobs_but_its_floors_are_in_force(asking: Inside) -> None:
    """Depths and weights decide what scores; a no-match gate would hide it."""
    set_ = (
        "set",
        "acme",
        "retrieval_min_score=0.9",
        "rrf_k=7",
        "no_match_min_cosine=0.99",
        "--yes",
    )
    assert asking(*set_, *ENGINE).code == 0
    replay(asking)
    heading = recording_at(asking.folder / "r.jsonl").heading
    assert (heading.k, heading.floor) == (7, 0.0001)
    assert heading.knobs["no_match_min_cosine"] == 0
    assert heading.knobs["ranker_timeout_ms"] == 30_000
    assert heading.configured["no_match_min_cosine"] == 0.99


def test_a_served_engine_gives_the_same_scores(asking: Inside) -> None:
    """Over HTTP, and whatever the number of calls at a time."""
    replay(asking)
    own = recording_at(asking.folder / "r.jsonl").questions
    token = asking(
        "engine", "token", "--subject", "ci", "--clearance", "L4", "--tenant", "acme", "--store", "embedded:e.db",
    ).out.strip()  # fmt: skip
    (asking.folder / "token").write_text(token)
    (asking.folder / "token").chmod(0o600)
    with serving(asking.folder, "--store", "embedded:e.db") as (_, address):
        done = asking(
            "bench", "replay", "--questions", "q.jsonl", "--tenant", "acme", "--output", "h.jsonl",
            "--engine", address, "--parallelism", "3", "--token-file", "token",
        )  # fmt: skip
        assert done.code == 0, done.err
    assert recording_at(asking.folder / "h.jsonl").questions == own


def test_an_interrupted_replay_goes_on_where_it_ended(asking: Inside) -> None:
    """What was scored stands in a file beside the report; a line that was torn off is asked again."""
    replay(asking)
    whole = (asking.folder / "r.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    partial = asking.folder / "r.jsonl.partial"
    partial.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    (asking.folder / "r.jsonl").unlink()
    done = replay(asking, "--resume")
    assert done.code == 0, done.err
    assert "4 questions, 2 of them scored already" in done.err
    assert (asking.folder / "r.jsonl").read_bytes().splitlines()[1:] == whole.splitlines()[1:]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("set", "acme", "rrf_k=7", "--yes"), "another knob set"),
        (("--top-k", "3"), "another --top-k"),
    ],
)
def test_scores_of_another_measurement_are_not_taken_over(
    asking: Inside, change: tuple[str, ...], words: str
) -> None:
    """Naming what differs; nothing is written."""
    replay(asking)
    before = (asking.folder / "r.jsonl").read_bytes()
    more: tuple[str, ...] = ()
    if change[0] == "set":
        assert asking(*change, *ENGINE).code == 0
    else:
        more = change
    done = replay(asking, "--replay-from", "r.jsonl", *more)
    assert done.code == 4
    assert words in done.err
    assert (asking.folder / "r.jsonl").read_bytes() == before


def test_a_signal_ends_it_in_peace_and_says_how_to_go_on(asking: Inside) -> None:
    """The calls under way are finished, their scores are kept."""
    write_set(asking.folder / "q.jsonl", [f"What is question number {n}?" for n in range(3_000)])
    words = ["bench", "replay", "--questions", "q.jsonl", "--tenant", "acme", "--output", "r.jsonl"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, "-c", "from knobctl.cli.main import main; main()", *words, *ENGINE],
        cwd=asking.folder, env=environment, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    partial = asking.folder / "r.jsonl.partial"
    while not partial.exists() or len(partial.read_bytes().splitlines()) < 60:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "--resume" in err
    assert not (asking.folder / "r.jsonl").exists()
    assert 60 <= len(partial.read_bytes().splitlines()) < 3_001


@pytest.mark.parametrize(
    ("questions", "arguments", "code", "words"),
    [
        ("", (), 4, "holds no question"),
        ("not json\n", (), 4, "q.jsonl:1 is no JSON"),
        (None, ("--tenant", "nobody"), 4, "nobody has no text"),
        (None, ("--resume",), 2, "no r.jsonl.partial to go on with"),
        (None, ("--top-k", "0"), 2, "0 is not in the range"),
    ],
)
def test_a_replay_of_nothing_is_refused(
    asking: Inside, questions: str | None, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """What is missing, and what to do."""
    if questions is not None:
        (asking.folder / "q.jsonl").write_text(questions)
    done = replay(asking, *arguments)
    assert done.code == code, done.err
    assert words in done.err
    assert not (asking.folder / "r.jsonl").exists()


class Failing(BaseHTTPRequestHandler):
    """An engine that cannot evaluate some questions."""

    def do_POST(self) -> None:
        """Answer a call."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        bad = any("bad" in query for query in asked["queries"])
        evaluations = [
            {
                "candidates": [{"chunkId": "a", "score": 0.5}],
                "rankers": {"vector": {"rows": 1}, "bm25": {"timedOut": "late" in query}},
            }
            for query in asked["queries"]
        ]
        body: dict[str, Any] = {"evaluations": evaluations}
        if bad:
            body = {"code": "internal", "message": "request 7 failed"}
        raw = json.dumps(body).encode()
        self.send_response(500 if bad else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


WORDS = {3: "bad", 6: "late"}
"""What becomes of some questions: no answer, and an answer without one of the rankers."""


def test_one_question_that_fails_takes_no_other_with_it() -> None:
    """Its batch is asked again one by one, and it is counted; one that a ranker was late for is no measurement."""
    asked = [Asked(question=f"{WORDS.get(n, 'good')} {n}", source="mcp_query") for n in range(8)]
    told: list[str] = []
    with client_of_handler(Failing) as engine:
        way = Replay(
            engine=engine,
            catalogue=load_catalogue(),
            live=LiveSet("acme", {}, ""),
            top_k=40,
            parallelism=2,
            stop=Event(),
        )
        found = [*replayed(way, heading(8), asked, lambda one: told.append(one.id))]
    assert [one.id for one in found] == [one.question_id for one in asked]
    assert [one.why for one in found] == [*[None] * 3, Why.FAILED, None, None, Why.FAILED, None]
    assert sorted(told) == sorted(one.id for one in found)


GOOD = {
    "candidates": [{"chunkId": "a", "score": 1.0, "ranks": {"vector": 1}, "cosine": 0.4}],
    "rankers": {"vector": {"rows": 1}},
}
NONSENSE: dict[str, Any] = {
    "nothing": {},
    "null": {"candidates": None, "quality": None},
    "a number": 5,
    "no score": {**GOOD, "candidates": [{"chunkId": "c"}]},
    "a text": {**GOOD, "candidates": [{"score": "NaN"}]},
    "too much": {**GOOD, "candidates": [{"score": 7, "ranks": {"vector": 1}}]},
    "no rank": {**GOOD, "candidates": [{"score": 0.5, "ranks": {"vector": -1}}]},
    "no cosine": {**GOOD, "candidates": [{"score": 1.0, "ranks": {"vector": 1}, "cosine": 9}]},
    "a list": {**GOOD, "rankers": [1]},
    "another ranker": {"candidates": [{"score": 0.5, "ranks": {"x": 1}}], "rankers": {"x": {"rows": 1}}},
}  # fmt: skip


@pytest.mark.parametrize("kind", NONSENSE)
def test_nonsense_is_no_score_and_ends_no_run(kind: str) -> None:
    """The others are scored, and what was recorded can be read; the first reason is told."""

    class Answering(Failing):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bad = NONSENSE[kind]
            raw = json.dumps(
                {"evaluations": [bad if "bad" in one else GOOD for one in asked["queries"]]}
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw.encode())

    asked = [Asked(question=f"{WORDS.get(n, 'good')} {n}", source="mcp_query") for n in range(5)]
    with client_of_handler(Answering) as engine:
        way = Replay(
            engine=engine,
            catalogue=load_catalogue(),
            live=LiveSet("acme", {}, ""),
            top_k=40,
            parallelism=2,
            stop=Event(),
        )
        found = [*replayed(way, heading(5), asked, lambda _: None)]
    missing = Why.EMPTY if kind == "nothing" else Why.FAILED
    assert [one.why for one in found] == [None, None, None, missing, None]
    assert len(way.failures) == (missing is Why.FAILED)
    assert len(read_text("".join(written(heading(5), found))).questions) == 5


@pytest.mark.parametrize("victim", ["e.db", "q.jsonl"])
def test_a_report_replaces_nothing_but_a_report(asking: Inside, victim: str) -> None:
    """Neither the store nor the questions, and it is told before anything is asked; in a new folder it can lie."""
    before = (asking.folder / victim).read_bytes()
    done = asking(
        "bench", "replay", "--questions", "q.jsonl", "--tenant", "acme", "--output", victim, *ENGINE
    )  # fmt: skip
    assert (done.code, "it is left as it is" in done.err) == (2, True), done
    assert (asking.folder / victim).read_bytes() == before
    new = ("--questions", "q.jsonl", "--tenant", "acme", "--output", "new/r.jsonl", *ENGINE)
    assert asking("bench", "replay", *new).code == 0
    assert asking("bench", "replay", *new).code == 0
    wrong = ("--replay-from", "new/r.jsonl", "--labels", "l.csv", "--output", victim)
    assert asking("bench", "judge", *wrong).code == 2


def test_a_question_that_stands_there_twice_is_asked_once(asking: Inside) -> None:
    """A set that somebody put together by hand."""
    write_set(asking.folder / "q.jsonl", [*QUESTIONS, QUESTIONS[0].upper()])
    assert replay(asking).code == 0
    assert len(recording_at(asking.folder / "r.jsonl").questions) == 4


@pytest.mark.parametrize("case", GIVEN["sample"])
def test_a_sample_has_a_part_of_every_source(case: dict[str, Any]) -> None:
    """As many as asked; each source is there before a second of any, unless there are fewer places."""
    population = [
        Asked(question=f"{source} number {n}", source=source)
        for source, size in case["population"].items()
        for n in range(size)
    ]
    drawn = sampled(population, case["limit"], seed=case["seed"])
    assert len(drawn) == case["n"]
    assert len({one.source for one in drawn}) == min(case["n"], len(case["population"]))
    smaller = sampled(population, max(1, case["limit"] - 1), seed=case["seed"])
    assert set(smaller) <= set(drawn)
