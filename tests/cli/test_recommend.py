"""`knobctl recommend`: a floor with a bound on what it loses, or how many labelled questions are missing."""

from __future__ import annotations

import json
import math
import re
import shlex
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.checks.evidence_files import Evidence, evidence_in
from knobctl.checks.evidence_record import Kind, Share
from knobctl.evidence.rates import exact_interval
from knobctl.evidence.recording import Label, Question
from knobctl.fusion import Formula, Scale, Weighs
from knobctl.knobs import load_catalogue
from tests.cli.outputs import faults_of
from tests.cli.test_bench_replay import ENGINE, QUESTIONS, write_set
from tests.cli.test_bench_sweep import EXAMPLES, heading, published, write_report

if TYPE_CHECKING:
    from pathlib import Path

    from knobctl.evidence.recording import Recording
    from tests.cli.inside import Inside
    from tests.running import Result

SCHEMA = "output-recommend.v1.schema.json"
SCORES = EXAMPLES / "scores.jsonl"
"""200 answerable and 200 unanswerable questions, with all three rankers."""


def recommend(inside: Inside, *more: str | Path) -> Result:
    """Recommend from the shipped scores."""
    return inside("recommend", "--report", SCORES, "--max-loss", "5%", *more)


def shipped() -> Recording:
    """Those scores."""
    from tests.cli.test_bench_replay import recording_at

    return recording_at(SCORES)


def cosines(label: Label) -> list[float]:
    """Of the nearest chunk, ascending."""
    return sorted(
        one.nearest_cosine
        for one in shipped().questions
        if one.label is label and one.nearest_cosine is not None
    )


def test_a_cosine_floor_is_named_with_what_it_loses_and_silences(inside: Inside) -> None:
    """The counts are those of the scores, the interval ends under the bound, and that of the next floor above it."""
    done = recommend(inside, "--format", "json")
    assert done.code == 0, done.err
    assert faults_of(done.json, SCHEMA) == []
    found = done.json["recommended"]
    lost = sum(one < found["floor"] for one in cosines(Label.ANSWERABLE))
    silenced = sum(one < found["floor"] for one in cosines(Label.UNANSWERABLE))
    assert (found["lost"]["numerator"], found["lost"]["denominator"]) == (lost, 200)
    assert (found["silenced"]["numerator"], found["silenced"]["denominator"]) == (silenced, 200)
    assert found["interval"] == pytest.approx(exact_interval(lost, 200))
    assert found["interval"][1] <= 0.05
    after = next(one for one in done.json["curve"] if one["floor"] > found["floor"])
    assert after["interval"][1] > 0.05
    assert found["held_out"]["denominator"] == 200
    assert done.json["missing"] == 0


def test_people_read_the_answer_first_then_what_is_guaranteed(inside: Inside) -> None:
    """The floor, its loss, what it brings, how well it separates, how to plan it; the same as Markdown."""
    text, markdown = recommend(inside).out, recommend(inside, "--format", "markdown").out
    joined = " ".join(text.split())
    for told in (
        "no_match_min_cosine 0.34: loses at most 5% of answerable questions (95% confidence; 2 of 200 seen, 0.12..3.57%).",
        "Held out: ",
        'It would answer "nothing relevant" to 5.0% (10/200, 2.4..9.1%) of the unanswerable ones.',
        "No cosine floor separates the two well (AUC 0.66).",
        "The fused floor cannot do this job: with vector, bm25 and recency live none up to 1/3 ever empties a result",
        "What is random is which questions were labelled. In at least 95% of such samples, the floor that comes out loses at most 5% of all answerable questions like these",
        "plan it: knobctl set squad2-dev no_match_min_cosine=0.34 --file && knobctl plan",
    ):
        assert told in joined
    assert "* 0.34     1.0% (2/200)" in text
    assert "| 0.34 | 1.0% (2/200) | 0.12..3.57% | 5.0% (10/200) | recommended |" in markdown
    assert max(map(len, text.split("\n"))) <= 140


def test_too_few_labels_are_refused_with_the_number_that_is_missing(inside: Inside) -> None:
    """The given page: none of 71 bounds the loss at 5.06 %, so one question is missing for 5 %, and none for 5.1 %."""
    page = write_report(inside.folder / "page.jsonl", published())
    call = ("recommend", "--report", page)
    done = inside(*call, "--max-loss", "5%", "--format", "json", "--output", "e.json")
    assert (done.code, done.json["outcome"], done.json["missing"]) == (6, "refused", 1)
    assert done.json["recommended"] is None
    assert faults_of(done.json, SCHEMA) == []
    assert not (inside.folder / "e.json").exists()
    told = " ".join(inside(*call, "--max-loss", "2%").out.split())
    assert (
        "No value of no_match_min_cosine can be recommended: 112 labelled answerable questions missing"
        in told
    )
    assert "71 have a score, 0 of them under 0.01, and it takes 183" in told
    assert "What these 71 can bound is 5.1% at best: --max-loss 5.1%" in told
    named = inside(*call, "--max-loss", "5.1%", "--format", "json").json
    assert named["recommended"]["floor"] == 0.37  # the lowest answerable one scores 0.379
    assert named["recommended"]["held_out"] is None
    assert "no smaller" in " ".join(named["caveats"])


def test_labels_of_questions_that_were_not_asked_are_told(inside: Inside) -> None:
    """A label that names a question in another spelling is lost without a word else."""
    lines = [
        json.dumps({"question_id": one.id, "answerable": one.label is Label.ANSWERABLE})
        for one in shipped().questions
    ]
    inside.write("all.jsonl", "\n".join(lines))
    inside.write("more.jsonl", "\n".join([*lines, '{"question": "Who?", "answerable": true}']))
    asked, more = (recommend(inside, "--labels", name) for name in ("all.jsonl", "more.jsonl"))
    assert (asked.code, more.code) == (0, 0)
    assert asked.out == more.out
    assert "labelled" not in asked.err
    told = "1 labelled question is not among the 400 that were asked, and in no figure"
    assert told in " ".join(more.err.split())


def test_a_fused_floor_says_that_it_cannot_separate(inside: Inside) -> None:
    """It points to the knob that can, and says that what it takes from the others is not counted."""
    done = recommend(inside, "--signal", "fused")
    told = " ".join(done.out.split())
    assert "leaves at most 5% of answerable questions without any context" in told
    assert "Say which chunks answer what: --questions FILE --qrels FILE." in told
    assert "No fused floor separates the two well (AUC 0.61)." in told
    assert (
        "cosine of the nearest chunk (AUC 0.66), which no_match_min_cosine reads: --signal cosine"
        in told
    )
    assert "vector alone                 1/3        never" in done.out
    found = recommend(inside, "--signal", "fused", "--format", "json").json
    assert faults_of(found, SCHEMA) == []
    assert found["recommended"]["reach"]["deepest_ranks"] == {"vector": 0, "bm25": 0, "recency": 0}


def test_scores_that_say_nothing_cannot_separate(inside: Inside) -> None:
    """An area under the curve of a half is a coin's, said so."""
    questions = [
        Question(
            id=f"{at:03}",
            source="mcp_query",
            fused=(at % 50) / 100 + 0.3,
            label=Label.ANSWERABLE if at < 100 else Label.UNANSWERABLE,
            nearest_cosine=0.5,
        )
        for at in range(200)
    ]
    report = write_report(inside.folder / "r.jsonl", questions)
    done = inside("recommend", "--report", report, "--signal", "fused", "--max-loss", "10%")
    assert (
        "No fused floor can separate the answerable from the unanswerable: AUC 0.50, where 0.5 is a coin's."
        in " ".join(done.out.split())
    )


def test_floors_are_as_fine_as_the_scale(inside: Inside) -> None:
    """On a raw sum the best score is 3/61: floors are tried in steps of 0.0001, and the reach is in that scale."""
    questions = [
        Question(
            id=f"{at:03}",
            source="mcp_query",
            fused=0.0312 + at / 100_000,
            label=Label.ANSWERABLE if at < 100 else Label.UNANSWERABLE,
            live=("vector", "bm25", "recency"),
        )
        for at in range(120)
    ]
    raw = Formula(scale=Scale.RAW, first_rank=1, weighs=Weighs.SCORE)
    report = write_report(inside.folder / "r.jsonl", questions, formula=raw)
    call = ("recommend", "--report", report, "--signal", "fused", "--max-loss", "5%")
    found = inside(*call, "--format", "json").json
    assert found["tried"]["lowest"] == 0.0001
    assert found["recommended"]["floor"] == 0.0312  # the next one loses 10 of 100
    coarse = inside(*call, "--step", "0.3")
    assert coarse.code == 2
    assert "above the best score there is, 0.0492" in coarse.err


@pytest.mark.parametrize("way", ["by its heading", "by what was live"])
def test_a_run_of_one_ranker_is_no_evidence_for_a_fused_floor(inside: Inside, way: str) -> None:
    """Refused with the reason and what to do; a cosine floor can be had from it."""
    found = shipped()
    alone: dict[str, Any] = {"weights": {"vector": Fraction(1)}} if way == "by its heading" else {}
    questions = [
        replace(one, live=("vector",), ranks={"vector": 1}, fused=1.0) for one in found.questions
    ]
    if not alone:
        questions = [replace(one, ranks={}) for one in questions]
    report = write_report(inside.folder / "v.jsonl", questions, **alone)
    done = inside("recommend", "--report", report, "--signal", "fused")
    assert done.code == 6
    assert "was measured with vector alone" in done.err
    assert "--signal cosine" in done.err
    assert inside("recommend", "--report", report, "--max-loss", "5%").code == 0


def test_the_record_is_evidence_for_the_set_with_the_floor_in_it(inside: Inside) -> None:
    """Read back by its schema and digest: knobs, counts, corpus, when it was measured; no question."""
    report = write_report(inside.folder / "r.jsonl", [*shipped().questions])
    done = inside("recommend", "--report", report, "--max-loss", "5%", "--output", "e.json")
    assert done.code == 0, done.err
    assert done.out.count("--evidence e.json") == 2  # the write is judged by its fleet too
    found = evidence_in(inside.read("e.json").encode(), "e.json", load_catalogue())
    assert isinstance(found, Evidence)
    record = found.record
    assert (record.kind, record.tenant, record.questions, record.labelled) == (
        Kind.RECOMMENDATION, "squad2-dev", 400, 400,
    )  # fmt: skip
    assert record.knobs["no_match_min_cosine"] == 0.34
    assert record.knobs["retrieval_min_score"] == 0.3  # in force, not the one that was opened
    assert record.made_at == heading(400).made_at
    lost = record.figures["answerable_lost"]
    assert isinstance(lost, Share)
    assert (lost.numerator, lost.denominator) == (2, 200)
    assert lost.high == pytest.approx(0.0357, abs=1e-4)
    assert record.figures["max_loss"] == 0.05
    ids = {one.id for one in shipped().questions}
    assert not [id_ for id_ in ids if id_ in inside.read("e.json")]


def test_the_record_of_a_fused_floor_claims_no_loss_that_nobody_looked_at(inside: Inside) -> None:
    """Labels say that a question can be answered, not by what: what is bounded is named so, a policy on the loss has nothing to read."""
    report = write_report(inside.folder / "r.jsonl", [*shipped().questions])
    done = inside(
        "recommend", "--report", report, "--signal", "fused", "--max-loss", "5%", "--output", "e.json",
    )  # fmt: skip
    assert done.code == 0, done.err
    figures = json.loads(inside.read("e.json"))["figures"]
    assert (figures["answerable_lost"], "max_loss" in figures) == (None, False)
    assert (figures["max_emptied"], figures["answerable_emptied"]["denominator"]) == (0.05, 200)


def test_a_report_that_names_no_set_in_force_is_evidence_for_none(inside: Inside) -> None:
    """The shipped scores do not say under which set people were served."""
    done = recommend(inside, "--output", "e.json")
    assert done.code == 4
    assert "does not say which knobs were in force" in done.err
    assert not (inside.folder / "e.json").exists()


def test_labels_may_come_beside_a_report(inside: Inside) -> None:
    """They replace what stands there, and name questions by id."""
    ids = [one.id for one in shipped().questions if one.label is Label.ANSWERABLE]
    lines = [json.dumps({"id": one, "answerable": at < 100}) for at, one in enumerate(ids)]
    inside.write("labels.jsonl", "\n".join(lines))
    found = recommend(inside, "--labels", "labels.jsonl", "--format", "json").json
    assert (found["answerable"], found["unanswerable"]) == (100, 100)


@pytest.fixture
def asking(probed: Inside) -> Inside:
    """The command beside a store with a corpus of acme, questions and what is known of them."""
    write_set(probed.folder / "q.jsonl", QUESTIONS)
    rows = [{"question": one, "answerable": one != QUESTIONS[3]} for one in QUESTIONS]
    probed.write("labels.jsonl", "\n".join(map(json.dumps, rows)))
    return probed


def ask(inside: Inside, *more: str) -> Result:
    """Put the questions to the engine."""
    return inside(
        "recommend", "--tenant", "acme", "--questions", "q.jsonl", "--max-loss", "95%", "--confidence", "80%",
        *more, *ENGINE,
    )  # fmt: skip


def test_questions_are_asked_and_nothing_is_written(asking: Inside) -> None:
    """The scores are those of a replay: the same recommendation comes out of its report."""
    before = asking("history", "acme", "--format", "json", *ENGINE).json["events"]
    done = ask(asking, "--labels", "labels.jsonl", "--format", "json", "--output", "e.json")
    assert done.code == 0, done.err
    assert faults_of(done.json, SCHEMA) == []
    assert (done.json["answerable"], done.json["unanswerable"]) == (3, 1)
    assert asking("history", "acme", "--format", "json", *ENGINE).json["events"] == before
    replayed = asking(
        "bench", "replay", "--questions", "q.jsonl", "--tenant", "acme", "--output", "r.jsonl", *ENGINE,
    )  # fmt: skip
    assert replayed.code == 0
    again = asking(
        "recommend", "--report", "r.jsonl", "--labels", "labels.jsonl", "--max-loss", "95%",
        "--confidence", "80%", "--format", "json",
    ).json  # fmt: skip
    assert again["recommended"]["floor"] == done.json["recommended"]["floor"]
    assert again["curve"] == done.json["curve"]
    assert "Mondays" not in asking.read("e.json") + done.out


def test_the_command_that_it_prints_plans_it_with_its_evidence(asking: Inside) -> None:
    """Word by word: the floor into the document, the plan carries what was measured."""
    asking.write("tenants/acme.yaml", "tenant: acme\nknobs: {rrf_k: 50, mmr_lambda: 0.5}\n")
    done = ask(asking, "--labels", "labels.jsonl", "--format", "json", "--output", "e.json")
    found = done.json["recommended"]
    written, planned = (shlex.split(one)[1:] for one in found["command"].split(" && "))
    assert asking(*written, "--yes").code == 0
    assert f"no_match_min_cosine: {found['floor']}" in asking.read("tenants/acme.yaml")
    plan = asking(*planned, "-o", "p.json", *ENGINE)
    assert plan.code == 0, plan.err
    (tenant,) = json.loads(asking.read("p.json"))["plan"]["tenants"]
    (slot,) = tenant["evidence"]
    assert slot["kind"] == "recommendation"
    assert slot["digest"] == json.loads(asking.read("e.json"))["digest"]


@pytest.mark.parametrize("option", ["--qrels", "--labels"])
def test_with_qrels_a_fused_floor_loses_what_answers(asking: Inside, option: str) -> None:
    """A question is lost where its own chunk falls under the floor, though others stand above it."""
    from knobctl.evidence.harvest.asked import question_id

    chunk = worst_chunk(asking, QUESTIONS[0])
    asking.write("qrels.txt", f"{question_id(QUESTIONS[0])} 0 {chunk['documentId']} 1\n")
    done = ask(asking, option, "qrels.txt", "--signal", "fused", "--format", "json")
    assert done.code in {0, 6}, done.err
    assert faults_of(done.json, SCHEMA) == []
    assert (done.json["lost_is"], done.json["answerable"]) == ("answer", 1)
    lost = [one["floor"] for one in done.json["curve"] if one["lost"]["numerator"]]
    assert lost[0] == math.ceil(chunk["score"] * 100 + 1e-9) / 100


def worst_chunk(inside: Inside, question: str) -> dict[str, Any]:
    """The candidate of a question that scores least, as the engine has it."""
    from datetime import UTC, datetime

    from knobctl.engine.embedded import open_embedded
    from knobctl.evidence.replaying import OPEN

    opened = {"retrieval_min_score": OPEN, "gate_expanded_floor": OPEN}
    config = {"rrf_k": 50, "mmr_lambda": 0.5, **opened}  # as the store of these tests has it
    engine = open_embedded(
        f"embedded:{inside.folder / 'e.db'}",
        load_catalogue(),
        actor="t",
        clock=lambda: datetime.now(UTC),
    )
    answer = engine.evaluate("acme", {"config": config, "queries": [question]})["evaluations"][0]
    engine.close()
    found = answer["chunks"] if answer["quality"].get("expanded") else answer["candidates"]
    by_document: dict[str, dict[str, Any]] = {}
    for hit in found:
        best = by_document.setdefault(hit["documentId"], hit)
        by_document[hit["documentId"]] = max(best, hit, key=lambda one: one["score"])
    worst: dict[str, Any] = min(by_document.values(), key=lambda one: one["score"])
    return worst


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "choose one of the two"),
        (("--report", "r.jsonl", "--questions", "q.jsonl"), "choose one of the two"),
        (("--questions", "q.jsonl"), "--questions needs --tenant"),
        (("--questions", "q.jsonl", "--tenant", "acme"), "needs --labels or --qrels"),
        (("--report", "r.jsonl", "--queries", "q.jsonl"), "--queries says nothing"),
        (("--report", "r.jsonl", "--qrels", "q.jsonl"), "are for questions that are asked"),
        (("--report", str(SCORES), "--tenant", "acme"), "was measured for squad2-dev"),
        (("--report", str(SCORES), "--max-loss", "2"), "between 0.01% and 99.99%"),
        (("--report", str(SCORES), "--max-loss", "2"), "write 2% or 0.02"),
        (("--report", str(SCORES), "--max-loss", "nan"), "between 0.01% and 99.99%"),
        (("--report", str(SCORES), "--max-loss", "1e999999999"), "between 0.01% and 99.99%"),
        (("--report", str(SCORES), "--max-loss", "much"), "no share"),
        (("--report", str(SCORES), "--step", "nan"), "is no number"),
        (("--report", str(SCORES), "--confidence", "100%"), "between 0.01% and 99.99%"),
    ],
)
def test_what_does_not_go_together_is_said(
    inside: Inside, arguments: tuple[str, ...], told: str
) -> None:
    """As wrong usage."""
    done = inside("recommend", *arguments)
    assert done.code == 2
    assert told in done.err


def test_a_report_without_labels_is_no_ground(inside: Inside) -> None:
    """Nobody knows what a floor would lose."""
    questions = [replace(one, label=None) for one in shipped().questions]
    report = write_report(inside.folder / "r.jsonl", questions, judging=None)
    done = inside("recommend", "--report", report)
    assert done.code == 4
    assert "labelled answerable" in done.err
    assert "bench judge" in done.err


def test_without_unanswerable_questions_nothing_is_said_of_silence(inside: Inside) -> None:
    """The loss is bounded all the same."""
    questions = [one for one in shipped().questions if one.label is Label.ANSWERABLE]
    report = write_report(inside.folder / "r.jsonl", questions)
    done = inside("recommend", "--report", report, "--max-loss", "5%")
    assert done.code == 0
    assert "what a cosine floor would silence is not known" in " ".join(done.out.split())
    found = inside("recommend", "--report", report, "--max-loss", "5%", "--format", "json").json
    assert found["auc"] == {"fused": None, "cosine": None}
    assert faults_of(found, SCHEMA) == []


@pytest.mark.parametrize("format_", ["text", "markdown", "json"])
def test_what_a_report_says_of_itself_is_only_told(inside: Inside, format_: str) -> None:
    """An embedder's name makes no markup and moves no cursor; a tenant's stays one word of the command."""
    hostile = "<b>@all</b> [x](http://e)\x1b[31m\u202e| `a`"
    report = write_report(
        inside.folder / "r.jsonl", [*shipped().questions], encoder=hostile, made_by=hostile
    )
    out = inside("recommend", "--report", report, "--max-loss", "5%", "--format", format_).out
    assert "\x1b" not in out
    assert "\u202e" not in out
    if format_ == "markdown":
        assert "<b>" not in re.sub("`[^`]*`", "", out)


def test_equal_scores_give_equal_bytes(inside: Inside) -> None:
    """The seed draws the tenths, nothing else is left to chance; another seed keeps the floor."""
    call = ("--format", "json")
    assert recommend(inside, *call).out == recommend(inside, *call).out
    other = recommend(inside, *call, "--seed", "7").json["recommended"]
    assert other["floor"] == recommend(inside, *call).json["recommended"]["floor"]
    assert other["seed"] == 7
