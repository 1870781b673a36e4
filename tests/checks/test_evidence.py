"""Evidence that a fleet demands of a change: what is missing, what does not hold, and what is no evidence."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knobctl.checks.evidence_files import Evidence, NoEvidence
from knobctl.checks.evidence_record import Corpus, Kind, Record
from knobctl.checks.evidence_rules import Asked, Moved, demand_of, evidence_findings
from knobctl.checks.evidences import Evidences
from knobctl.documents.repository import Repository
from knobctl.documents.settings import RepositorySettings
from knobctl.finding import Severity
from knobctl.knobs import load_catalogue
from tests.checks.documents import repository
from tests.checks.evidence_records import RECORD, changed
from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of

if TYPE_CHECKING:
    from knobctl.checks.evidence_rules import Corpora

CATALOGUE = load_catalogue()
FILE = "evidence/acme.json"
NOW = datetime.now(UTC)
FLEET = """\
fleet: default
evidence:
  required_for: [retrieval_min_score, rrf_k]
  max_age_days: 14
  min_questions: 300
  encoder: all-MiniLM-L6-v2
"""


def evidence(**measured: Any) -> dict[str, Any]:
    """An evidence file that holds for acme at retrieval_min_score 0.15."""
    made_at = measured.pop("made_at", NOW.isoformat(timespec="seconds"))
    return {
        "format": "knobctl-evidence",
        "format_version": 1,
        "kind": "recommendation",
        "made_at": made_at,
        "made_by": "knobctl",
        "measured": {
            "tenant": "acme",
            "knobs": {"retrieval_min_score": 0.15},
            "questions": 338,
            "encoder": "all-MiniLM-L6-v2",
            "corpus": {"chunks": 28114},
            **measured,
        },
        "figures": {"lost": 11, "rate": 0.032},
    }


def write(inside: Inside, content: object = None, *, fleet: str = FLEET, named: str = FILE) -> None:
    """A repository in which acme lowers its floor, with a file of evidence unless that is empty."""
    inside.write("knobctl.toml", "")
    inside.write("fleet.yaml", fleet)
    names = f"evidence: [{named}]\n" if named else ""
    inside.write(
        "acme.yaml",
        f"tenant: acme\n{names}knobs: {{retrieval_min_score: 0.15, gate_expanded_floor: 0.15}}\n",
    )
    if content is not None:
        inside.write(FILE, content if isinstance(content, str) else json.dumps(content))


def read(folder: Path, path: str) -> Evidence | NoEvidence:
    """One file of a repository, as its documents would name it."""
    return Evidences(Repository(folder, CATALOGUE, RepositorySettings())).read(path)


def found(inside: Inside, *options: str) -> list[dict[str, Any]]:
    """What the evidence rules say of the change against live."""
    answer = inside("check", "--live", "--format", "json", *options, *ENGINE).json
    assert faults_of(answer, "output-findings.v1.schema.json") == []
    return [one for one in answer["findings"] if one["rule"].startswith("evidence-")]


def test_evidence_that_holds_is_enough(inside: Inside) -> None:
    """Of this tenant, of these values, young, of enough questions, of the fleet's embedder."""
    write(inside, evidence())
    assert faults_of(evidence(), "evidence.v1.schema.json") == []
    assert found(inside) == []
    assert inside("apply", "--yes", *ENGINE).code == 0


def test_a_change_without_evidence_says_who_demands_it_and_where(inside: Inside) -> None:
    """At the value, with the fleet's line beside it; an error where the fleet says nothing else."""
    write(inside, named="")
    (one,) = found(inside)
    assert (one["rule"], one["severity"], one["field_path"]) == (
        "evidence-missing", "error", "retrieval_min_score",
    )  # fmt: skip
    assert (one["file"], one["line"], one["column"]) == ("acme.yaml", 2, 30)
    assert (
        "retrieval_min_score changes from 0.3 to 0.15 without evidence, which fleet default demands"
        in one["message"]
    )
    assert [(place["file"], place["line"]) for place in one["related"]] == [("fleet.yaml", 3)]


@pytest.mark.parametrize("after", [0.1, 0.31])
def test_up_needs_evidence_as_down_does(inside: Inside, after: float) -> None:
    """A floor that rises loses results, one that falls admits noise."""
    write(inside)
    inside.write("acme.yaml", f"tenant: acme\nknobs: {{retrieval_min_score: {after}}}\n")
    assert [one["value"] for one in found(inside)] == [after]


@pytest.mark.parametrize(
    "text", ["retrieval_min_score: 0.3", "retrieval_min_score: 0", "mmr_lambda: 0.9"]
)
def test_what_changes_nothing_in_force_needs_none(inside: Inside, text: str) -> None:
    """The default written out, or a knob that the fleet does not ask about."""
    write(inside)
    inside.write("acme.yaml", f"tenant: acme\nknobs: {{{text}}}\n")
    assert found(inside) == []


def test_without_a_change_that_is_known_nothing_is_demanded(inside: Inside) -> None:
    """A plain check compares with nothing."""
    write(inside)
    answer = inside("check", "--format", "json").json
    assert not [one for one in answer["findings"] if one["rule"].startswith("evidence-")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (evidence(knobs={"retrieval_min_score": 0.2}), "it measured retrieval_min_score 0.2, and 0.15 is wanted"),
        (evidence(knobs={"retrieval_min_score": 0.15, "rrf_k": 30}), "it measured rrf_k 30, and 60 is wanted"),
        (evidence(questions=299), "it asked 299 questions, and 300 is the fewest"),
        (evidence(encoder="bge-m3"), "its embedder is bge-m3, and the fleet's is all-MiniLM-L6-v2"),
        (evidence(made_at=(NOW - timedelta(days=16)).isoformat()), "days old, and 14 is the most"),
        (evidence(made_at=(NOW + timedelta(days=9)).isoformat()), "which is yet to come"),
    ],
)  # fmt: skip
def test_evidence_that_does_not_hold_says_why(
    inside: Inside, content: dict[str, Any], words: str
) -> None:
    """Each binding by itself turns it stale."""
    write(inside, content)
    (one,) = found(inside)
    assert one["rule"] == "evidence-stale"
    assert words in one["message"]
    assert FILE in one["message"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (evidence(tenant="bolt"), "it was measured for bolt"),
        (evidence(knobs={"mmr_lambda": 0.5}), "did not measure it"),
        (evidence(knobs={"no_such_knob": 1}), "no_such_knob, which is no knob"),
        (evidence(knobs={"retrieval_min_score": 7}), "which is no value of it"),
        (evidence(made_at="2026-02-30T00:00:00Z"), "there is no such time"),
        ({**evidence(), "questions": ["what is my salary"]}, "no evidence by its schema"),
        ({**evidence(), "format_version": 2}, "no evidence by its schema"),
        ("{", "no JSON"),
        ("", "no JSON"),
        ('{"a": 1, "a": 2}', "one key twice"),
        ('{"a": NaN}', "NaN is no JSON"),
        ("[" * 100_000, "nested too deeply"),
        (" " * (1024 * 1024 + 1), "more than 1,048,576 bytes"),
        ('"\\ud800"', "half of a character"),
    ],
)
def test_a_file_that_is_no_evidence_is_told_as_what_it_is(
    inside: Inside, content: object, words: str
) -> None:
    """It covers nothing, and the finding says which file and why."""
    write(inside, content)
    (one,) = found(inside)
    assert one["rule"] == "evidence-missing"
    assert words in one["message"]
    assert FILE in one["message"]


@pytest.mark.parametrize(
    ("kind", "figures", "words"),
    [
        ("calibration", {"noise_floor": 0.39}, "a calibration says where noise ends"),
        (
            "recommendation",
            {"floor": 0.32},
            "the floor that it recommends, 0.32, is another knob's",
        ),
        ("recommendation", {"floor": 0.15}, None),
        ("recommendation", {}, None),
    ],
)
def test_what_speaks_of_another_floor_is_no_evidence_of_this_one(
    inside: Inside, kind: str, figures: dict[str, float], words: str | None
) -> None:
    """It was made while this floor had its value, and nobody looked at what this floor cuts."""
    knobs = {"retrieval_min_score": 0.15, "no_match_min_cosine": 0}
    write(inside, {**evidence(knobs=knobs), "kind": kind, "figures": figures})
    told = [(one["rule"], one["message"]) for one in found(inside)]
    assert [rule for rule, _ in told] == (["evidence-missing"] if words else [])
    assert all(words and words in message for _, message in told)
    inside.write("fleet.yaml", "fleet: default\n")
    shown = " ".join(inside("diff", *ENGINE).out.split())
    assert (f"says nothing of this change: {words}" in shown) is bool(words)


def test_nothing_outside_the_repository_is_read(inside: Inside, tmp_path: Path) -> None:
    """Neither by a link to a file, nor through a linked folder, nor by a path that leads out."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "acme.json").write_text(json.dumps(evidence()), encoding="utf-8")
    (inside.folder / "evidence").mkdir()
    (inside.folder / FILE).symlink_to(outside / "acme.json")
    (inside.folder / "linked").symlink_to(outside)
    for named in (FILE, "linked/acme.json"):
        write(inside, named=named)
        (one,) = found(inside)
        assert "a link is not followed" in one["message"]
    for path in ("../outside/acme.json", "/etc/passwd", "a//b", "", "a/../../x", "x\0y"):
        assert read(inside.folder, path) == NoEvidence(
            path, "the path leads outside the repository"
        )


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe without a writer, a folder, a file that nobody may read, one that is not there."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder", "nothing", "pipe/x"):
        assert isinstance(read(tmp_path, name), NoEvidence)
    (tmp_path / "real.json").write_text(json.dumps(evidence()), encoding="utf-8")
    assert isinstance(read(tmp_path, "real.json"), Evidence)


@pytest.mark.parametrize(("severity", "code"), [("error", 4), ("warning", 5), ("info", 0)])
def test_the_fleet_says_how_much_it_weighs(inside: Inside, severity: str, code: int) -> None:
    """And a waiver lets it off."""
    write(inside, fleet=f"{FLEET}  severity: {severity}\n")
    inside.write("waivers/others.yaml", waiver("floor-admits-the-merely-recent"))
    assert inside("check", "--live", "--fail-on", "warning", *ENGINE).code == code
    inside.write("waivers/w.yaml", waiver("evidence-missing"))
    (one,) = found(inside)
    assert one["waived_by"] == "w-evidence-missing"
    assert inside("check", "--live", "--fail-on", "warning", *ENGINE).code == 0
    assert inside("apply", "--yes", *ENGINE).code == 0


def waiver(rule: str) -> str:
    """For acme, for a long time."""
    return f"waiver: w-{rule}\nrule: {rule}\ntenants: [acme]\nreason: r\napproved_by: p\nexpires: 2099-03-31\n"


def test_the_repository_may_weigh_it_otherwise(inside: Inside) -> None:
    """With a reason, as every rule that is no fault of a document."""
    write(inside)
    inside.write(
        "knobctl.toml", '[severity.evidence-missing]\nseverity = "info"\nreason = "trial"\n'
    )
    assert [one["severity"] for one in found(inside)] == ["info"]


def test_every_command_that_writes_obeys(inside: Inside) -> None:
    """plan and apply stop, set stops; nothing is written."""
    write(inside)
    for command in (
        ("plan", *ENGINE),
        ("apply", "--yes", *ENGINE),
        ("set", "acme", "retrieval_min_score=0.2", "--yes", *ENGINE),
    ):
        result = inside(*command)
        assert result.code == 4, command
        assert "evidence-missing" in result.out + result.err
    assert inside.live() == {}


def test_a_plan_whose_evidence_was_changed_is_not_applied(inside: Inside) -> None:
    """What was reviewed stood on it."""
    write(inside, evidence())
    assert inside("plan", "-o", "plan.json", *ENGINE).code == 0
    for other in (evidence(questions=7), evidence(questions=400), ""):
        write(inside, other)
        result = inside("apply", "plan.json", *ENGINE)
        assert (result.code, inside.live()) == (7, {})
        assert f"the plan was made with other evidence; nothing was written: {FILE}" in result.err
    write(inside, evidence())
    assert inside("apply", "plan.json", *ENGINE).code == 0


def test_a_tenant_belongs_to_its_fleet_whichever_command_asks(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the file of its document, where no fleet is named; from whatever folder a plan is applied."""
    write(inside, evidence(), fleet=FLEET.replace("default", "production\ninclude: [prod]"))
    (inside.folder / "prod").mkdir()
    (inside.folder / "acme.yaml").rename(inside.folder / "prod/acme.yaml")
    monkeypatch.chdir(inside.folder / "prod")
    assert inside("plan", "-o", "plan.json", *ENGINE).code == 0
    inside.write(FILE, json.dumps(evidence(questions=7)))
    for command in (
        ("apply", "plan.json"),
        ("apply", "--yes"),
        ("set", "acme", "retrieval_min_score=0.2", "--yes"),
    ):
        result = inside(*command, *ENGINE)
        assert result.code in {4, 7}, command
        assert "evidence" in result.out + result.err
    assert inside.live() == {}


def test_against_a_branch_it_is_the_branch_that_changes(inside: Inside) -> None:
    """--base: also through a layer, and for a tenant that the base did not have."""
    write(inside, named="")
    inside.write("eu.yaml", "layer: eu\nknobs: {rrf_k: 60}\n")
    inside.write("bolt.yaml", "tenant: bolt\nlayers: [eu]\n")
    commit(inside)
    assert against(inside) == []
    inside.write("eu.yaml", "layer: eu\nknobs: {rrf_k: 30}\n")
    inside.write("new.yaml", "tenant: new\nknobs: {retrieval_min_score: 0.25}\n")
    assert against(inside) == [
        ("bolt", "eu.yaml", "rrf_k", False),
        ("new", "new.yaml", "retrieval_min_score", False),
    ]


def test_a_further_fleet_takes_no_demand_away(inside: Inside) -> None:
    """Whatever else includes the file: the gate stops what the push of the demanding fleet would refuse."""
    write(inside, fleet=FLEET.replace("default", "prod\ninclude: ['*.yaml']", 1))
    assert [one["rule"] for one in found(inside, "--live", *ENGINE)] == ["evidence-missing"]
    inside.write("more.yaml", "fleet: more\ninclude: ['*.yaml']\n")
    assert [one["rule"] for one in found(inside, "--live", *ENGINE)] == ["evidence-missing"]
    assert found(inside, "--live", *ENGINE, "--fleet", "more") == []


def commit(inside: Inside) -> None:
    """Make a Git repository of the folder."""
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "base")):
        subprocess.run(["git", *command], cwd=inside.folder, check=True)


def against(inside: Inside) -> list[tuple[str, str, str, bool]]:
    """What the evidence rules say of what changed since the commit."""
    answer = inside("check", "--base", "HEAD", "--format", "json").json
    return [
        (one["tenant"], one["file"], one["field_path"], one["standing"])
        for one in answer["findings"]
        if one["rule"].startswith("evidence-")
    ]


def test_evidence_is_nobodys_document(inside: Inside) -> None:
    """It lies in the repository without being taken for one."""
    write(inside, evidence())
    answer = inside("check", "--format", "json").json
    assert (answer["exit_code"], answer["summary"]["tenants"]) == (0, 1)


def test_the_words_of_others_are_made_visible(inside: Inside) -> None:
    """A name in an evidence file cannot drive a terminal."""
    write(inside, evidence(encoder="\x1b[2Jx"))
    text = inside("check", "--live", *ENGINE).out
    assert "\x1b" not in text
    assert "\\x1b[2Jx" in text


@given(
    age=st.integers(-1, 60),
    most=st.none() | st.integers(1, 40),
    questions=st.integers(0, 500),
    fewest=st.none() | st.integers(1, 400),
    value=st.sampled_from([0.15, 0.2]),
    measured=st.sampled_from([0.15, 0.2]),
)
def test_it_holds_exactly_where_every_bound_does(
    age: int, most: int | None, questions: int, fewest: int | None, value: float, measured: float
) -> None:
    """Whatever the others say; the day is given, and the last day of the age counts."""
    rules = {"required_for": ["retrieval_min_score"], "max_age_days": most, "min_questions": fewest}
    rules = {key: rule for key, rule in rules.items() if rule is not None}
    text = f"fleet: f\nevidence: {json.dumps(rules)}\n---\ntenant: acme\nevidence: [e]\nknobs: {{retrieval_min_score: {value}}}\n"
    one = repository(text)
    demand = demand_of(one.fleets[0])
    assert demand
    assert demand.severity is Severity.ERROR
    today = date(2026, 11, 29)
    files = Evidences(one)
    files.know(
        Evidence(
            "e",
            Record(
                kind=Kind.SIMULATION,
                tenant="acme",
                knobs={"retrieval_min_score": measured},
                made_at=datetime(2026, 11, 29, 12, tzinfo=UTC) - timedelta(days=age),
                questions=questions,
                encoder="m",
                corpus=Corpus(chunks=1),
            ),
        )
    )
    moved = Moved(one.effective(one.tenants[0]), CATALOGUE.defaults)
    findings = list(evidence_findings(moved, demand, Asked(files, today)))
    holds = (
        (most is None or age <= most)
        and (fewest is None or questions >= fewest)
        and value == measured
    )
    assert [finding.rule for finding in findings] == ([] if holds else ["evidence-stale"])


@given(
    then=st.integers(0, 400),
    now=st.integers(0, 400),
    limit=st.integers(0, 100),
    same=st.booleans(),
    asks=st.sampled_from(["asks", "cannot", "offline"]),
)
def test_a_corpus_may_change_by_exactly_so_much(
    then: int, now: int, limit: int, same: bool, asks: str
) -> None:
    """By the number of chunks, up or down; the same corpus is none that has changed; who cannot know does not judge."""
    text = f"fleet: f\nevidence: {{required_for: [retrieval_min_score], max_corpus_change: {limit}%}}\n"
    one = repository(
        f"{text}---\ntenant: acme\nevidence: [e]\nknobs: {{retrieval_min_score: 0.15}}\n"
    )
    demand = demand_of(one.fleets[0])
    assert demand
    files = Evidences(one)
    corpus = Corpus(chunks=then, fingerprint="a")
    files.know(
        Evidence("e", changed(tenant="acme", knobs={"retrieval_min_score": 0.15}, corpus=corpus))
    )
    corpora: dict[str, Corpora | None] = {
        "asks": lambda _: Corpus(chunks=now, fingerprint="a" if same else "b"),
        "cannot": lambda _: "it does not say",
        "offline": None,
    }
    asked = Asked(files, RECORD.made_at.date(), corpora[asks])
    moved = Moved(one.effective(one.tenants[0]), CATALOGUE.defaults)
    found = [finding.rule for finding in evidence_findings(moved, demand, asked)]
    grown = abs(now - then) * 100 > limit * then or limit == 0
    is_stale = asks == "asks" and not same and grown
    assert found == (["evidence-stale"] if is_stale else [])
    assert bool(files.unjudged) is (asks != "asks")


def test_another_embedder_unsettles_every_number_that_is_written(inside: Inside) -> None:
    """No knob changes, the fleet's embedder does: what was measured with the old one is stale, what never was is missing."""
    bound = FLEET.replace(
        "[retrieval_min_score, rrf_k]", "[retrieval_min_score, vector_min_cosine, rrf_k]"
    )
    write(inside, evidence(), fleet=bound)
    inside.write("bolt.yaml", "tenant: bolt\nknobs: {vector_min_cosine: 0.3, rrf_k: 30}\n")
    inside.write("plain.yaml", "tenant: plain\nknobs: {}\n")
    commit(inside)
    inside.write("fleet.yaml", bound.replace("all-MiniLM-L6-v2", "bge-m3"))
    answer = inside("check", "--base", "HEAD", "--format", "json").json
    said = {
        (one["rule"], one["tenant"], one["field_path"], one["standing"]): one["message"]
        for one in answer["findings"]
    }
    assert list(said) == [
        ("evidence-stale", "acme", "retrieval_min_score", False),
        ("evidence-missing", "bolt", "vector_min_cosine", False),
    ]
    assert all(
        words.startswith("the embedder changes from all-MiniLM-L6-v2 to bge-m3 and ")
        for words in said.values()
    )
    assert answer["exit_code"] == 4
