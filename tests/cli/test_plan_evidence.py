"""Evidence inside plans: attached or named, it is said wherever the change is shown, and a plan stands and falls with it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, Final

import pytest

from knobctl.checks.evidence_record import Corpus, Sample
from tests.checks.evidence_records import RECORD, SENTENCE, changed, record_text
from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of

if TYPE_CHECKING:
    from pathlib import Path

FLEET: Final = """\
fleet: default
evidence:
  required_for: [retrieval_min_score]
  max_age_days: 14
  min_questions: 300
"""
FILE: Final = "evidence/squad2.json"
STOPS: Final = """\
policy: no-floor-that-loses-answers
title: A floor may cost at most 1% of the answers, whatever it wins
severity: error
when: >-
  'retrieval_min_score' in changed
  && evidence.exists(e, e.fits && has(e.figures.answerable_cut) && e.figures.answerable_cut.high > 0.01)
at: retrieval_min_score
message: "{tenant}: up to {evidence[0].figures.answerable_cut.high} of the answerable questions lose their document"
hint: choose a lower floor
examples:
  fail:
    - knobs: {retrieval_min_score: 0.34}
      base: {}
      evidence: [{figures: {answerable_cut: {high: 0.018}}}]
  pass:
    - knobs: {retrieval_min_score: 0.34}
      base: {}
      evidence: [{figures: {answerable_cut: {high: 0.009}}}, a.json]
    - {knobs: {retrieval_min_score: 0.34}, base: {}}
"""


@pytest.fixture
def raised(inside: Inside) -> Inside:
    """A repository in which squad2 raises its floor from 0.30 to 0.34, with a record that it does not name."""
    inside.write("knobctl.toml", "")
    inside.write("fleet.yaml", FLEET)
    inside.write("squad2.yaml", "tenant: squad2\nknobs: {retrieval_min_score: 0.34}\n")
    inside.write(FILE, record_text())
    return inside


def named(inside: Inside, path: str = FILE) -> None:
    """Let the tenant name it."""
    inside.write(
        "squad2.yaml",
        f"tenant: squad2\nevidence: [{path}]\nknobs: {{retrieval_min_score: 0.34}}\n",
    )


def test_losses_of_another_step_are_not_those_of_this_change(raised: Inside) -> None:
    """What is lost from 0.33 to 0.34 is no measure of a floor that rises from 0.3: it is stale, and says nothing."""
    named(raised)
    raised.write(FILE, record_text(before={**RECORD.before, "retrieval_min_score": 0.33}))
    why = "it compared with retrieval_min_score 0.33, and 0.3 is what changes"
    done = raised("check", "--live", "--format", "json", *ENGINE)
    (one,) = [one for one in done.json["findings"] if one["rule"] == "evidence-stale"]
    assert why in one["message"]
    (slot,) = done.json["tenants"][0]["evidence"]
    assert (slot["why"], "statement" in slot) == (why, False)
    assert f"says nothing of this change: {why}" in unbroken(raised("diff", *ENGINE).out)
    raised.write(FILE, record_text())
    assert raised("check", "--live", *ENGINE).code == 0


def unbroken(shown: str) -> str:
    """A text without the breaks of its lines."""
    return " ".join(shown.split())


@pytest.mark.parametrize("is_named", [True, False])
def test_a_raised_floor_carries_its_sentence_everywhere(raised: Inside, is_named: bool) -> None:
    """Plan, its file, its comment, diff, apply, and the audit event in short."""
    attach = () if is_named else ("--evidence", FILE)
    if is_named:
        named(raised)
        diff = raised("diff", *ENGINE)
        assert SENTENCE in unbroken(diff.out)
        answer = raised("diff", "--format", "json", *ENGINE).json
        assert faults_of(answer, "output-diff.v1.schema.json") == []
        assert answer["tenants"][0]["evidence"][0]["statement"] == SENTENCE
        assert SENTENCE in raised("diff", "--format", "markdown", *ENGINE).out
        assert SENTENCE in raised("check", "--live", "--format", "markdown", *ENGINE).out
    shown = raised("plan", *attach, "-o", "p.json", *ENGINE)
    assert shown.code == 0
    assert f"evidence {SENTENCE} ({FILE})" in unbroken(shown.out)
    said = shown.out.partition("  evidence  ")[2].partition(FILE)[0]
    assert max(map(len, said.splitlines())) <= 80
    document = json.loads(raised.read("p.json"))
    assert faults_of(document, "plan.v1.schema.json") == []
    (slot,) = document["plan"]["tenants"][0]["evidence"]
    assert (slot["path"], slot["statement"], slot.get("attached", False)) == (
        FILE,
        SENTENCE,
        not is_named,
    )
    assert slot["figures"]["answerable_cut"]["numerator"] == 26
    comment = raised("plan", *attach, "--format", "markdown", *ENGINE).out
    assert f"- `squad2`: {SENTENCE} (`{FILE}`)" in comment
    applied = raised("apply", "p.json", "--reason", "recall", *ENGINE)
    assert applied.code == 0
    assert SENTENCE in unbroken(applied.out)
    (event,) = raised.events("squad2")
    digest = json.loads(record_text())["digest"]
    assert event["reason"] == (
        "recall [evidence: 1.2% of 2,153 answerable questions lose their document to the floors (0.7..1.8%), "
        f"{digest[:12]}]"
    )


def test_without_it_the_plan_is_stopped(raised: Inside) -> None:
    """The file lies there, and nobody names it."""
    result = raised("plan", *ENGINE)
    assert result.code == 4
    assert "without evidence" in result.out


def test_a_fleet_policy_stops_it_on_its_evidence(raised: Inside) -> None:
    """Named or attached: plan and apply end with what the record says, and nothing is written."""
    raised.write("p.yaml", STOPS)
    assert raised("policy", "test", "no-floor-that-loses-answers").code == 0
    for attach in (("--evidence", FILE), ()):
        if not attach:
            named(raised)
        for command in ("plan",), ("apply", "--yes"):
            result = raised(*command, *attach, *ENGINE)
            assert result.code == 4
            assert "up to 0.0176 of the answerable questions lose their document" in unbroken(
                result.out
            )
    assert raised("check", "--live", *ENGINE).code == 4
    raised.write(FILE, record_text(figures={"answerable_cut": None}))
    assert raised("apply", "--yes", *ENGINE).code == 0


def test_a_policy_of_after_the_plan_stops_it_too(raised: Inside) -> None:
    """What was attached is seen again when the plan is applied."""
    assert raised("plan", "--evidence", FILE, "-o", "p.json", *ENGINE).code == 0
    raised.write("p.yaml", STOPS)
    result = raised("apply", "p.json", *ENGINE)
    assert (result.code, raised.live("squad2")) == (7, {})
    assert "no-floor-that-loses-answers" in result.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("tampered", "its digest is not that of its content"),
        ("{}", "no evidence by its schema"),
        ("no", "no JSON"),
        (None, "no such file"),
    ],
)
def test_what_is_no_evidence_cannot_be_attached(
    raised: Inside, content: str | None, words: str
) -> None:
    """A record that was tampered with least of all; the same is missing evidence where it is named."""
    if content == "tampered":
        content = record_text().replace("6065", "9065")
    if content is not None:
        raised.write("other.json", content)
    result = raised("plan", "--evidence", "other.json", *ENGINE)
    assert result.code == 4
    assert f"other.json is no evidence: {words}" in result.err
    named(raised, "other.json")
    assert words in unbroken(raised("plan", *ENGINE).out)


def test_the_record_of_another_tenant_bears_on_nothing(raised: Inside) -> None:
    """It is told so, and the change is without evidence."""
    raised.write(FILE, record_text(tenant="bolt"))
    result = raised("plan", "--evidence", FILE, *ENGINE)
    assert result.code == 4
    assert f"{FILE} was measured for bolt, of which nothing is planned" in result.err
    assert f"{FILE}: it was measured for bolt" in unbroken(result.out)


def test_a_record_of_other_values_says_nothing_of_the_change(raised: Inside) -> None:
    """No sentence is shown that speaks of something else."""
    raised.write("fleet.yaml", "fleet: default\n")
    raised.write(FILE, record_text(knobs={**RECORD.knobs, "retrieval_min_score": 0.32}))
    shown = unbroken(raised("plan", "--evidence", FILE, *ENGINE).out)
    assert "says nothing of this change: it measured retrieval_min_score 0.32, and 0.34" in shown
    raised.write(FILE, record_text(knobs={"mmr_lambda": 0.7}))
    shown = unbroken(raised("plan", "--evidence", FILE, *ENGINE).out)
    assert "says nothing of this change: it measured none of the knobs that change" in shown
    assert raised("apply", "--yes", "--reason", "r", "--evidence", FILE, *ENGINE).code == 0
    assert raised.events("squad2")[0]["reason"] == "r"


@pytest.mark.parametrize("outside", [False, True])
def test_a_plan_whose_evidence_moved_is_not_applied(
    raised: Inside, tmp_path: Path, outside: bool
) -> None:
    """Gone, moved or changed: what was reviewed stood on it. Back in its place it is applied."""
    file = tmp_path / "squad2.json" if outside else raised.folder / FILE
    file.write_text(record_text(), encoding="utf-8")
    assert raised("plan", "--evidence", file, "-o", "p.json", *ENGINE).code == 0
    told = str(file) if outside else FILE
    moved = file.with_name("moved.json")
    file.rename(moved)
    for change in (None, record_text(questions=7000)):
        if change:
            file.write_text(change, encoding="utf-8")
        result = raised("apply", "p.json", *ENGINE)
        assert (result.code, raised.live("squad2")) == (7, {})
        assert f"made with other evidence; nothing was written: {told}" in result.err
    moved.replace(file)
    assert raised("apply", "p.json", *ENGINE).code == 0


def test_evidence_is_attached_when_a_plan_is_made(raised: Inside) -> None:
    """A plan that was reviewed is not made better afterwards."""
    assert raised("plan", "--evidence", FILE, "-o", "p.json", *ENGINE).code == 0
    result = raised("apply", "p.json", "--evidence", FILE, *ENGINE)
    assert result.code == 2
    assert "evidence is attached when a plan is made" in result.err


def test_from_a_folder_below_the_same_file_is_meant(
    raised: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it was typed from there; the plan names it from the root, and is applied from anywhere."""
    monkeypatch.chdir(raised.folder / "evidence")
    made = raised(
        "plan", "..", "--evidence", "squad2.json", "-o", "../p.json", "--engine", "embedded:../e.db"
    )
    assert made.code == 0, made.err
    monkeypatch.chdir(raised.folder)
    (slot,) = json.loads(raised.read("p.json"))["plan"]["tenants"][0]["evidence"]
    assert slot["path"] == FILE


def test_one_tenant_may_be_set_with_evidence(raised: Inside) -> None:
    """`set` and `unset` attach it as plan and apply do."""
    change = ("set", "squad2", "retrieval_min_score=0.34", "--yes", *ENGINE)
    assert raised(*change).code == 4
    done = raised(*change, "--evidence", FILE)
    assert done.code == 0
    assert SENTENCE in unbroken(done.out)
    assert "[evidence: 1.2% of" in raised.events("squad2")[0]["reason"]
    back = ("unset", "squad2", "retrieval_min_score", "--yes", *ENGINE)
    assert raised(*back, "--evidence", FILE).code == 4
    raised.write(FILE, record_text(knobs=RECORD.before, before=RECORD.knobs))
    assert raised(*back, "--evidence", FILE).code == 0


# Layers.

SAMPLED: Final = [f"t{number}" for number in range(4)]
SAMPLE: Final = changed(tenant=None, sample=Sample(tenants=tuple(SAMPLED[:2]), layer="std", of=4))


@pytest.fixture
def layered(inside: Inside) -> Inside:
    """Four tenants of a layer that raises the floor, one of which overrides it."""
    inside.write("knobctl.toml", "")
    inside.write("fleet.yaml", f"{FLEET}  sample_tenants: 2\n")
    inside.write(
        "std.yaml", f"layer: std\nevidence: [{FILE}]\nknobs: {{retrieval_min_score: 0.34}}\n"
    )
    for name in SAMPLED:
        inside.write(f"{name}.yaml", f"tenant: {name}\nlayers: [std]\nknobs: {{}}\n")
    inside.write(FILE, record_text(SAMPLE))
    return inside


def missing(inside: Inside) -> dict[str, str]:
    """By tenant, why its change is without evidence."""
    answer = inside("check", "--live", "--format", "json", *ENGINE).json
    return {
        one["tenant"]: one["message"]
        for one in answer["findings"]
        if one["rule"] == "evidence-missing"
    }


def test_a_sample_speaks_for_the_layer_that_it_was_drawn_from(layered: Inside) -> None:
    """Two measured tenants are enough here; the sentence says how many of how many, once for all."""
    assert missing(layered) == {}
    shown = layered("plan", "-o", "p.json", *ENGINE)
    assert "2 tenants of layer std, of 4;" in unbroken(shown.out)
    comment = layered("plan", "--format", "markdown", *ENGINE).out
    assert comment.count("lose their document") == 1
    assert layered("apply", "p.json", *ENGINE).code == 0
    assert layered("fmt", "--check", "std.yaml").code == 0


@pytest.mark.parametrize(
    ("sample", "fleet", "words"),
    [
        (Sample(tenants=("t0",), layer="std"), "  sample_tenants: 2\n", "1 tenant of layer std, and fleet default wants 2 of 4"),
        (Sample(tenants=("t0", "t1"), layer="std"), "  sample_tenants: 9\n", "wants 4 of 4"),
        (Sample(tenants=("t0", "gone"), layer="std"), "  sample_tenants: 2\n", "of which 1 still take it, and fleet default wants 2"),
        (Sample(tenants=("t0", "t1"), layer="std"), "", "does not say how many speak for the others (sample_tenants)"),
        (Sample(tenants=("t0", "t1"), layer="other"), "  sample_tenants: 2\n", "2 tenants of layer other, which it does not take"),
        (Sample(tenants=("t0", "t1")), "  sample_tenants: 2\n", "it was measured for 2 tenants"),
    ],
)  # fmt: skip
def test_a_sample_that_is_too_small_or_another_speaks_for_itself_alone(
    layered: Inside, sample: Sample, fleet: str, words: str
) -> None:
    """Who was measured is covered; the others are not, and are told why."""
    layered.write("fleet.yaml", FLEET + fleet)
    layered.write(FILE, record_text(SAMPLE, sample=sample))
    found = missing(layered)
    assert set(found) == set(SAMPLED) - set(sample.tenants)
    assert words in found["t3"]


def test_what_a_tenant_writes_itself_no_sample_of_the_layer_covers(layered: Inside) -> None:
    """The value is the same, and not the layer's."""
    layered.write("t3.yaml", "tenant: t3\nlayers: [std]\nknobs: {retrieval_min_score: 0.34}\n")
    assert list(missing(layered)) == ["t3"]
    assert "retrieval_min_score is not from there" in missing(layered)["t3"]


def test_a_plan_of_a_layer_is_judged_again_with_its_sample(layered: Inside) -> None:
    """Also where only one tenant's file is planned: how many take the layer is known all the same."""
    layered.write("fleet.yaml", f"{FLEET}  sample_tenants: 3\n")
    assert layered("plan", "t3.yaml", *ENGINE).code == 4
    layered.write("fleet.yaml", f"{FLEET}  sample_tenants: 2\n")
    assert layered("plan", "t3.yaml", "-o", "p.json", *ENGINE).code == 0
    layered.write("fleet.yaml", f"{FLEET}  sample_tenants: 3\n")
    result = layered("apply", "p.json", *ENGINE)
    assert result.code == 7
    assert "evidence-missing" in result.err
    layered.write("fleet.yaml", f"{FLEET}  sample_tenants: 2\n")
    assert layered("apply", "p.json", *ENGINE).code == 0
    assert "[evidence: 1.2% of" in layered.events("t3")[0]["reason"]


def test_several_records_of_a_run_are_told_by_their_digests(layered: Inside) -> None:
    """The reason is that of every tenant's event: no sentence of one stands in another's."""
    layered.write("std.yaml", "layer: std\nknobs: {retrieval_min_score: 0.34}\n")
    files = []
    for name in SAMPLED:
        layered.write(f"{name}.json", record_text(tenant=name))
        files += ["--evidence", f"{name}.json"]
    shown = layered("apply", "--yes", *files, *ENGINE)
    assert shown.code == 0
    digests = [json.loads(record_text(tenant=name))["digest"][:12] for name in SAMPLED]
    assert layered.events("t2")[0]["reason"] == f"[evidence: {', '.join(digests)}]"
    for name in SAMPLED:
        assert f"({name}.json)" in shown.out


# The corpus.


def load(inside: Inside, first: int, beyond: int) -> None:
    """Give squad2's corpus some chunks."""
    lines = [
        json.dumps({"documentId": f"d{number}", "text": f"heap {number}"})
        for number in range(first, beyond)
    ]
    inside.write("c.jsonl", "\n".join(lines) + "\n")
    assert inside("engine", "load", "c.jsonl", "--tenant", "squad2", "--store", ENGINE[1]).code == 0


def stale(inside: Inside) -> list[str]:
    """What does not hold."""
    answer = inside("check", "--live", "--format", "json", *ENGINE).json
    return [one["message"] for one in answer["findings"] if one["rule"] == "evidence-stale"]


def test_a_corpus_may_grow_by_so_much(raised: Inside) -> None:
    """By 9% it may, by 11% it may not: then plan, apply and set stop with both numbers, and a plan of before is stale."""
    named(raised)
    raised.write("fleet.yaml", f"{FLEET}  max_corpus_change: 10%\n")
    load(raised, 0, 109)
    assert stale(raised) == []
    assert raised("plan", "-o", "p.json", *ENGINE).code == 0
    load(raised, 109, 111)
    (one,) = stale(raised)
    words = (
        "it searched 100 chunks, and there are 111 now (11% more); 10% is the most that may change"
    )
    assert words in one
    for command in (
        ("plan",),
        ("apply", "--yes"),
        ("set", "squad2", "retrieval_min_score=0.34", "--yes"),
    ):
        result = raised(*command, *ENGINE)
        assert result.code == 4
        assert words in unbroken(result.out)
    assert raised("apply", "p.json", *ENGINE).code == 7
    raised.write(FILE, record_text(corpus=Corpus(chunks=111)))
    assert stale(raised) == []


def test_offline_it_is_not_judged_and_said_once(raised: Inside) -> None:
    """A branch's check asks no engine; -v says what is left to whoever does."""
    named(raised)
    raised.write("fleet.yaml", f"{FLEET}  max_corpus_change: 10%\n")
    for number in range(2):
        raised.write(f"more{number}.yaml", f"tenant: more{number}\nknobs: {{}}\n")
    note = "max_corpus_change of fleet default is not judged: no engine was asked"
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    (raised.folder / "squad2.yaml").rename(raised.folder / "later")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "base")):
        subprocess.run(["git", *command], cwd=raised.folder, check=True)
    (raised.folder / "later").rename(raised.folder / "squad2.yaml")
    result = raised("check", "--base", "HEAD", "-v")
    assert result.code == 0
    assert result.err.count(note) == 1
    assert note not in raised("check", "--base", "HEAD").err


def test_another_corpus_of_the_same_size_is_no_change_of_its_size(raised: Inside) -> None:
    """Only 0% asks for the same corpus; nothing there at all is a change by all."""
    named(raised)
    raised.write("fleet.yaml", f"{FLEET}  max_corpus_change: 0%\n")
    raised.write(FILE, record_text(corpus=Corpus(chunks=0, fingerprint="ab" * 32)))
    (one,) = stale(raised)
    assert "the corpus is another than the one that it searched; 0% is the most" in one
    raised.write("fleet.yaml", f"{FLEET}  max_corpus_change: 10%\n")
    assert stale(raised) == []
    raised.write(FILE, record_text())
    (one,) = stale(raised)
    assert "it searched 100 chunks, and there are 0 now (100% fewer)" in one


# The base.


def test_a_branch_that_only_changes_a_record_answers_for_it(raised: Inside) -> None:
    """The policy says of the base what its own record said: a worse one is new, the same one stands."""
    named(raised)
    raised.write("fleet.yaml", "fleet: default\n")
    policy = STOPS.replace("'retrieval_min_score' in changed\n  && ", "").replace(
        "no-floor-that-loses-answers", "lost"
    )
    policy = policy.replace("      base: {}\n", "").replace(", base: {}", "")
    raised.write("p.yaml", policy)
    raised.write(FILE, record_text(figures={}))
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "base")):
        subprocess.run(["git", *command], cwd=raised.folder, check=True)
    assert raised("check", "--base", "HEAD").code == 0
    raised.write(FILE, record_text())
    answer: dict[str, Any] = raised("check", "--base", "HEAD", "--format", "json").json
    found = [one["standing"] for one in answer["findings"] if one["rule"] == "lost"]
    assert (answer["exit_code"], found) == (4, [False])
    subprocess.run(["git", *who, "commit", "-qam", "worse"], cwd=raised.folder, check=True)
    answer = raised("check", "--base", "HEAD", "--format", "json").json
    found = [one["standing"] for one in answer["findings"] if one["rule"] == "lost"]
    assert (answer["exit_code"], found) == (0, [True])
