"""`knobctl simulate`: what another set does to questions, on a real engine; nothing is written."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.checks.evidence_json import read_record
from knobctl.checks.evidence_record import Kind, Share
from knobctl.evidence.harvest.asked import question_id
from knobctl.knobs import load_catalogue
from tests.cli.outputs import faults_of
from tests.cli.serving import serving

if TYPE_CHECKING:
    from tests.cli.inside import Inside
    from tests.running import Result

ENGINE = ("--engine", "embedded:e.db")
QUESTIONS = {
    "How does a workflow wait for approval?": "gates",
    "Who may approve?": "approvals",
    "What is served on Mondays?": "canteen",
    "How far is the moon?": None,
}
SCHEMA = "output-simulate.v1.schema.json"
SILENT = "no_match_min_cosine=0.99"
"""Answers nothing to anybody."""
LAYERED = "layer: strict\nknobs: {no_match_min_cosine: 0.99}\n"


@pytest.fixture
def asking(probed: Inside) -> Inside:
    """The command beside a store with a corpus of four tenants, and judged questions."""
    lines = [
        {"question": one, "source": "question_list", "tags": ["work" if answer else "sky"]}
        for one, answer in QUESTIONS.items()
    ]
    probed.write("q.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    judged = [f"{question_id(one)} 0 {answer} 1\n" for one, answer in QUESTIONS.items() if answer]
    probed.write("qrels", "".join(judged))
    labels = [{"question": one, "answerable": bool(answer)} for one, answer in QUESTIONS.items()]
    probed.write("labels.jsonl", "".join(json.dumps(line) + "\n" for line in labels))
    return probed


def simulate(inside: Inside, *more: str) -> Result:
    """Simulate a change of acme."""
    return inside("simulate", "--questions", "q.jsonl", *ENGINE, *more)


def of_acme(inside: Inside, *more: str) -> Result:
    """What a gate that lets nothing through does to acme."""
    return simulate(inside, "--tenant", "acme", "--set", SILENT, *more)


def answer(result: Result) -> dict[str, Any]:
    """The JSON answer, as its schema has it."""
    assert result.code == 0, result.err
    found: dict[str, Any] = result.json
    assert faults_of(found, SCHEMA) == []
    return found


def counts(rate: Any) -> tuple[int, int]:
    return rate["numerator"], rate["denominator"]


def test_a_set_that_silences_is_seen_before_it_is_written(asking: Inside) -> None:
    """Every question is emptied; nothing is written, and no word of a question stands in the answer."""
    before = asking.events("acme")
    result = of_acme(asking, "--labels", "labels.jsonl", "--format", "json")
    found = answer(result)
    assert counts(found["changes"]["emptied"]) == (4, 4)
    assert counts(found["answerable_in_prompt"]["lost"]) == (3, 3)
    assert counts(found["unanswerable_nothing_assembled"]["after"]) == (1, 1)
    assert found["prompt_tokens"]["after"] == 0
    assert found["tenants"][0]["changes"] == [
        {"field_path": "no_match_min_cosine", "before": 0.0, "after": 0.99}
    ]
    assert {one["name"] for one in found["slices"]} == {"tag work", "tag sky"}
    assert asking.events("acme") == before
    assert not [word for word in ("workflow", "Mondays", "moon") if word in result.out]


def test_with_qrels_it_says_who_loses_what_answers(asking: Inside) -> None:
    """By document: above the floors, in the prompt, by the rankers that had found it, and measures of ranking."""
    found = answer(of_acme(asking, "--qrels", "qrels", "--format", "json"))
    assert counts(found["answerable_above_floors"]["lost"]) == (3, 3)
    assert counts(found["answerable_in_prompt"]["before"]) == (3, 3)
    assert [one["measure"] for one in found["measures"]] == ["recall@12", "ndcg@10", "rr@10"]
    assert [one["after"] for one in found["measures"]] == [0, 0, 0]
    by_rankers = {tuple(one["rankers"]): one for one in found["best_match_by_rankers"]}
    assert sum(one["above_floors"]["lost"]["numerator"] for one in by_rankers.values()) == 3
    assert found["unanswerable_nothing_assembled"] is None
    changed = {one["id"]: one for one in found["tenants"][0]["changed_questions"]}
    assert changed[question_id("Who may approve?")]["in_prompt"] == [True, False]


def test_people_read_the_answer_first(asking: Inside) -> None:
    """In a sentence; with -v the questions that lose, by id."""
    told = of_acme(asking, "--qrels", "qrels", "--labels", "labels.jsonl", "-v")
    assert told.code == 0, told.err
    first, second, *_ = told.out.splitlines()
    assert first.startswith(
        "100.0% (3/3) of the answerable questions lose what answers them to the floors"
    )
    assert second == "acme: no_match_min_cosine 0 -> 0.99"
    assert question_id("Who may approve?") in told.out
    page = of_acme(asking, "--qrels", "qrels", "--format", "markdown")
    assert page.out.startswith("**100.0%")
    assert "| Measure | Before | After | Difference | p |" in page.out


def test_without_labels_it_says_what_changes(asking: Inside) -> None:
    """How many get another context."""
    told = of_acme(asking)
    assert told.code == 0, told.err
    assert told.out.startswith("100.0% (4/4) of the questions get another context")


def test_a_record_can_be_named_as_evidence(asking: Inside) -> None:
    """By a document of the tenant: a fleet that asks for evidence has it then."""
    done = of_acme(asking, "--labels", "labels.jsonl", "--output", "ev.json")
    assert done.code == 0, done.err
    document = json.loads((asking.folder / "ev.json").read_bytes())
    assert faults_of(document, "evidence.v1.schema.json") == []
    record = read_record(document, load_catalogue())
    assert (record.kind, record.tenant, record.questions) == (Kind.SIMULATION, "acme", 4)
    assert record.knobs["no_match_min_cosine"] == 0.99
    assert record.before["no_match_min_cosine"] == 0.0
    assert record.before["rrf_k"] == record.knobs["rrf_k"] == 50
    lost = record.figures["answerable_lost"]
    assert isinstance(lost, Share)
    assert (lost.numerator, lost.denominator) == (3, 3)
    asking.write(
        "fleet.yaml",
        "fleet: default\nevidence: {required_for: [no_match_min_cosine], max_age_days: 10, min_questions: 4}\n",
    )
    knobs = "knobs: {rrf_k: 50, mmr_lambda: 0.5, no_match_min_cosine: 0.99}\n"
    asking.write("tenants/acme.yaml", f"tenant: acme\n{knobs}")
    assert "evidence-missing" in asking("check", "--live", "--format", "json", *ENGINE).rules
    asking.write("tenants/acme.yaml", f"tenant: acme\nevidence: [ev.json]\n{knobs}")
    rules = asking("check", "--live", "--format", "json", *ENGINE).rules
    assert not {"evidence-missing", "evidence-stale"} & set(rules)


def test_documents_are_held_against_what_is_live(asking: Inside) -> None:
    """Each tenant that would change, and all of them together; who would not change is left out."""
    asking.write("tenants/acme.yaml", "tenant: acme\nknobs: {no_match_min_cosine: 0.99}\n")
    asking.write("tenants/bolt.yaml", "tenant: bolt\nknobs: {rrf_k: 50}\n")
    asking.write("tenants/cork.yaml", "tenant: cork\nknobs: {assembly_max_chunks: 1}\n")
    result = simulate(asking, "tenants", "--format", "json", "--output", "ev.json")
    found = answer(result)
    assert [one["tenant"] for one in found["tenants"]] == ["acme", "cork"]
    assert found["questions"] == 8
    assert counts(found["changes"]["emptied"]) == (4, 8)
    assert "1 tenant would not change" in result.err
    record = read_record(json.loads(asking.read("ev.json")), load_catalogue())
    assert record.tenant is None
    assert record.sample is not None
    assert (record.sample.layer, record.sample.tenants) == (None, ("acme", "cork"))
    assert "no_match_min_cosine" not in record.knobs
    told = simulate(asking, "tenants")
    assert "2 tenants: " in told.out
    assert "Each tenant was asked the same questions" in told.out


def test_a_layer_is_measured_on_a_sample_of_its_tenants(asking: Inside) -> None:
    """Drawn by the seed, the same ones each time, and listed in the record."""
    asking.write("layers/strict.yaml", LAYERED)
    for name in ("acme", "bolt", "cork"):
        asking.write(f"tenants/{name}.yaml", f"tenant: {name}\nlayers: [strict]\n")
    asking.write("tenants/delta.yaml", "tenant: delta\nknobs: {rrf_k: 3}\n")
    more = ("--layer", "strict", "--sample", "2", "--seed", "5", "--format", "json")
    found = answer(simulate(asking, ".", *more, "--output", "ev.json"))
    assert found["sample"] == {
        "layer": "strict",
        "tenants": found["sample"]["tenants"],
        "of": 3,
        "seed": 5,
    }
    assert set(found["sample"]["tenants"]) < {"acme", "bolt", "cork"}
    assert answer(simulate(asking, ".", *more))["sample"] == found["sample"]
    record = read_record(json.loads(asking.read("ev.json")), load_catalogue())
    assert record.sample is not None
    assert (record.sample.layer, record.sample.of) == ("strict", 3)
    assert record.sample.tenants == tuple(found["sample"]["tenants"])


def test_a_tenant_without_text_is_left_out_and_said(asking: Inside) -> None:
    """It stands in no sample; where none has any, nothing is measured."""
    asking.write("layers/strict.yaml", LAYERED)
    for name in ("acme", "empty"):
        asking.write(f"tenants/{name}.yaml", f"tenant: {name}\nlayers: [strict]\n")
    done = simulate(asking, ".", "--layer", "strict", "--format", "json")
    assert answer(done)["sample"] == {"layer": "strict", "tenants": ["acme"], "of": 2, "seed": None}
    assert "empty has no text" in done.err
    asking.write("tenants/acme.yaml", "tenant: acme\n")
    asking.write("tenants/void.yaml", "tenant: void\nlayers: [strict]\n")
    assert simulate(asking, ".", "--layer", "strict").code == 4


def test_runs_and_qrels_are_written_for_other_tools(asking: Inside) -> None:
    """One folder, or one a tenant."""
    done = of_acme(asking, "--qrels", "qrels", "--trec-out", "trec")
    assert done.code == 0, done.err
    assert sorted(one.name for one in (asking.folder / "trec").iterdir()) == [
        "qrels",
        "run.after",
        "run.before",
    ]
    assert asking.read("trec/run.after") == ""
    assert f"{question_id('Who may approve?')} Q0 " in asking.read("trec/run.before")


def test_a_served_engine_gives_the_same(asking: Inside) -> None:
    """Over HTTP."""
    own = answer(of_acme(asking, "--qrels", "qrels", "--format", "json"))
    token = asking(
        "engine", "token", "--subject", "ci", "--clearance", "L4", "--tenant", "acme", "--store", "embedded:e.db",
    ).out.strip()  # fmt: skip
    asking.write("token", token)
    (asking.folder / "token").chmod(0o600)
    with serving(asking.folder, "--store", "embedded:e.db") as (_, address):
        done = asking(
            "simulate", "--questions", "q.jsonl", "--tenant", "acme", "--set", SILENT, "--qrels", "qrels",
            "--engine", address, "--token-file", "token", "--format", "json",
        )  # fmt: skip
    served = answer(done)
    assert served["run"].pop("engine") == "http"
    assert own["run"].pop("engine") == "embedded"
    for one in (own, served):
        one["run"].pop("made_at")
    assert served == own


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (("--tenant", "acme", "--set", "rrf_k=50"), 2, "has these values already"),
        (("--tenant", "acme"), 2, "--tenant and --set go together"),
        (("--tenant", "acme", "--set", "rrf_k=0.5"), 4, ""),
        (("--tenant", "acme", "--set", "rrf_k=9", "--metric", "ap"), 2, "--metric needs --qrels"),
        (("--tenant", "acme", "--set", "rrf_k=9", "--layer", "x"), 2, "--tenant names one"),
        (("--tenant", "nobody", "--set", "rrf_k=9"), 4, "nobody has no text"),
        (("--tenant", "acme", "--set", "rrf_k=9", "fleet.yaml"), 2, "exclude each other"),
        (("--tenant", "acme", "--set", "rrf_k=9", "--queries", "q.jsonl"), 2, "without --qrels"),
        (("tenants", "--sample", "3"), 2, "without --layer"),
        (("tenants", "--layer", "x", "-l", "a=b"), 2, "does not stand for all"),
        (("tenants", "--layer", "x"), 2, "no tenant takes the layer x"),
        (("tenants",), 2, "nothing would change"),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    asking: Inside, more: tuple[str, ...], code: int, words: str
) -> None:
    """What is missing, and what to do."""
    asking.write("tenants/bolt.yaml", "tenant: bolt\nknobs: {rrf_k: 50}\n")
    done = simulate(asking, *more)
    assert done.code == code, done.err
    assert words in done.err


@pytest.mark.parametrize("option", ["--output", "--record"])
def test_nothing_is_written_over_what_another_wrote(asking: Inside, option: str) -> None:
    """Neither the engine's store nor the questions, no folder, no pipe that nobody reads; said before a question is asked."""
    os.mkfifo(asking.folder / "pipe")
    (asking.folder / "tenants").mkdir(exist_ok=True)
    change = () if option == "--record" else ("--set", SILENT)
    for name in ("e.db", "q.jsonl", "tenants", "pipe", "no/folder.json", "x" * 300):
        stood = asking.folder / name
        before = stood.read_bytes() if name in {"e.db", "q.jsonl"} else None
        done = simulate(asking, "--tenant", "acme", *change, option, name)
        assert done.code == 2, done.err
        assert "no file can be written there" in done.err or "left as it is" in done.err
        assert before is None or stood.read_bytes() == before
    asking.write("empty", "")
    for name in ("again", "again", "empty"):
        assert simulate(asking, "--tenant", "acme", *change, option, name).code == 0


def test_assignments_follow_each_other(asking: Inside) -> None:
    """As `set` takes them."""
    found = answer(
        simulate(asking, "--tenant", "acme", "--format", "json", "--set", "rrf_k=9", "mmr_lambda=1")
    )
    changed = [one["field_path"] for one in found["tenants"][0]["changes"]]
    assert changed == ["rrf_k", "mmr_lambda"]


def test_judgements_of_other_questions_are_refused(asking: Inside) -> None:
    """They would look like a corpus that answers nothing."""
    asking.write("other", "t1 0 gates 1\n")
    done = of_acme(asking, "--qrels", "other")
    assert done.code == 4
    assert "none of the 4 questions is among the 1 judged" in done.err


def test_tags_must_be_texts(asking: Inside) -> None:
    """Naming the line."""
    asking.write(
        "q.jsonl", '{"question": "Who may approve?", "source": "question_list", "tags": "x"}\n'
    )
    done = of_acme(asking)
    assert done.code == 4
    assert "q.jsonl:1: tags must be a list of texts" in done.err


def test_outside_names_make_no_markup(asking: Inside) -> None:
    """Tags are people's own words."""
    line = {"question": "Who may approve?", "source": "question_list", "tags": ["a|b @me <b> `x`"]}
    asking.write("q.jsonl", json.dumps(line) + "\n")
    page = of_acme(asking, "--format", "markdown").out
    rows = [row for row in page.splitlines() if "x7c" in row]
    assert len(rows) == 1
    assert rows[0].count("|") == 5
    assert "<b>" not in page.replace("`<b>`", "")
