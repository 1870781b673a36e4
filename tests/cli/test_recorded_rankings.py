"""`simulate --record` and `--rankings`: sets simulated without an engine come to what the engine says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.engine.embedded import EmbeddedEngine
from knobctl.errors import EngineError, ExitCode
from tests.cli.outputs import faults_of
from tests.cli.test_simulate import (
    ENGINE,
    SCHEMA,
    asking,  # noqa: F401  a fixture
    counts,
)

if TYPE_CHECKING:
    from tests.cli.inside import Inside
    from tests.running import Result

PLAIN = {"mmr_lambda": 1, "dedup_min_similarity": 1, "assembly_token_budget": 200000}
"""Nothing works on texts: then the engine's prompts are what passes, best first."""


@pytest.fixture
def recording(asking: Inside) -> Inside:  # noqa: F811  the fixture
    """A recording of acme beside its store."""
    asking.hold("acme", rrf_k=60, **PLAIN)
    done = record(asking)
    assert done.code == 0, done.err
    assert faults_of(done.json, SCHEMA) == []
    return asking


def record(inside: Inside, *more: str) -> Result:
    return inside(
        "simulate", "--questions", "q.jsonl", "--tenant", "acme", "--record", "r.jsonl",
        "--format", "json", *ENGINE, *more,
    )  # fmt: skip


def test_where_nothing_was_answered_nothing_is_kept(
    asking: Inside,  # noqa: F811  the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The engine is at fault, and no file says otherwise."""

    def fails(*_: object) -> None:
        raise EngineError("the store is locked")

    monkeypatch.setattr(EmbeddedEngine, "evaluate", fails)
    done = record(asking)
    assert done.code == ExitCode.ENGINE, done.err
    assert "answered none of the questions" in done.err
    assert not (asking.folder / "r.jsonl").exists()


def over(inside: Inside, *more: str) -> Result:
    """Simulate over the recording, with an engine that is not there."""
    return inside(
        "simulate", "--rankings", "r.jsonl", "--qrels", "qrels", "--format", "json", *more
    )


def lines(inside: Inside) -> list[Any]:
    return [json.loads(line) for line in inside.read("r.jsonl").splitlines()]


def test_a_recording_holds_ids_and_numbers_for_its_owner_alone(recording: Inside) -> None:
    """No text; every line as its schema says."""
    heading, *questions = lines(recording)
    assert [faults_of(one, "rankings.v1.schema.json") for one in (heading, *questions)] == [[]] * 5
    assert heading["knobs"]["retrieval_min_score"] == 0.0001
    assert heading["configured"]["mmr_lambda"] == 1
    assert not [
        word for word in ("stop a run", "soup", "moon") if word in recording.read("r.jsonl")
    ]
    assert (recording.folder / "r.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "change",
    [
        ("retrieval_min_score=0.34",),
        ("retrieval_min_score=0.7",),
        ("no_match_min_cosine=0.4",),
        ("gate_min_confident=0.01", "gate_expanded_floor=0.9"),
        ("gate_expanded_floor=0.66",),
        ("rrf_k=5", "rrf_weight_recency=0.1"),
        ("retrieval_vector_top_k=1", "retrieval_recency_top_k=2"),
        ("recency_ranker_mode=DISABLED", "retrieval_min_score=0.5"),
        ("gate_mode=DISABLED", "retrieval_min_score=0.6"),
        ("assembly_max_chunks=1",),
    ],
)
def test_it_comes_to_what_the_engine_says(recording: Inside, change: tuple[str, ...]) -> None:
    """The same questions lose the same chunks, by the same rankers."""
    sets = [word for one in change for word in ("--set", one)]
    engine = recording(
        "simulate", "--questions", "q.jsonl", "--tenant", "acme", "--qrels", "qrels",
        "--format", "json", *sets, *ENGINE,
    ).json  # fmt: skip
    found = over(recording, *sets)
    assert found.code == 0, found.err
    assert faults_of(found.json, SCHEMA) == []
    assert found.json["unknown"] == {}
    for part in ("changes", "best_match_by_rankers", "answerable_in_prompt", "measures"):
        assert found.json[part] == engine[part], part
    lists = [
        {one["id"]: (one["lost"], one["gained"]) for one in each["tenants"][0]["changed_questions"]}
        for each in (engine, found.json)
    ]
    assert lists[0] == lists[1]


def test_a_question_whose_expansion_was_not_recorded_is_in_no_figure(recording: Inside) -> None:
    """It is counted, and said why."""
    recording.hold("acme", gate_min_confident=1, **PLAIN)
    assert record(recording).code == 0
    heading, first, *others = lines(recording)
    assert first["wide"]["chunks"]
    kept = [heading, {**first, "wide": None}, *others]
    recording.write("r.jsonl", "".join(json.dumps(one) + "\n" for one in kept))
    found = over(recording, "--set", "no_match_min_cosine=0.1")
    assert found.code == 0, found.err
    assert found.json["unknown"] == {"expansion_pass_not_recorded": 1}
    assert found.json["questions"] == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("retrieval_vector_top_k=51", "does not hold what lies deeper than 50"),
        ("retrieval_min_score=0.00001", "does not hold what scores below 0.0001"),
        ("vector_min_cosine=0.2", "does not hold anything but vector_min_cosine 0"),
        ("recency_window_hours=5", "does not hold anything but recency_window_hours"),
        ("mmr_lambda=0.2", "does not hold texts"),
        ("rrf_k=60", "both sets would be the same"),
    ],
)
def test_what_the_recording_does_not_hold_is_refused(
    recording: Inside, change: str, words: str
) -> None:
    """Naming the knob, and what to do."""
    done = over(recording, "--set", change)
    assert done.code == 2
    assert words in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--rankings", "r.jsonl"), "take --set"),
        (
            ("--rankings", "r.jsonl", "--set", "rrf_k=9", "--tenant", "bolt"),
            "is a recording of acme",
        ),
        (
            ("--rankings", "r.jsonl", "--set", "rrf_k=9", "--questions", "q.jsonl"),
            "the questions are those of",
        ),
        (
            ("--rankings", "r.jsonl", "--set", "rrf_k=9", "--sample", "3"),
            "--rankings and --run take --set",
        ),
        (("--record", "x.jsonl"), "--record takes a --tenant"),
        (
            ("--record", "x.jsonl", "--tenant", "acme", "--output", "evidence.json"),
            "--record takes a --tenant",
        ),
        (
            ("--record", "x.jsonl", "--tenant", "acme", "--labels", "l.jsonl"),
            "--record takes a --tenant",
        ),
        (("--record", "x.jsonl", "--tenant", "acme", "tenants"), "--record takes a --tenant"),
        (
            ("--record", "x.jsonl", "--tenant", "acme", "--set", "rrf_k=9"),
            "--record takes a --tenant",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    recording: Inside, arguments: tuple[str, ...], words: str
) -> None:
    """Before anything is asked."""
    done = recording("simulate", *arguments)
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda lines: lines[:-1], "holds 3 questions, and its heading says 4"),
        (lambda lines: [*lines, lines[-1]], "stands here twice"),
        (lambda lines: [*lines[:-1], {**lines[-1], "text": "what"}], "r.jsonl:5"),
        (lambda lines: [{**lines[0], "knobs": {"rrf_q": 1}}, *lines[1:]], "rrf_q is no knob"),
        (lambda lines: lines[1:], "r.jsonl:1"),
        (lambda _: [], "r.jsonl:1"),
    ],
    ids=["short", "twice", "text", "knob", "headless", "empty"],
)
def test_what_is_no_recording_is_refused(recording: Inside, spoil: Any, words: str) -> None:
    """At the first line that is none."""
    spoilt = spoil(lines(recording))
    recording.write("r.jsonl", "".join(json.dumps(one) + "\n" for one in spoilt))
    done = over(recording, "--set", "rrf_k=9")
    assert done.code == 4, done.err
    assert words in done.err


def test_a_record_of_it_says_what_it_is_of(recording: Inside) -> None:
    """The day of the recording, not today; and nothing of prompts, which only an engine makes."""
    done = over(recording, "--set", "retrieval_min_score=0.7", "--output", "ev.json")
    assert done.code == 0, done.err
    made_at = lines(recording)[0]["made_at"]
    written = json.loads(recording.read("ev.json"))
    assert written["made_at"].replace("+00:00", "Z") == made_at
    assert written["figures"]["answerable_cut"]["denominator"] == 3
    assert written["figures"]["answerable_lost"] is None
    assert not {"changed", "ndcg@10_after"} & written["figures"].keys()
    assert done.json["run"]["made_at"] == made_at
    assert len(done.json["run"]["recording_digest"]) == 64
    assert "No engine was asked" in done.json["caveats"][0]
    assert counts(done.json["nothing_assembled"]["before"])[1] == 4


RUNS = {
    "vector": "t1 Q0 gates 9 0.9 x\nt1 Q0 canteen 9 0.2 x\nt2 Q0 approvals 1 0.5 x\n",
    "bm25": "t1 Q0 gates 1 7 x\nt2 Q0 gates 1 3 x\n",
}


def of_runs(inside: Inside, *more: str) -> Result:
    """Simulate over two runs of another engine."""
    for name, text in RUNS.items():
        inside.write(f"run.{name}", text)
    inside.write("trec", "t1 0 gates 1\nt2 0 approvals 1\n")
    files = [word for name in RUNS for word in ("--run", f"{name}=run.{name}")]
    return inside("simulate", *files, "--qrels", "trec", "--format", "json", *more)


def test_runs_of_other_tools_are_fused_as_the_engine_would(inside: Inside) -> None:
    """Two rankers, no recency, no expansion; a match of one of them scores a half, and no floor above lets it pass."""
    found = of_runs(inside, "--set", "retrieval_min_score=0.51")
    assert found.code == 0, found.err
    assert faults_of(found.json, SCHEMA) == []
    by_rankers = {tuple(one["rankers"]): one for one in found.json["best_match_by_rankers"]}
    assert counts(by_rankers["vector",]["above_floors"]["lost"]) == (1, 1)
    assert counts(by_rankers["vector", "bm25"]["above_floors"]["lost"]) == (0, 1)
    assert found.json["tenants"][0]["changes"][0]["before"] == 0.3
    assert found.json["run"]["rankers"] == ["vector", "bm25"]


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (("--set", "retrieval_vector_top_k=3"), 2, "deeper than 2"),
        (("--set", "gate_mode=ENABLED"), 0, ""),
        (("--run", "semantic=run.bm25", "--set", "rrf_k=9"), 2, "no ranker semantic"),
        (("--run", "run.bm25", "--set", "rrf_k=9"), 2, "--run takes RANKER=FILE"),
        (("--run", "recency=trec", "--set", "rrf_k=9"), 4, "trec:1 is no line of a run"),
        (("--output", "ev.json", "--set", "rrf_k=9"), 2, "no evidence"),
    ],
)
def test_what_runs_do_not_say_is_refused(
    inside: Inside, more: tuple[str, ...], code: int, words: str
) -> None:
    """Deeper lists, other rankers, whose corpus it was."""
    done = of_runs(inside, *more)
    assert done.code == code, done.err
    assert words in " ".join(done.err.split())
