"""`apply --canary`: a first wave is watched by the fleet's questions, and taken back where they are answered worse."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.changes import rolling_out, run_folder, taking_back
from knobctl.changes.journal_writing import Journal
from knobctl.engine.embedded import EmbeddedEngine
from knobctl.engine.interface import EngineRefusedError
from knobctl.errors import EngineError, UnknownOutcomeError
from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from knobctl.server.retrieval.model import Text
from tests.cli.engines import embedded, write
from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of
from tests.cli.terminal import ROOT, on_terminal
from tests.given_engine import GivenEngine

if TYPE_CHECKING:
    from pathlib import Path

    from knobctl.engine.interface import LiveSet, Receipt

TENANTS = ("acme", "bolt", "cork", "delta")
TEXTS = {
    "gates": "Workflow approval gates stop a run until a person approves it.",
    "approvals": "An approval may be given by any member of the reviewers.",
    "canteen": "The canteen serves soup on Mondays.",
}
QUESTIONS = (
    {"question": "How does a workflow wait for approval?", "relevant": ["gates"]},
    {"question": "Who may approve?"},
    {"question": "What is there for lunch on Monday?"},
    {"question": "How far is the moon?", "answerable": False},
)
SILENT = "no_match_min_cosine: 0.99"
"""Answers nothing to anybody."""
HARMLESS = "rrf_k: 30"
YES = ("--yes", "--reason", "why", *ENGINE)
NOW = (*YES, "--bake", "0s")
SCHEMA = "output-apply.v1.schema.json"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which each tenant has three texts; acme and bolt hold a set."""
    store = tmp_path_factory.mktemp("corpus") / "e.db"
    services = open_services(f"embedded:{store}", load_catalogue(), clock=lambda: datetime.now(UTC))
    assert services.ingest is not None
    for tenant in TENANTS:
        texts = [Text(document_id=name, text=text) for name, text in TEXTS.items()]
        services.ingest.upsert(local_caller("test"), tenant, texts)
    services.close()
    with embedded(store) as engine:
        write(engine, "acme", {"rrf_k": 50, "mmr_lambda": 0.5})
        write(engine, "bolt", {"rrf_k": 50})
    return store


@pytest.fixture
def fleet(inside: Inside, corpus: Path) -> Inside:
    """A repository of four tenants beside that store."""
    shutil.copytree(corpus.parent, inside.folder, dirs_exist_ok=True)
    inside.write("knobctl.toml", "")
    inside.write("probes/q.jsonl", "".join(f"{json.dumps(one)}\n" for one in QUESTIONS))
    inside.write(
        "fleet.yaml",
        "fleet: default\nprobes: [{labels: {tier: a}, questions: probes/q.jsonl}]\n",
    )
    return inside


def wish(inside: Inside, **knobs: str) -> None:
    """Let tenants' files ask for sets."""
    for tenant, lines in knobs.items():
        inside.write(
            f"tenants/{tenant}.yaml",
            f"tenant: {tenant}\nlabels: {{tier: a}}\nknobs: {{{lines}}}\n",
        )


def pushed(inside: Inside, *options: str, code: int) -> dict[str, Any]:
    """The answer of a push with a canary, as its schema has it."""
    result = inside("apply", "--format", "json", *options)
    assert result.code == code, result.err + result.out
    answer: dict[str, Any] = result.json
    assert faults_of(answer, SCHEMA) == []
    assert answer["exit_code"] == code
    return answer


def outcomes(answer: Mapping[str, Any]) -> dict[str, str]:
    return {one["tenant"]: one["outcome"] for one in answer["tenants"]}


def state(inside: Inside) -> dict[str, Any]:
    """What each tenant holds, and how many events it has."""
    with embedded(inside.folder / "e.db") as engine:
        return {
            one: (dict(engine.read(one).knobs), len(list(engine.audit_events(one))))
            for one in TENANTS
        }


def listed(inside: Inside) -> dict[str, Any]:
    """The last run, as `runs` tells of it."""
    answer = inside("runs", "--format", "json").json
    assert faults_of(answer, "output-runs.v1.schema.json") == []
    found: dict[str, Any] = answer["runs"][0]
    return found


def test_a_set_that_silences_the_probes_is_taken_back(fleet: Inside) -> None:
    """The exact earlier sets, by one more event a tenant with the reason; the rest is never written."""
    wish(fleet, acme=SILENT, bolt=SILENT, cork=SILENT, delta=SILENT)
    before = state(fleet)
    answer = pushed(fleet, "--canary", "50%", *NOW, code=11)
    wave = answer["rollout"]["waves"][0]["tenants"]
    assert len(wave) == 2
    assert outcomes(answer) == {one: "rolled_back" if one in wave else "skipped" for one in TENANTS}
    assert answer["outcome"] == "rolled back"
    for tenant, (knobs, events) in state(fleet).items():
        assert knobs == before[tenant][0]
        assert events == before[tenant][1] + (2 if tenant in wave else 0)
    last = fleet.events(wave[0])[-1]
    assert last["reason"].startswith(f"taken back by the canary of run {answer['run']}: ")
    assert last["after"] == before[wave[0]][0]
    told = answer["rollout"]["waves"][0]
    assert (told["verdict"], told["rounds"], told["questions"]) == ("worse", 1, 6)
    assert told["metrics"] == [
        {"metric": "below_threshold", "questions": 6, "before": 0, "after": 6},
        {"metric": "answers_lost", "questions": 6, "before": 0, "after": 6},
        {"metric": "empty_contexts", "questions": 6, "before": 0, "after": 6},
    ]
    run = listed(fleet)
    assert (run["state"], run["outcomes"]) == ("finished", {"rolled_back": 2, "skipped": 2})
    again = fleet("apply", "--resume", answer["run"], *ENGINE)
    assert (again.code, "nothing is left" in again.out) == (11, True)


def test_text_says_what_is_watched_and_what_was_found(fleet: Inside) -> None:
    """Before the writes the waves and the bounds; after them the metrics and why it goes back."""
    wish(fleet, acme=SILENT)
    result = fleet("apply", "--canary", "5", *NOW)
    assert result.code == 11
    lines = result.out.splitlines()
    assert lines[-8:-1] == [
        "wave 1  canary 5: 1 tenant (acme), asked 3 questions, once",
        "then    nothing: no tenant is left",
        "back    all of it, where a tenant loses more than 2% of its answers, or where below_threshold",
        "        or empty contexts grow by more than 2% of its questions",
        "wave 1  worse: below_threshold 0 -> 3 of 3, 3 of 3 answers lost, empty contexts 0 -> 3 of 3 (asked 1 time)",
        "taken back: acme: 3 of 3 answers lost (100% worse, bound 2%)",
        "rolled_back  acme  r3  mmr_lambda, no_match_min_cosine, rrf_k",
    ]
    assert "1 rolled_back (run " in lines[-1]
    assert "undo:" not in result.out
    assert "wave 1: 1 tenant written; asking 3 questions, once" in result.err


def test_on_a_terminal_what_is_said_does_not_mingle_with_the_bar(fleet: Inside) -> None:
    """Each word of it begins a line."""
    wish(fleet, acme=SILENT, bolt=SILENT, cork=SILENT)
    with on_terminal(fleet.folder, "apply", "--canary", "1", *NOW) as terminal:
        assert terminal.end() == 11
    said = terminal.shown.replace("\r\n", "\n")
    assert said.count("note: ") == said.count("\nnote: ") == 2


def test_a_harmless_change_goes_on_to_the_rest(fleet: Inside) -> None:
    """One event a tenant, exit 0."""
    wish(fleet, acme=HARMLESS, bolt=HARMLESS, cork=HARMLESS, delta=HARMLESS)
    answer = pushed(fleet, "--canary", "1", *NOW, code=0)
    assert set(outcomes(answer).values()) == {"applied"}
    told = answer["rollout"]
    assert (told["waves"][0]["verdict"], told["rest"], told["taken_back"]) == ("held", 3, None)
    assert len(fleet.events("delta")) == 1


def test_a_later_wave_takes_back_the_earlier_ones(fleet: Inside) -> None:
    """All that the run has written, of whatever wave."""
    assert fleet("unset", "acme", "mmr_lambda", *YES).code == 0
    wish(fleet, acme=HARMLESS, bolt=HARMLESS, delta=SILENT)
    before = state(fleet)
    answer = pushed(fleet, "--canary", "1", "--canary", "100%", *NOW, code=11)
    waves = answer["rollout"]["waves"]
    assert [one["verdict"] for one in waves] == ["held", "worse"]
    assert waves[1]["breaches"][0]["tenant"] == "delta"
    assert set(outcomes(answer).values()) == {"rolled_back"}
    assert {name: knobs for name, (knobs, _) in state(fleet).items()} == {
        name: knobs for name, (knobs, _) in before.items()
    }


def test_more_may_be_lost_where_it_is_said(fleet: Inside) -> None:
    """The bound is the person's."""
    wish(fleet, acme=SILENT)
    answer = pushed(fleet, "--canary", "1", "--max-worse", "100%", *NOW, code=0)
    assert answer["rollout"]["waves"][0]["verdict"] == "held"


def refusing(monkeypatch: pytest.MonkeyPatch, *tenants: str, reasons: str = "") -> None:
    """Let the engine refuse some tenants' writes whose reason begins so."""
    real = EmbeddedEngine.replace

    def replace(self: EmbeddedEngine, tenant: str, *sent: Any, **options: Any) -> Receipt:
        if tenant in tenants and options["reason"].startswith(reasons):
            raise EngineRefusedError("no", code="invalid_argument")
        return real(self, tenant, *sent, **options)

    monkeypatch.setattr(EmbeddedEngine, "replace", replace)


def asked_first(monkeypatch: pytest.MonkeyPatch, act: Callable[[str], None]) -> None:
    """Let something happen before a tenant is asked for the first time after its write."""
    real, seen = EmbeddedEngine.assemble, set[str]()

    def assemble(self: EmbeddedEngine, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if tenant not in seen:
            seen.add(tenant)
            act(tenant)
        return real(self, tenant, request)

    monkeypatch.setattr(EmbeddedEngine, "assemble", assemble)


def test_a_wave_that_is_half_written_is_taken_back(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows nothing; 11 goes before 8."""
    wish(fleet, acme=HARMLESS, bolt=HARMLESS, cork=HARMLESS)
    before = state(fleet)
    refusing(monkeypatch, "bolt")
    answer = pushed(fleet, "--canary", "100%", *NOW, code=11)
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "failed", "cork": "rolled_back"}
    assert answer["rollout"]["waves"][0]["verdict"] == "not_written"
    assert fleet.live("acme") == before["acme"][0]
    assert fleet.live("cork") == {}


def test_a_wave_of_which_nothing_is_written_has_nothing_to_take_back(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails as any push does, and is resumed in waves."""
    wish(fleet, acme=HARMLESS, bolt=HARMLESS)
    with monkeypatch.context() as during:
        refusing(during, "acme", "bolt")
        result = fleet("apply", "--canary", "1", *NOW)
    assert result.code == 8
    assert "wave 1  not written" in result.out
    assert "taken back" not in result.out + result.err
    assert "nothing was written; to go on, run the same command again." in result.err
    answer = pushed(fleet, "--resume", listed(fleet)["run"], *ENGINE, code=0)
    assert answer["rollout"]["waves"][0]["verdict"] == "held"
    assert set(outcomes(answer).values()) == {"applied"}


def test_what_was_changed_since_is_left_alone(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody's later write is a conflict of the taking back; then not all is back: 9."""
    wish(fleet, acme=SILENT, bolt=SILENT)

    def theirs(tenant: str) -> None:
        if tenant == "bolt":
            with embedded(fleet.folder / "e.db") as other:
                write(other, tenant, {"rrf_k": 77, "no_match_min_cosine": 0.99})

    asked_first(monkeypatch, theirs)
    answer = pushed(fleet, "--canary", "2", *NOW, code=9)
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "conflict"}
    assert fleet.live("bolt") == {"rrf_k": 77, "no_match_min_cosine": 0.99}
    assert fleet.live("acme") == {"rrf_k": 50, "mmr_lambda": 0.5}
    assert listed(fleet)["state"] == "finished"


def test_what_cannot_be_taken_back_is_said_and_can_be_resumed(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is applied still: 9; resumed, it goes back, and not forth."""
    wish(fleet, acme=SILENT, bolt=SILENT)
    with monkeypatch.context() as during:
        refusing(during, "bolt", reasons="taken back")
        result = fleet("apply", "--canary", "2", *NOW)
    assert result.code == 9
    assert "written, and not taken back: no" in result.out
    run = listed(fleet)
    assert (run["state"], run["left"]) == ("unfinished", 1)
    assert f"to take back the rest: knobctl apply --resume {run['run']}" in result.err
    answer = pushed(fleet, "--resume", run["run"], *ENGINE, code=11)
    assert set(outcomes(answer).values()) == {"rolled_back"}
    assert fleet.live("bolt") == {"rrf_k": 50}
    assert listed(fleet)["state"] == "finished"


def test_probes_that_cannot_be_asked_take_it_back(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not watched does not stay."""
    wish(fleet, acme=HARMLESS)

    def gone(_: str) -> None:
        raise EngineError("the connection was refused")

    asked_first(monkeypatch, gone)
    answer = pushed(fleet, "--canary", "1", *NOW, code=11)
    assert answer["rollout"]["taken_back"].startswith("the probes could not be asked: ")
    assert fleet.live("acme") == {"rrf_k": 50, "mmr_lambda": 0.5}


def test_documents_that_go_meanwhile_are_not_held_against_the_set(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sets are asked on what there is."""
    wish(fleet, acme=HARMLESS)

    def emptied(tenant: str) -> None:
        services = open_services("embedded:e.db", load_catalogue(), clock=lambda: datetime.now(UTC))
        assert services.ingest is not None
        services.ingest.delete_documents(local_caller("test"), tenant, list(TEXTS))
        services.close()

    asked_first(monkeypatch, emptied)
    answer = pushed(fleet, "--canary", "1", *NOW, code=0)
    metrics = answer["rollout"]["waves"][0]["metrics"]
    assert metrics[2] == {"metric": "empty_contexts", "questions": 3, "before": 3, "after": 3}


def test_a_canary_that_watches_nothing_is_refused(fleet: Inside) -> None:
    """No probes at all; none for some of a wave; none that is answered. Nothing is written."""
    wish(fleet, acme=HARMLESS, bolt=HARMLESS)
    fleet.write("tenants/bolt.yaml", f"tenant: bolt\nknobs: {{{HARMLESS}}}\n")
    before = state(fleet)
    some = fleet("apply", "--canary", "2", *NOW)
    assert some.code == 6
    assert some.err == (
        "refused: no probe questions for 1 of the 2 tenants of wave 1, canary 2 (bolt); a wave that watches nothing"
        " is none.\n"
        "  Nothing was written. Add questions for them to the fleet's probes, or take no more tenants than have"
        " some: --canary 1\n"
    )
    fleet.write("probes/q.jsonl", '{"question": "x", "relevant": ["nowhere"]}\n')
    none = fleet("apply", "--canary", "1", *NOW)
    assert (none.code, "no question of wave 1 is answered now" in none.err) == (6, True)
    fleet.write("fleet.yaml", "fleet: default\n")
    assert fleet("apply", "--canary", "1", *NOW).code == 6
    assert state(fleet) == before
    assert fleet("apply", "--canary", "1", *NOW, "--dry-run").code == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no question"),
        ('{"question": ""}\n', "probes/q.jsonl:1 must be an object with a question"),
        ("{\n", "probes/q.jsonl:1 is no JSON"),
        ('\n{"question": "x", "relevant": "y"}\n', "probes/q.jsonl:2: relevant must be a list"),
        ('{"question": "x", "answerable": false}\n', "holds no question"),
    ],
)
def test_questions_that_cannot_be_read_stop_it(fleet: Inside, text: str, words: str) -> None:
    """Unreadable input: 4, with its place."""
    wish(fleet, acme=HARMLESS)
    fleet.write("probes/q.jsonl", text)
    result = fleet("apply", "--canary", "1", *NOW)
    assert (result.code, words in result.err) == (4, True), result.err


def test_an_engine_that_answers_no_questions_is_refused(inside: Inside) -> None:
    """The given two methods alone: nothing can be watched, nothing is written."""
    inside.write("knobctl.toml", "")
    inside.write("probes/q.jsonl", '{"question": "x"}\n')
    inside.write("fleet.yaml", "fleet: default\nprobes: [{questions: probes/q.jsonl}]\n")
    wish(inside, acme=HARMLESS)
    with GivenEngine() as engine:
        inside.write("token", "acme-token")
        result = inside(
            "apply", "--canary", "1", "--yes", "--engine", engine.url, "--token-file", "token"
        )
    assert result.code == 6, result.err
    assert "a canary asks questions before and after" in result.err


def test_a_dry_run_shows_the_waves_and_what_they_would_come_to(fleet: Inside) -> None:
    """The planned sets are asked without being written."""
    wish(fleet, acme=HARMLESS, bolt=SILENT)
    before = state(fleet)
    options = ("--canary", "1", "--canary", "2", "--dry-run", *ENGINE)
    result = fleet("apply", *options)
    assert result.code == 0
    assert result.out.splitlines()[-6:] == [
        "simulated: the probes were asked under the planned sets, nothing was written",
        "wave 1  canary 1  would hold           below_threshold 0 -> 0 of 3, 0 of 3 answers lost, empty contexts 0 -> 0 of 3",
        "wave 2  canary 2  would be taken back  below_threshold 0 -> 3 of 3, 3 of 3 answers lost, empty contexts 0 -> 3 of 3",
        "  bolt: 3 of 3 answers lost (100% worse, bound 2%)",
        "comes to: stopped in wave 2; 2 tenants written and taken back",
        "dry run: nothing was written",
    ]
    answer = pushed(fleet, *options, code=0)
    assert sorted(one["verdict"] for one in answer["rollout"]["waves"]) == ["held", "worse"]
    assert state(fleet) == before


@pytest.mark.parametrize("waves", [("--canary", "1"), ("--wave", "region=a")])
def test_a_plan_file_goes_in_waves_too(fleet: Inside, waves: tuple[str, ...]) -> None:
    """As any other push; the plan knows the labels."""
    labelled(fleet, acme=f"a: {SILENT}", bolt=f"b: {SILENT}")
    assert fleet("plan", "-o", "p.json", *ENGINE).code == 0
    answer = pushed(fleet, "p.json", *waves, *NOW, code=11)
    assert sorted(outcomes(answer).values()) == ["rolled_back", "skipped"]


def labelled(inside: Inside, **regions: str) -> None:
    """Let tenants' files ask for sets: by tenant, its region and its knobs."""
    for tenant, said in regions.items():
        region, lines = said.split(": ", 1)
        inside.write(
            f"tenants/{tenant}.yaml",
            f"tenant: {tenant}\nlabels: {{tier: a, region: {region}}}\nknobs: {{{lines}}}\n",
        )


def test_waves_go_by_label(fleet: Inside) -> None:
    """In the order given, each watched; what has none of the labels comes after them."""
    labelled(
        fleet,
        acme=f"us: {HARMLESS}",
        bolt=f"eu: {HARMLESS}",
        cork=f"eu: {HARMLESS}",
        delta=f"asia: {SILENT}",
    )
    waves = ("--wave", "region=eu", "--wave", "region=us", "--wave", "region=mars")
    told = pushed(fleet, *waves, *NOW, code=0)["rollout"]
    assert [(one["name"], one["tenants"], one["verdict"]) for one in told["waves"]] == [
        ("region=eu", ["bolt", "cork"], "held"),
        ("region=us", ["acme"], "held"),
    ]
    assert (told["wave"], told["nobody"], told["rest"]) == (list(waves[1::2]), ["region=mars"], 1)
    assert fleet.live("delta") == {"no_match_min_cosine": 0.99}


def test_a_wave_by_label_takes_the_earlier_ones_back(fleet: Inside) -> None:
    """With a canary before it, of its own tenants; the last region is never touched."""
    labelled(
        fleet,
        acme=f"us: {SILENT}",
        bolt=f"eu: {HARMLESS}",
        cork=f"eu: {HARMLESS}",
        delta=f"asia: {HARMLESS}",
    )
    before = state(fleet)
    waves = ("--canary", "1", "--wave", "region=eu", "--wave", "region=us")
    answer = pushed(fleet, *waves, *NOW, code=11)
    assert [(one["name"], one["verdict"]) for one in answer["rollout"]["waves"]] == [
        ("canary 1 of region=eu", "held"),
        ("region=eu", "held"),
        ("region=us", "worse"),
    ]
    assert outcomes(answer)["delta"] == "skipped"
    assert [knobs for knobs, _ in state(fleet).values()] == [knobs for knobs, _ in before.values()]


def test_a_label_that_nobody_has_watches_nothing(fleet: Inside) -> None:
    """Refused, for a misspelt label would write all at once; nothing is written."""
    labelled(fleet, acme=f"us: {HARMLESS}")
    result = fleet("apply", "--wave", "regoin=us", *NOW)
    assert result.code == 6
    assert result.err == (
        "refused: no tenant that changes has regoin=us: nothing would be watched.\n"
        "  Nothing was written. Name a label of tenants that change: --wave LABEL=VALUE\n"
    )


def test_a_wave_by_label_is_watched_by_those_of_its_tenants_that_have_probes(
    fleet: Inside,
) -> None:
    """Without any it is refused; with some it says how many."""
    labelled(fleet, acme=f"us: {HARMLESS}")
    fleet.write("tenants/bolt.yaml", f"tenant: bolt\nlabels: {{region: us}}\nknobs: {{{SILENT}}}\n")
    fleet.write("tenants/cork.yaml", f"tenant: cork\nlabels: {{region: eu}}\nknobs: {{{SILENT}}}\n")
    refused = fleet("apply", "--wave", "region=us", "--wave", "region=eu", *NOW)
    assert refused.code == 6
    assert "for 1 of the 1 tenant of wave 2, region=eu (cork)" in refused.err
    result = fleet("apply", "--wave", "region=us", *NOW)
    assert result.code == 0
    assert (
        "wave 1  region=us: 2 tenants (acme, bolt), 1 of them asked 3 questions, once" in result.out
    )
    assert "wave 1: 2 tenants written, 1 of them watched; asking 3 questions" in result.err


def test_no_more_tenants_of_a_wave_are_asked_than_is_said(fleet: Inside) -> None:
    """The same ones when it is resumed; every kind of change is among them before one comes twice."""
    labelled(
        fleet,
        acme=f"a: {HARMLESS}",
        bolt="a: rrf_k: 31",
        cork="a: mmr_lambda: 0.6",
        delta=f"b: {HARMLESS}",
    )
    waves = ("--wave", "region=a", "--watch", "2")
    run = died(fleet, *waves, *NOW, at=judged(1), noted=False)
    answer = pushed(fleet, "--resume", run["run"], *ENGINE, code=0)
    (told,) = answer["rollout"]["waves"]
    assert (answer["rollout"]["watch"], told["watched"], told["questions"]) == (2, 2, 6)
    assert len(told["tenants"]) == 3
    result = fleet("apply", "--resume", run["run"], *ENGINE)
    assert "nothing is left" in result.out


def test_a_simulation_says_when_it_would_stop_and_what_it_would_cost(fleet: Inside) -> None:
    """The waves after it are asked too; where all hold, the time of all bakes."""
    labelled(
        fleet,
        acme=f"a: {HARMLESS}",
        bolt=f"b: {SILENT}",
        cork=f"c: {SILENT}",
        delta=f"d: {HARMLESS}",
    )
    waves = [part for region in "abcd" for part in ("--wave", f"region={region}")]
    result = fleet("apply", *waves, "--dry-run", *ENGINE)
    said = [line.partition("  below")[0].rstrip() for line in result.out.splitlines()[-8:-1]]
    assert said == [
        "wave 1  region=a  would hold",
        "wave 2  region=b  would be taken back",
        "  bolt: 3 of 3 answers lost (100% worse, bound 2%)",
        "wave 3  region=c  not reached, worse",
        "  cork: 3 of 3 answers lost (100% worse, bound 2%)",
        "wave 4  region=d  not reached",
        "comes to: stopped in wave 2; 2 tenants written and taken back, 2 tenants never written",
    ]
    result = fleet("apply", "--wave", "region=a", "--dry-run", "--bake", "2h", *ENGINE)
    assert (
        "comes to: 1 tenant in 1 wave, watched for 2h in all; then 3 tenants, not watched"
        in result.out
    )


def moving(monkeypatch: pytest.MonkeyPatch, fleet: Inside, *tenants: str) -> None:
    """Let somebody else write some tenants just before this run does."""
    real, moved = EmbeddedEngine.replace, set[str]()

    def replace(self: EmbeddedEngine, tenant: str, *sent: Any, **options: Any) -> Receipt:
        if tenant in tenants and tenant not in moved:
            moved.add(tenant)
            with embedded(fleet.folder / "e.db") as other:
                write(other, tenant, {"rrf_k": 77})
        return real(self, tenant, *sent, **options)

    monkeypatch.setattr(EmbeddedEngine, "replace", replace)


def test_who_moved_is_left_out_of_a_wave_where_that_is_asked_for(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wave of which all had moved is passed over, and takes no other one back."""
    labelled(
        fleet,
        acme=f"a: {HARMLESS}",
        bolt=f"a: {HARMLESS}",
        cork=f"b: {HARMLESS}",
        delta=f"c: {HARMLESS}",
    )
    moving(monkeypatch, fleet, "bolt", "cork")
    waves = ("--wave", "region=a", "--wave", "region=b")
    answer = pushed(fleet, *waves, "--on-conflict", "skip", *NOW, code=9)
    assert [one["verdict"] for one in answer["rollout"]["waves"]] == ["held", "passed_over"]
    assert outcomes(answer) == {
        "acme": "applied",
        "bolt": "conflict",
        "cork": "conflict",
        "delta": "applied",
    }
    assert listed(fleet)["state"] == "finished"


def test_the_rest_is_not_written_where_no_wave_was(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every tenant of the waves had moved: nothing was watched, so nothing goes on."""
    labelled(fleet, acme=f"a: {HARMLESS}", delta=f"c: {HARMLESS}")
    moving(monkeypatch, fleet, "acme")
    answer = pushed(fleet, "--wave", "region=a", "--on-conflict", "skip", *NOW, code=7)
    assert outcomes(answer) == {"acme": "conflict", "delta": "skipped"}
    assert fleet.live("delta") == {}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--canary", "0"), "'0' is no size of a wave"),
        (("--canary", "0%"), "'0%' is no size of a wave"),
        (("--canary", "many"), "'many' is no size of a wave"),
        (("--canary", "1", "--bake", "ten"), "'ten' is no duration"),
        (("--canary", "1", "--max-worse", "2"), "'2' is no share"),
        (("--bake", "10m"), "--bake says nothing without --canary or --wave"),
        (("--watch", "1"), "--watch says nothing without --canary or --wave"),
        (("--canary", "1", "--watch", "0"), "0 is not in the range"),
        (("--max-worse", "1%"), "--max-worse says nothing without --canary or --wave"),
        (("--canary", "1", "--resume", "abc"), "a run is resumed as it was begun"),
        (("--wave", "region"), "'region'"),
        (("--wave", "ring=1", "--resume", "abc"), "a run is resumed as it was begun"),
    ],
)
def test_options_that_say_nothing_are_refused(
    inside: Inside, options: tuple[str, ...], words: str
) -> None:
    """Bad arguments: 2."""
    result = inside("apply", *options, *YES[:2], *ENGINE)
    assert (result.code, words in result.err) == (2, True), result.err


class Died(BaseException):
    """The process is gone."""


Records = Callable[[Mapping[str, Any]], bool]


def dying(monkeypatch: pytest.MonkeyPatch, at: Records, *, noted: bool = True) -> None:
    """Let the process be gone from a record of the journal on, whether it is still written or not."""

    class Dying(Journal):
        """Notes nothing any more from a record on."""

        dead = False

        def _append(self, *records: Mapping[str, Any]) -> None:
            for record in records:
                self._note(record)

        def _note(self, record: Mapping[str, Any]) -> None:
            if self.dead:
                raise Died
            self.dead = at(record)
            if noted or not self.dead:
                super()._append(record)
            if self.dead:
                raise Died

    monkeypatch.setattr(run_folder, "Journal", Dying)


def died(fleet: Inside, *arguments: str, at: Records, noted: bool = True) -> dict[str, Any]:
    """Apply until the process is gone; gives the run as it is listed then."""
    with pytest.MonkeyPatch().context() as during:
        dying(during, at, noted=noted)
        with pytest.raises(Died):
            fleet("apply", *arguments)
    return listed(fleet)


@pytest.mark.parametrize(
    ("at", "noted"),
    [
        (lambda one: one["kind"] == "taking_back", True),
        (lambda one: one["kind"] == "intent" and one["reason"].startswith("taken back"), True),
        (lambda one: one["kind"] == "outcome" and one["revision"] == "r3", False),
    ],
    ids=["begun", "intended", "written"],
)
def test_a_run_that_dies_while_it_takes_back_goes_on_with_that(
    fleet: Inside, at: Records, noted: bool
) -> None:
    """It is resumed backwards, and repeats nothing."""
    wish(fleet, acme=SILENT, bolt=SILENT)
    run = died(fleet, "--canary", "1", *NOW, at=at, noted=noted)
    assert (run["state"], run["left"]) == ("unfinished", 1)
    assert "left to be taken back" in fleet("runs").out
    shown = fleet("apply", "--resume", run["run"], "--dry-run", *ENGINE)
    assert (shown.code, "left to be taken back" in shown.out) == (0, True)
    answer = pushed(fleet, "--resume", run["run"], *ENGINE, code=11)
    (wave,) = [name for name, outcome in outcomes(answer).items() if outcome == "rolled_back"]
    assert (
        fleet.live(wave) == {"acme": {"rrf_k": 50, "mmr_lambda": 0.5}, "bolt": {"rrf_k": 50}}[wave]
    )
    assert len(fleet.events(wave)) == 3
    shown = fleet("runs", run["run"], "--format", "json")
    assert faults_of(shown.json, "output-runs.v1.schema.json") == []


def judged(number: int) -> Records:
    return lambda one: one["kind"] == "judged" and one["wave"] == number


def record(number: int) -> Records:
    seen = itertools.count(1)
    return lambda _: next(seen) == number


REGIONS = ("--wave", "region=a", "--wave", "region=b")


def test_a_run_that_dies_in_mid_bake_judges_its_waves_again(fleet: Inside) -> None:
    """The one that was found well once more, the other anew; then the rest, and nothing is repeated."""
    labelled(fleet, acme=f"a: {HARMLESS}", bolt=f"b: {HARMLESS}", cork=f"c: {HARMLESS}")
    run = died(fleet, *REGIONS, *NOW, at=judged(2), noted=False)
    assert (run["state"], run["left"]) == ("unfinished", 1)
    assert "1 tenant left, 1 written and to be judged again; to go on" in fleet("runs").out
    result = fleet("apply", "--resume", run["run"], *ENGINE)
    assert result.code == 0, result.err
    assert "asked 3 questions, once more: it was found well before" in result.out
    assert "wave 1: 1 tenant written; asking 3 questions, once more" in result.err
    assert "wave 2: 1 tenant written; asking 3 questions, once" in result.err
    assert (fleet.live("cork"), len(fleet.events("bolt"))) == ({"rrf_k": 30}, 2)
    assert listed(fleet)["state"] == "finished"


def test_a_wave_without_a_rest_is_judged_again_too(fleet: Inside) -> None:
    """All is written, and the run is not finished before it was found well."""
    labelled(fleet, acme=f"a: {HARMLESS}", bolt=f"b: {HARMLESS}")
    run = died(fleet, *REGIONS, *NOW, at=judged(2), noted=False)
    assert (run["state"], run["left"]) == ("unfinished", 0)
    answer = pushed(fleet, "--resume", run["run"], *ENGINE, code=0)
    assert [one["verdict"] for one in answer["rollout"]["waves"]] == ["held", "held"]
    assert listed(fleet)["state"] == "finished"
    assert "nothing is left" in fleet("apply", "--resume", run["run"], *ENGINE).out


def test_what_turns_out_worse_after_a_resume_goes_back_whole(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The waves before it and the tenants of its wave that the first attempt wrote, byte for byte."""
    labelled(
        fleet,
        acme=f"a: {HARMLESS}",
        bolt=f"b: {SILENT}",
        cork=f"b: {HARMLESS}",
        delta=f"c: {HARMLESS}",
    )
    before = state(fleet)

    def gone(tenant: str) -> None:
        if tenant != "acme":
            raise Died

    with monkeypatch.context() as during:
        asked_first(during, gone)
        with pytest.raises(Died):
            fleet("apply", *REGIONS, *NOW)
    run = listed(fleet)
    assert run["outcomes"] == {"applied": 3, "skipped": 1}
    answer = pushed(fleet, "--resume", run["run"], *ENGINE, code=11)
    assert outcomes(answer) == {
        "acme": "rolled_back",
        "bolt": "rolled_back",
        "cork": "rolled_back",
        "delta": "skipped",
    }
    assert [knobs for knobs, _ in state(fleet).values()] == [knobs for knobs, _ in before.values()]


def test_a_wave_that_was_well_and_is_not_any_more_takes_all_back(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked once more before anything is written."""
    labelled(fleet, acme=f"a: {HARMLESS}", bolt=f"b: {HARMLESS}", cork=f"c: {HARMLESS}")
    run = died(fleet, *REGIONS, *NOW, at=judged(2), noted=False)
    real = EmbeddedEngine.assemble

    def assemble(self: EmbeddedEngine, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        found = real(self, tenant, request)
        return {**found, "chunks": []} if tenant == "acme" else found

    monkeypatch.setattr(EmbeddedEngine, "assemble", assemble)
    answer = pushed(fleet, "--resume", run["run"], *ENGINE, code=11)
    assert [one["verdict"] for one in answer["rollout"]["waves"]] == ["worse", "not_begun"]
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "rolled_back", "cork": "skipped"}


def test_who_changed_a_wave_meanwhile_stops_its_resume(fleet: Inside) -> None:
    """7, with their change; left out where that is asked for, the others are judged and theirs stays."""
    labelled(fleet, acme=f"a: {HARMLESS}", bolt=f"a: {HARMLESS}", cork=f"c: {HARMLESS}")
    run = died(fleet, "--wave", "region=a", *NOW, at=judged(1), noted=False)
    fleet.hold("bolt", rrf_k=77)
    answer = pushed(fleet, "--resume", run["run"], *ENGINE, code=7)
    (theirs,) = [one for one in answer["tenants"] if one["outcome"] == "conflict"]
    assert (theirs["tenant"], theirs["message"]) == (
        "bolt",
        "it was changed since this run wrote it",
    )
    assert [one["after"] for one in theirs["changed_by_others"]] == [77]
    resume = ("--resume", run["run"], "--on-conflict", "skip", *ENGINE)
    answer = pushed(fleet, *resume, code=9)
    assert outcomes(answer) == {"acme": "applied", "bolt": "conflict", "cork": "applied"}
    assert fleet.live("bolt") == {"rrf_k": 77}
    assert listed(fleet)["state"] == "finished"


def test_probes_that_are_gone_stop_a_resume_in_waves(fleet: Inside) -> None:
    """Nothing goes on unwatched; the run can be taken back."""
    labelled(fleet, acme=f"a: {HARMLESS}", cork=f"c: {HARMLESS}")
    run = died(fleet, "--wave", "region=a", *NOW, at=judged(1), noted=False)
    fleet.write("fleet.yaml", "fleet: default\n")
    refused = fleet("apply", "--resume", run["run"], *ENGINE)
    assert (refused.code, "no probe questions for 1 of the 1 tenant of wave 1" in refused.err) == (
        6,
        True,
    )
    assert fleet("rollback", "--run", run["run"], "--no-file", *YES).code == 0
    assert fleet.live("acme") == {"rrf_k": 50, "mmr_lambda": 0.5}


@pytest.mark.slow
@pytest.mark.parametrize(("worse", "code"), [(HARMLESS, 0), (SILENT, 11)])
def test_a_rollout_that_dies_at_any_record_is_finished_by_a_resume(
    fleet: Inside, worse: str, code: int
) -> None:
    """Nobody is left with half a run; no write is made twice."""
    labelled(
        fleet,
        acme=f"a: {HARMLESS}",
        bolt=f"b: {worse}",
        cork=f"b: {HARMLESS}",
        delta=f"c: {HARMLESS}",
    )
    kept = shutil.copytree(fleet.folder, fleet.folder.with_name("kept"))
    began = state(fleet)
    for number in itertools.count(4):
        for noted in (False, True) if number > 4 else (True,):
            for file in fleet.folder.glob("e.db*"):
                file.unlink()
            for file in kept.glob("e.db*"):
                shutil.copy(file, fleet.folder)
            try:
                run = died(fleet, *REGIONS, *NOW, at=record(number), noted=noted)
            except pytest.fail.Exception:
                return
            answer = pushed(fleet, "--resume", run["run"], *ENGINE, code=code)
            for name, (knobs, events) in state(fleet).items():
                assert (knobs == began[name][0]) == (code == 11)
                written = {"applied": 1, "rolled_back": 2, "skipped": 0}[outcomes(answer)[name]]
                assert events == began[name][1] + written
    raise AssertionError


def lost_answers(
    monkeypatch: pytest.MonkeyPatch,
    tenant: str,
    *,
    arrives: bool,
    then: Callable[[], None] = lambda: None,
) -> None:
    """Let the answer to a tenant's write be lost; it arrives when that could not be established.

    Args:
        monkeypatch: Of the test.
        tenant: Whose.
        arrives: Whether the write arrives.
        then: What happens after it, and before anything is taken back.
    """
    real = EmbeddedEngine.replace
    late: list[Callable[[], object]] = []

    def replace(self: EmbeddedEngine, name: str, *sent: Any, **options: Any) -> Receipt:
        if name != tenant or options["reason"] != "why":
            return real(self, name, *sent, **options)
        late.append(lambda: real(self, name, *sent, **options))
        raise UnknownOutcomeError("the connection was cut")

    def take_back(*arguments: Any) -> Any:
        for send in late if arrives else ():
            send()
        then()
        return taking_back.take_back(*arguments)

    monkeypatch.setattr("knobctl.changes.read_back.READ_BACK_PAUSES_S", ())
    monkeypatch.setattr(EmbeddedEngine, "replace", replace)
    monkeypatch.setattr(rolling_out, "take_back", take_back)


@pytest.mark.parametrize(("arrives", "events"), [(True, 3), (False, 2)])
def test_a_write_of_which_nothing_is_known_is_taken_back_too(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch, arrives: bool, events: int
) -> None:
    """Whether it arrived or not; one that is still on its way finds another revision."""
    wish(fleet, acme=HARMLESS, bolt=HARMLESS)
    lost_answers(monkeypatch, "bolt", arrives=arrives)
    answer = pushed(fleet, "--canary", "2", *NOW, code=11)
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "rolled_back"}
    assert answer["rollout"]["taken_back"] == "wave 1 was not written whole: bolt is unknown"
    assert fleet.live("bolt") == {"rrf_k": 50}
    assert len(fleet.events("bolt")) == events


def test_what_cannot_be_found_out_is_taken_back_by_a_resume(
    fleet: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 while the tenant cannot be read; its earlier set once it can."""
    wish(fleet, acme=HARMLESS, bolt=HARMLESS)
    real = EmbeddedEngine.read

    def read(self: EmbeddedEngine, tenant: str) -> LiveSet:
        if tenant == "bolt":
            raise EngineError("no answer")
        return real(self, tenant)

    with monkeypatch.context() as during:
        lost_answers(
            during,
            "bolt",
            arrives=True,
            then=lambda: during.setattr(EmbeddedEngine, "read", read),
        )
        answer = pushed(fleet, "--canary", "2", *NOW, code=10)
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "unknown"}
    run = listed(fleet)
    assert (run["state"], run["left"]) == ("unfinished", 1)
    assert fleet.live("bolt") == {"rrf_k": 30}
    answer = pushed(fleet, "--resume", run["run"], *ENGINE, code=11)
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "rolled_back"}
    assert fleet.live("bolt") == {"rrf_k": 50}


@pytest.mark.slow
def test_a_bake_that_is_killed_is_resumed(fleet: Inside) -> None:
    """SIGKILL, nothing noted after the write: judged again with its whole bake, then the rest."""
    wish(fleet, acme=HARMLESS, bolt=HARMLESS)
    command = [sys.executable, "-c", "from knobctl.cli.main import main; main()", "apply"]
    with subprocess.Popen(
        [*command, "--canary", "1", "--bake", "3s", *YES],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stderr
        assert "asking 3 questions, every 30 s for 3s" in process.stderr.readline()
        process.kill()
    run = listed(fleet)
    assert (run["state"], run["outcomes"]) == ("unfinished", {"applied": 1, "skipped": 1})
    answer = pushed(fleet, "--resume", run["run"], *ENGINE, code=0)
    assert answer["rollout"]["waves"][0]["rounds"] == 2
    assert set(outcomes(answer).values()) == {"applied"}
    assert len(fleet.events("acme")) + len(fleet.events("bolt")) == 4


@pytest.mark.slow
def test_a_bake_that_is_interrupted_leaves_what_is_written_and_says_how_to_go_on(
    fleet: Inside,
) -> None:
    """Nothing is begun after it; the rest is not written unwatched; another apply goes on with a canary."""
    wish(fleet, acme=HARMLESS, bolt=HARMLESS)
    command = [sys.executable, "-c", "from knobctl.cli.main import main; main()", "apply"]
    with subprocess.Popen(
        [*command, "--canary", "1", "--bake", "1h", *YES],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stderr
        assert process.stdout
        assert "asking 3 questions, every 30 s for 1h" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said, out = process.stderr.read(), process.stdout.read()
    assert process.returncode == 9
    assert "wave 1  interrupted" in out
    assert "undo: knobctl rollback" in out
    run = listed(fleet)
    assert (run["state"], run["outcomes"]) == ("unfinished", {"applied": 1, "skipped": 1})
    assert f"To go on, which judges it again first: knobctl apply --resume {run['run']}" in said
    assert "1 tenant left, 1 written and to be judged again; to go on" in fleet("runs").out
    answer = pushed(fleet, "--canary", "1", *NOW, code=0)
    assert sorted(outcomes(answer).values()) == ["applied", "unchanged"]


def test_an_emergency_stop_in_mid_bake_ends_it_within_a_second(fleet: Inside) -> None:
    """What is written stays and is judged again by who goes on; nothing is begun after it."""
    wish(fleet, acme=HARMLESS, bolt=HARMLESS)
    told: list[float] = []

    def stop() -> None:
        folder = fleet.folder.parent / "home" / "state" / "knobctl"
        while not any(b'"kind": "outcome"' in one.read_bytes() for one in folder.glob("runs/*")):
            time.sleep(0.01)
        time.sleep(0.2)
        (folder / "stop").touch()
        told.append(time.monotonic())

    meanwhile = threading.Thread(target=stop)
    meanwhile.start()
    result = fleet("apply", "--canary", "1", "--bake", "1h", "--format", "json", *YES)
    ended = time.monotonic()
    meanwhile.join()
    assert (result.code, faults_of(result.json, SCHEMA)) == (9, [])
    assert ended - told[0] < 1
    assert result.json["outcomes"] == {"applied": 1, "skipped": 1}
    assert [one["verdict"] for one in result.json["rollout"]["waves"]] == ["interrupted"]
    assert fleet("apply", "--resume", result.json["run"], *ENGINE).code == 6
    fleet("runs", "--lift")
    answer = pushed(fleet, "--canary", "1", *NOW, code=0)
    assert sorted(outcomes(answer).values()) == ["applied", "unchanged"]


@pytest.mark.slow
def test_two_hundred_tenants_stop_in_the_second_wave_and_are_back_as_they_were(
    inside: Inside,
) -> None:
    """A floor that refuses three questions of ten: every touched tenant holds what it held, the others were not touched."""
    subjects = (
        *("approval gates", "monday soup", "billing cycles", "search ranking", "audit events"),
        *("token rotation", "disk quotas", "holiday freezes", "rate limits", "backup windows"),
    )
    names = [f"t{number:03}" for number in range(200)]
    services = open_services("embedded:e.db", load_catalogue(), clock=lambda: datetime.now(UTC))
    assert services.ingest is not None
    texts = [Text(document_id=one, text=f"All about {one}.") for one in subjects]
    for name in names:
        services.ingest.upsert(local_caller("test"), name, texts)
    services.close()
    asked = [
        f"What about {one}{', and what else' * number}?" for number, one in enumerate(subjects)
    ]
    inside.write("knobctl.toml", "")
    inside.write("q.jsonl", "".join(f"{json.dumps({'question': one})}\n" for one in asked))
    inside.write("fleet.yaml", "fleet: default\nprobes: [{questions: q.jsonl}]\n")
    with embedded(inside.folder / "e.db") as engine:
        for name in names:
            write(engine, name, {"rrf_k": 50, "no_match_min_cosine": 0.01})
        found = engine.evaluate("t000", {"config": {}, "queries": asked})["evaluations"]
    best = sorted(one["bestCosine"] for one in found)
    refusing_three = f"{(best[2] + best[3]) / 2:.6f}"

    def wishes(bad: set[str]) -> None:
        for name in names:
            floor = refusing_three if name in bad else "0.02"
            knobs = f"rrf_k: 50, no_match_min_cosine: {floor}"
            inside.write(f"t/{name}.yaml", f"tenant: {name}\nknobs: {{{knobs}}}\n")

    waves = ("--canary", "5%", "--canary", "20%")
    wishes(set())
    dry = pushed(inside, *waves, "--dry-run", *ENGINE, code=0)["rollout"]["waves"]
    assert [len(one["tenants"]) for one in dry] == [10, 30]
    second = dry[1]["tenants"]
    wishes(set(second))
    before = inside("get", "--format", "json", *ENGINE).json["tenants"]
    answer = pushed(inside, *waves, *NOW, code=11)
    told = answer["rollout"]["waves"]
    assert [(one["tenants"], one["verdict"]) for one in told] == [
        (dry[0]["tenants"], "held"),
        (second, "worse"),
    ]
    assert told[1]["metrics"][1] == {
        "metric": "answers_lost",
        "questions": 300,
        "before": 0,
        "after": 90,
    }
    assert answer["outcomes"] == {"rolled_back": 40, "skipped": 160}
    touched = {*dry[0]["tenants"], *second}
    after = inside("get", "--format", "json", *ENGINE).json["tenants"]
    for old, new in zip(before, after, strict=True):
        assert json.dumps(new["knobs"]) == json.dumps(old["knobs"])
        assert (new["revision"] != old["revision"]) == (new["tenant"] in touched)
    events = inside("history", "--format", "json", *ENGINE).json["events"]
    assert len(events) == 200 + 2 * len(touched)
    assert inside("history", "--verify", *ENGINE).code == 0
