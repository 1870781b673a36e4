"""A push in waves that ends early, by death, a signal or a lost answer: what is written is judged again or taken back."""

from __future__ import annotations

import itertools
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.changes import rolling_out, taking_back
from knobctl.engine.embedded import EmbeddedEngine
from knobctl.errors import EngineError, UnknownOutcomeError
from tests.cli.fleets import started
from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of
from tests.cli.rollouts import (
    HARMLESS,
    NOW,
    REGIONS,
    SCHEMA,
    SILENT,
    YES,
    Died,
    Records,
    asked_first,
    died,
    judged,
    labelled,
    listed,
    outcomes,
    pushed,
    state,
    wish,
)

if TYPE_CHECKING:
    from knobctl.engine.interface import LiveSet, Receipt


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
    probed: Inside, at: Records, noted: bool
) -> None:
    """It is resumed backwards, and repeats nothing."""
    wish(probed, acme=SILENT, bolt=SILENT)
    run = died(probed, "--canary", "1", *NOW, at=at, noted=noted)
    assert (run["state"], run["left"]) == ("unfinished", 1)
    assert "left to be taken back" in probed("runs").out
    shown = probed("apply", "--resume", run["run"], "--dry-run", *ENGINE)
    assert (shown.code, "left to be taken back" in shown.out) == (0, True)
    answer = pushed(probed, "--resume", run["run"], *ENGINE, code=11)
    (wave,) = [name for name, outcome in outcomes(answer).items() if outcome == "rolled_back"]
    assert (
        probed.live(wave) == {"acme": {"rrf_k": 50, "mmr_lambda": 0.5}, "bolt": {"rrf_k": 50}}[wave]
    )
    assert len(probed.events(wave)) == 3
    shown = probed("runs", run["run"], "--format", "json")
    assert faults_of(shown.json, "output-runs.v1.schema.json") == []


def record(number: int) -> Records:
    seen = itertools.count(1)
    return lambda _: next(seen) == number


def test_a_run_that_dies_in_mid_bake_judges_its_waves_again(probed: Inside) -> None:
    """The one that was found well once more, the other anew; then the rest, and nothing is repeated."""
    labelled(probed, acme=f"a: {HARMLESS}", bolt=f"b: {HARMLESS}", cork=f"c: {HARMLESS}")
    run = died(probed, *REGIONS, *NOW, at=judged(2), noted=False)
    assert (run["state"], run["left"]) == ("unfinished", 1)
    assert "1 tenant left, 1 written and to be judged again; to go on" in probed("runs").out
    result = probed("apply", "--resume", run["run"], *ENGINE)
    assert result.code == 0, result.err
    assert "asked 3 questions, once more: it was found well before" in result.out
    assert "wave 1: 1 tenant written; asking 3 questions, once more" in result.err
    assert "wave 2: 1 tenant written; asking 3 questions, once" in result.err
    assert (probed.live("cork"), len(probed.events("bolt"))) == ({"rrf_k": 30}, 2)
    assert listed(probed)["state"] == "finished"


def test_a_wave_without_a_rest_is_judged_again_too(probed: Inside) -> None:
    """All is written, and the run is not finished before it was found well."""
    labelled(probed, acme=f"a: {HARMLESS}", bolt=f"b: {HARMLESS}")
    run = died(probed, *REGIONS, *NOW, at=judged(2), noted=False)
    assert (run["state"], run["left"]) == ("unfinished", 0)
    answer = pushed(probed, "--resume", run["run"], *ENGINE, code=0)
    assert [one["verdict"] for one in answer["rollout"]["waves"]] == ["held", "held"]
    assert listed(probed)["state"] == "finished"
    assert "nothing is left" in probed("apply", "--resume", run["run"], *ENGINE).out


def test_what_turns_out_worse_after_a_resume_goes_back_whole(
    probed: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The waves before it and the tenants of its wave that the first attempt wrote, byte for byte."""
    labelled(
        probed,
        acme=f"a: {HARMLESS}",
        bolt=f"b: {SILENT}",
        cork=f"b: {HARMLESS}",
        delta=f"c: {HARMLESS}",
    )
    before = state(probed)

    def gone(tenant: str) -> None:
        if tenant != "acme":
            raise Died

    with monkeypatch.context() as during:
        asked_first(during, gone)
        with pytest.raises(Died):
            probed("apply", *REGIONS, *NOW)
    run = listed(probed)
    assert run["outcomes"] == {"applied": 3, "skipped": 1}
    answer = pushed(probed, "--resume", run["run"], *ENGINE, code=11)
    assert outcomes(answer) == {
        "acme": "rolled_back",
        "bolt": "rolled_back",
        "cork": "rolled_back",
        "delta": "skipped",
    }
    assert [knobs for knobs, _ in state(probed).values()] == [knobs for knobs, _ in before.values()]


def test_a_wave_that_was_well_and_is_not_any_more_takes_all_back(
    probed: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked once more before anything is written."""
    labelled(probed, acme=f"a: {HARMLESS}", bolt=f"b: {HARMLESS}", cork=f"c: {HARMLESS}")
    run = died(probed, *REGIONS, *NOW, at=judged(2), noted=False)
    real = EmbeddedEngine.assemble

    def assemble(self: EmbeddedEngine, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        found = real(self, tenant, request)
        return {**found, "chunks": []} if tenant == "acme" else found

    monkeypatch.setattr(EmbeddedEngine, "assemble", assemble)
    answer = pushed(probed, "--resume", run["run"], *ENGINE, code=11)
    assert [one["verdict"] for one in answer["rollout"]["waves"]] == ["worse", "not_begun"]
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "rolled_back", "cork": "skipped"}


def test_who_changed_a_wave_meanwhile_stops_its_resume(probed: Inside) -> None:
    """7, with their change; left out where that is asked for, the others are judged and theirs stays."""
    labelled(probed, acme=f"a: {HARMLESS}", bolt=f"a: {HARMLESS}", cork=f"c: {HARMLESS}")
    run = died(probed, "--wave", "region=a", *NOW, at=judged(1), noted=False)
    probed.hold("bolt", rrf_k=77)
    answer = pushed(probed, "--resume", run["run"], *ENGINE, code=7)
    (theirs,) = [one for one in answer["tenants"] if one["outcome"] == "conflict"]
    assert (theirs["tenant"], theirs["message"]) == (
        "bolt",
        "it was changed since this run wrote it",
    )
    assert [one["after"] for one in theirs["changed_by_others"]] == [77]
    resume = ("--resume", run["run"], "--on-conflict", "skip", *ENGINE)
    answer = pushed(probed, *resume, code=9)
    assert outcomes(answer) == {"acme": "applied", "bolt": "conflict", "cork": "applied"}
    assert probed.live("bolt") == {"rrf_k": 77}
    assert listed(probed)["state"] == "finished"


def test_probes_that_are_gone_stop_a_resume_in_waves(probed: Inside) -> None:
    """Nothing goes on unwatched; the run can be taken back."""
    labelled(probed, acme=f"a: {HARMLESS}", cork=f"c: {HARMLESS}")
    run = died(probed, "--wave", "region=a", *NOW, at=judged(1), noted=False)
    probed.write("fleet.yaml", "fleet: default\n")
    refused = probed("apply", "--resume", run["run"], *ENGINE)
    assert (refused.code, "no probe questions for 1 of the 1 tenant of wave 1" in refused.err) == (
        6,
        True,
    )
    assert probed("rollback", "--run", run["run"], "--no-file", *YES).code == 0
    assert probed.live("acme") == {"rrf_k": 50, "mmr_lambda": 0.5}


@pytest.mark.slow
@pytest.mark.parametrize(("worse", "code"), [(HARMLESS, 0), (SILENT, 11)])
def test_a_rollout_that_dies_at_any_record_is_finished_by_a_resume(
    probed: Inside, worse: str, code: int
) -> None:
    """Nobody is left with half a run; no write is made twice."""
    labelled(
        probed,
        acme=f"a: {HARMLESS}",
        bolt=f"b: {worse}",
        cork=f"b: {HARMLESS}",
        delta=f"c: {HARMLESS}",
    )
    kept = shutil.copytree(probed.folder, probed.folder.with_name("kept"))
    began = state(probed)
    for number in itertools.count(4):
        for noted in (False, True) if number > 4 else (True,):
            for file in probed.folder.glob("e.db*"):
                file.unlink()
            for file in kept.glob("e.db*"):
                shutil.copy(file, probed.folder)
            try:
                run = died(probed, *REGIONS, *NOW, at=record(number), noted=noted)
            except pytest.fail.Exception:
                return
            answer = pushed(probed, "--resume", run["run"], *ENGINE, code=code)
            for name, (knobs, events) in state(probed).items():
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
    probed: Inside, monkeypatch: pytest.MonkeyPatch, arrives: bool, events: int
) -> None:
    """Whether it arrived or not; one that is still on its way finds another revision."""
    wish(probed, acme=HARMLESS, bolt=HARMLESS)
    lost_answers(monkeypatch, "bolt", arrives=arrives)
    answer = pushed(probed, "--canary", "2", *NOW, code=11)
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "rolled_back"}
    assert answer["rollout"]["taken_back"] == "wave 1 was not written whole: bolt is unknown"
    assert probed.live("bolt") == {"rrf_k": 50}
    assert len(probed.events("bolt")) == events


def test_what_cannot_be_found_out_is_taken_back_by_a_resume(
    probed: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 while the tenant cannot be read; its earlier set once it can."""
    wish(probed, acme=HARMLESS, bolt=HARMLESS)
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
        answer = pushed(probed, "--canary", "2", *NOW, code=10)
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "unknown"}
    run = listed(probed)
    assert (run["state"], run["left"]) == ("unfinished", 1)
    assert probed.live("bolt") == {"rrf_k": 30}
    answer = pushed(probed, "--resume", run["run"], *ENGINE, code=11)
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "rolled_back"}
    assert probed.live("bolt") == {"rrf_k": 50}


@pytest.mark.slow
def test_a_bake_that_is_killed_is_resumed(probed: Inside) -> None:
    """SIGKILL, nothing noted after the write: judged again with its whole bake, then the rest."""
    wish(probed, acme=HARMLESS, bolt=HARMLESS)
    with started(probed, "apply", "--canary", "1", "--bake", "3s", *YES) as process:
        assert process.stderr
        assert b"asking 3 questions, every 30 s for 3s" in process.stderr.readline()
    run = listed(probed)
    assert (run["state"], run["outcomes"]) == ("unfinished", {"applied": 1, "skipped": 1})
    answer = pushed(probed, "--resume", run["run"], *ENGINE, code=0)
    assert answer["rollout"]["waves"][0]["rounds"] == 2
    assert set(outcomes(answer).values()) == {"applied"}
    assert len(probed.events("acme")) + len(probed.events("bolt")) == 4


@pytest.mark.slow
def test_a_bake_that_is_interrupted_leaves_what_is_written_and_says_how_to_go_on(
    probed: Inside,
) -> None:
    """Nothing is begun after it; the rest is not written unwatched; another apply goes on with a canary."""
    wish(probed, acme=HARMLESS, bolt=HARMLESS)
    bake = ("apply", "--canary", "1", "--bake", "1h", *YES)
    with started(probed, *bake, stdout=subprocess.PIPE) as process:
        assert process.stderr
        assert b"asking 3 questions, every 30 s for 1h" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, said = (told.decode() for told in process.communicate())
    assert process.returncode == 9
    assert "wave 1  interrupted" in out
    assert "undo: knobctl rollback" in out
    run = listed(probed)
    assert (run["state"], run["outcomes"]) == ("unfinished", {"applied": 1, "skipped": 1})
    assert f"To go on, which judges it again first: knobctl apply --resume {run['run']}" in said
    assert "1 tenant left, 1 written and to be judged again; to go on" in probed("runs").out
    answer = pushed(probed, "--canary", "1", *NOW, code=0)
    assert sorted(outcomes(answer).values()) == ["applied", "unchanged"]


def test_an_emergency_stop_in_mid_bake_ends_it_within_a_second(probed: Inside) -> None:
    """What is written stays and is judged again by who goes on; nothing is begun after it."""
    wish(probed, acme=HARMLESS, bolt=HARMLESS)
    told: list[float] = []

    def stop() -> None:
        folder = probed.folder.parent / "home" / "state" / "knobctl"
        while not any(b'"kind": "outcome"' in one.read_bytes() for one in folder.glob("runs/*")):
            time.sleep(0.01)
        time.sleep(0.2)
        (folder / "stop").touch()
        told.append(time.monotonic())

    meanwhile = threading.Thread(target=stop)
    meanwhile.start()
    result = probed("apply", "--canary", "1", "--bake", "1h", "--format", "json", *YES)
    ended = time.monotonic()
    meanwhile.join()
    assert (result.code, faults_of(result.json, SCHEMA)) == (9, [])
    assert ended - told[0] < 1
    assert result.json["outcomes"] == {"applied": 1, "skipped": 1}
    assert [one["verdict"] for one in result.json["rollout"]["waves"]] == ["interrupted"]
    assert probed("apply", "--resume", result.json["run"], *ENGINE).code == 6
    probed("runs", "--lift")
    answer = pushed(probed, "--canary", "1", *NOW, code=0)
    assert sorted(outcomes(answer).values()) == ["applied", "unchanged"]
