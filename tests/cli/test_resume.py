"""`knobctl apply --resume`, `knobctl runs`: a run that was killed is finished, and nothing is done twice."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import Path

import pytest

from knobctl.knobs import load_catalogue
from knobctl.server.knobs import open_service
from tests.cli.fleets import (
    ANNA,
    APPLIED,
    APPLY,
    RUNS,
    event_tenants,
    finish,
    fleet_of,
    folder_of,
    is_whole,
    live_sets,
    over_http,
    runs,
    started,
    wait_for_record,
)
from tests.cli.inside import ENGINE, Inside
from tests.cli.killing import in_child, killed_at
from tests.cli.outputs import faults_of
from tests.given_engine import Fault, GivenEngine
from tests.server.doors import served

CATALOGUE = load_catalogue()
PLANNED = 300_000
"""Bytes: less than the plan of 500 tenants takes in a journal."""


@pytest.mark.parametrize("noted", [True, False], ids=["after it", "in place of it"])
def test_killed_at_each_record_the_run_is_finished(inside: Inside, noted: bool) -> None:
    """P08 in small; the large one is under slow. Each time with a fresh engine."""
    sets = fleet_of(inside, 3)
    record = 0
    while True:
        record += 1
        alive = not killed_at(inside, record, *APPLY, noted=noted)
        if alive:
            break
        assert all(knobs == sets[name] for name, knobs in live_sets(inside).items())
        if runs(inside):
            finish(inside, sets)
        else:
            assert record <= 2 + (not noted)
            assert live_sets(inside) == {}
        for path in (*folder_of(inside).iterdir(), *inside.folder.glob("e.db*")):
            path.unlink()
    assert record == 1 + 2 + 2 * len(sets) + 1


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("noted", [True, False], ids=["after it", "in place of it"])
def test_fifty_tenants_killed_at_every_record(inside: Inside, noted: bool) -> None:
    """P08: no mixed set, no second event, every tenant done; the figures are printed."""
    sets = fleet_of(inside, 50)
    record = kills = resumed = 0
    while killed_at(inside, record + 1, *APPLY, noted=noted):
        record += 1
        kills += 1
        assert all(knobs == sets[name] for name, knobs in live_sets(inside).items())
        if runs(inside):
            resumed += 1
            finish(inside, sets)
        for path in (*folder_of(inside).iterdir(), *inside.folder.glob("e.db*")):
            path.unlink()
    print(f"{kills} kills at {record} records, {resumed} resumed: 0 mixed, 0 twice, 0 left")
    assert record == 2 + 2 * len(sets) + 1


def test_a_resume_is_itself_resumed(inside: Inside) -> None:
    """Killed again and again, each time a record further."""
    sets = fleet_of(inside, 4)
    assert killed_at(inside, 4, *APPLY, noted=True)
    run = runs(inside)[0]["run"]
    attempts = 0
    while killed_at(inside, 4, "apply", "--resume", run, *ENGINE, noted=True):
        attempts += 1
    assert attempts > 0
    is_whole(inside, sets)
    assert runs(inside)[0]["state"] == "finished"


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_five_hundred_tenants_killed_at_random(inside: Inside) -> None:
    """P08: 300 kills at random times of applies and of their resumes; the figures are printed."""
    seed = int(os.environ.get("KNOBCTL_TEST_SEED", "20261130"))
    wanted = int(os.environ.get("KNOBCTL_TEST_KILLS", "300"))
    chance = random.Random(seed)
    sets = fleet_of(inside, 500)
    kills = rounds = 0
    while kills < wanted:
        rounds += 1
        arguments: tuple[str, ...] = APPLY
        while not lived(inside, chance.random(), *arguments):
            kills += 1
            arguments = ("apply", "--resume", runs(inside)[0]["run"], *ENGINE)
        is_whole(inside, sets)
        assert [one["state"] for one in runs(inside)] == ["finished"]
        for path in (*folder_of(inside).iterdir(), *inside.folder.glob("e.db*")):
            path.unlink()
    print(f"seed {seed}: {kills} kills in {rounds} applies: 0 mixed, 0 twice, 0 left")


def lived(inside: Inside, seconds: float, *arguments: str) -> bool:
    """Kill a command so long after its journal grew; whether it had ended by then."""
    before = sum(path.stat().st_size for path in folder_of(inside).glob("*"))
    with started(inside, *arguments) as process:
        while process.poll() is None:
            size = sum(path.stat().st_size for path in folder_of(inside).glob("*"))
            if size > (before or PLANNED):
                break
            time.sleep(0.01)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.kill()
        process.wait()
    assert process.returncode in {0, -signal.SIGKILL}
    return process.returncode == 0


def test_a_finished_run_says_so_and_writes_nothing(inside: Inside) -> None:
    """Asked again, it gives the verdict that it gave."""
    sets = fleet_of(inside, 2)
    answer = inside(*APPLY, "--format", "json").json
    run = answer["run"]
    again = inside("apply", "--resume", run, *ENGINE)
    assert (again.code, again.out) == (
        0,
        f"run {run} is finished: 2 applied; nothing is left to write\n",
    )
    is_whole(inside, sets)
    as_json = inside("apply", "--resume", run[:3], "--format", "json", *ENGINE)
    assert (as_json.code, faults_of(as_json.json, APPLIED)) == (0, [])
    assert as_json.json["outcomes"] == {"applied": 2}


def test_the_journal_names_each_write_ahead_of_it(inside: Inside) -> None:
    """With the set that was there before, so that it can be brought back."""
    inside.hold("t000", rrf_k=99)
    fleet_of(inside, 1)
    inside(*APPLY)
    raw = [path.read_bytes() for path in folder_of(inside).iterdir()]
    (mine,) = [one for one in raw if b'"why"' in one]
    head, plan, intent, outcome, end = mine.splitlines()
    assert b'"before": {"rrf_k": 99}' in intent
    assert b'"outcome": "applied"' in outcome
    assert b'"left": 0' in end
    assert b"t000" in plan
    assert b'"reason": "why"' in head


def test_a_fresh_apply_is_never_blocked_and_the_old_run_finds_its_work_done(inside: Inside) -> None:
    """Converging again writes only what differs; the unfinished journal then has nothing to write."""
    sets = fleet_of(inside, 5)
    assert killed_at(inside, 5, *APPLY, noted=True)
    old = runs(inside)[0]["run"]
    assert inside(*APPLY).code == 0
    is_whole(inside, sets)
    result = inside("apply", "--resume", old, "--format", "json", *ENGINE)
    assert result.code == 0, result.err
    is_whole(inside, sets)
    assert {one["state"] for one in runs(inside)} == {"finished"}


def test_what_somebody_else_changed_meanwhile_is_theirs(inside: Inside) -> None:
    """Their set stays; skipped on demand, the others are done, and the verdict is partial, ever after."""
    fleet_of(inside, 4)
    assert killed_at(inside, 3, *APPLY, "--parallelism", "1", noted=True)
    inside.hold("t003", rrf_k=77)
    run = next(one["run"] for one in runs(inside) if one["state"] == "unfinished")

    stopped = inside("apply", "--resume", run, *ENGINE)
    assert stopped.code == 7
    assert "1 tenant moved since the plan was made; nothing was written." in stopped.err
    assert inside.events("t001") == []

    done = inside("apply", "--resume", run, "--on-conflict", "skip", "--format", "json", *ENGINE)
    assert (done.code, done.json["outcomes"]) == (9, {"applied": 3, "conflict": 1})
    assert inside.live("t003") == {"rrf_k": 77}
    again = inside("apply", "--resume", run, *ENGINE)
    assert (again.code, again.out) == (
        9,
        f"run {run} is finished: 3 applied, 1 conflict; nothing is left to write\n",
    )


def test_the_write_in_flight_is_told_from_somebody_elses(inside: Inside) -> None:
    """Sent, not answered, and overwritten since: the engine knows our key, so it was applied once."""
    fleet_of(inside, 1)
    assert killed_at(inside, 4, *APPLY, noted=False)  # written, its outcome not noted
    run = runs(inside)[0]
    assert run["outcomes"] == {"unknown": 1}
    inside.hold("t000", rrf_k=77)
    result = inside("apply", "--resume", run["run"], "--format", "json", *ENGINE)
    assert result.code == 0, result.err
    (tenant,) = result.json["tenants"]
    assert (tenant["outcome"], tenant["revision"]) == ("applied", "r1")
    assert "changed again since" in tenant["message"]
    assert inside.live("t000")["rrf_k"] == 77
    assert len(inside.events("t000")) == 2


def test_guards_hold_for_what_is_left(inside: Inside) -> None:
    """A freeze, a protection and a limit that came since; what was acknowledged stays acknowledged."""
    sets = fleet_of(inside, 5)
    inside.write("knobctl.toml", "")
    fleet = "fleet: default\nlimits: {max_tenants: 1}\n"
    inside.write("fleet.yaml", fleet)
    assert killed_at(
        inside, 6, *APPLY, "--allow", "max_tenants=5", "--parallelism", "1", noted=True
    )
    run = runs(inside)[0]["run"]

    inside.write("fleet.yaml", fleet + "protected: [t004]\n")
    refused = inside("apply", "--resume", run, *ENGINE)
    assert (refused.code, "--allow protected=t004" in refused.err) == (6, True)
    assert "max_tenants" not in refused.err

    result = inside("apply", "--resume", run, "--allow", "protected=t004", *ENGINE)
    assert result.code == 0, result.err
    is_whole(inside, sets)
    reasons = {event["reason"] for event in inside.events("t004")}
    assert reasons == {"why [allowed: protected=t004, max_tenants=5]"}


def test_policies_hold_for_what_is_left(inside: Inside) -> None:
    """What they say today and did not say then stops it, as it stops a plan file."""
    fleet_of(inside, 3)
    inside.write("knobctl.toml", "")
    assert killed_at(inside, 4, *APPLY, noted=True)
    inside.write(
        "policy.yaml",
        "policy: no-small-k\ntitle: k\nseverity: error\nwhen: effective.rrf_k < 50\nat: rrf_k\nmessage: small\n"
        "examples: {pass: [{knobs: {rrf_k: 60}}], fail: [{knobs: {rrf_k: 40}}]}\n",
    )
    result = inside("apply", "--resume", runs(inside)[0]["run"], *ENGINE)
    assert (result.code, "no-small-k" in result.err) == (7, True)


def test_a_run_is_resumed_where_it_was_begun(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder, another engine, other tenants: refused before anything is read."""
    fleet_of(inside, 2)
    assert killed_at(inside, 3, *APPLY, noted=True)
    run = runs(inside)[0]["run"]
    assert inside("apply", "--resume", run, "--engine", "embedded:other.db").code == 2
    assert inside("apply", "t", "--resume", run, *ENGINE).code == 2
    assert inside("apply", "--resume", run, "--reason", "other", *ENGINE).code == 2
    assert inside("apply", "--resume", "ffff", *ENGINE).code == 2
    monkeypatch.chdir(inside.folder.parent)
    elsewhere = inside("apply", "--resume", run, *ENGINE)
    assert (elsewhere.code, str(inside.folder) in elsewhere.err) == (2, True)


def test_a_dry_run_of_a_resume_shows_what_is_left(inside: Inside) -> None:
    """And writes nothing, into the journal neither."""
    fleet_of(inside, 3)
    assert killed_at(inside, 3, *APPLY, noted=True)
    (path,) = folder_of(inside).iterdir()
    before = path.read_bytes()
    result = inside("apply", "--resume", path.stem, "--dry-run", *ENGINE)
    assert result.code == 0
    assert result.out.startswith("3 tenants: 3 change")
    assert path.read_bytes() == before
    assert live_sets(inside) == {}


def test_other_commands_that_write_can_be_resumed_too(inside: Inside) -> None:
    """set, unset, reset, edit, rollback go the same way; a file that was to be edited is named."""
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    set_ = ("set", "acme", "rrf_k=31", "--also-file", "--yes", *ENGINE)
    assert killed_at(inside, 3, *set_, noted=True)
    (run,) = runs(inside)
    assert (run["command"], run["state"]) == ("set", "unfinished")
    result = inside("apply", "--resume", run["run"], *ENGINE)
    assert result.code == 0, result.err
    assert inside.live() == {"rrf_k": 31}
    assert "note: acme.yaml was to be edited too" in result.err


def test_runs_says_how_to_go_on_and_back(inside: Inside) -> None:
    """Newest first; an unfinished one with the command that finishes it, one of them with its tenants."""
    assert inside("runs").out == "no runs\n"
    fleet_of(inside, 3)
    assert killed_at(inside, 6, *APPLY, "--parallelism", "1", noted=True)
    run = runs(inside)[0]["run"]
    listed = inside("runs").out.splitlines()
    assert listed[0].startswith(
        f"{run}  unfinished  apply to embedded:e.db  1 applied, 2 unknown  "
    )
    assert listed[1] == (
        f"  2 tenants left, 2 of them sent and not established; to go on, in {inside.folder}: "
        f"knobctl apply --resume {run} --engine embedded:e.db"
    )
    shown = inside("runs", run[:4]).out
    assert "reason: why\napplied  t000  r1  mmr_lambda, rrf_k\n" in shown
    assert shown.endswith(f"undo: knobctl rollback --run {run} --engine embedded:e.db\n")
    whole = inside("runs", run, "--format", "json").json
    assert faults_of(whole, RUNS) == []
    assert [one["outcome"] for one in whole["runs"][0]["tenants"]] == [
        "applied",
        "unknown",
        "unknown",
    ]


def test_a_damaged_journal_is_told_of_and_stops_nothing(inside: Inside) -> None:
    """Nothing of it is believed; the others are listed, and applying again works."""
    sets = fleet_of(inside, 2)
    assert killed_at(inside, 4, *APPLY, noted=True)
    (path,) = folder_of(inside).iterdir()
    path.write_bytes(path.read_bytes().replace(b"rrf_k", b"rrf_j", 1))
    listed = inside("runs")
    assert (listed.code, listed.out) == (0, "no runs\n")
    assert "is damaged: its checksum" in listed.err.replace("\n  ", " ")
    for arguments in (("runs", path.stem), ("apply", "--resume", path.stem, *ENGINE)):
        result = inside(*arguments)
        assert (result.code, "is damaged" in result.err) == (4, True)
    assert inside(*APPLY).code == 0
    assert live_sets(inside) == sets


def test_outside_text_in_a_journal_is_shown_escaped(inside: Inside) -> None:
    """A reason may hold what drives a terminal."""
    fleet_of(inside, 1)
    inside("apply", "t", "--yes", "--reason", "a\x1b[2Jb", *ENGINE)
    shown = inside("runs", runs(inside)[0]["run"]).out
    assert "\x1b" not in shown
    assert "reason: a" in shown


def test_the_clock_decides_nothing(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """P34: begun ten years ahead and resumed ten years back, it is the same run."""
    from knobctl.cli import session as rim

    class Off(datetime):
        years = 10

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Off:
            now = datetime.now(tz)
            return cls.fromisoformat(now.replace(year=now.year + cls.years, day=1).isoformat())

    monkeypatch.setattr(rim, "datetime", Off)
    sets = fleet_of(inside, 3)
    assert killed_at(inside, 5, *APPLY, noted=True)
    monkeypatch.setattr(Off, "years", -10)
    finish(inside, sets)


def test_a_disk_that_fills_up_stops_before_the_next_write(inside: Inside, tmp_path: Path) -> None:
    """P10: at any size, what was sent stands in the journal, and is finished when there is room."""
    sets = fleet_of(inside, 6)
    apply = ("apply", "t", "--yes", "--parallelism", "1")
    inside(*apply, *ENGINE)
    (path,) = folder_of(inside).iterdir()
    ends = [at + 1 for at, byte in enumerate(path.read_bytes()) if byte == ord("\n")]
    path.unlink()
    codes = []
    for limit in (0, 300, ends[0] + 50, ends[1] + 50, ends[5] + 50, ends[7] + 50, 2 * ends[-1]):
        store = f"embedded:{tmp_path / f'{limit}.db'}"
        service = open_service(store, CATALOGUE, clock=lambda: datetime.now(UTC))
        with closing(service), served(service) as address:
            engine = over_http(inside, service, address)
            limited = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit))
            code, said = in_child((*apply, *engine), limited)
            codes.append(code)
            assert not code or "File too large" in said
            written = {one.tenant for one in service.list(ANNA).items}
            (path,) = folder_of(inside).iterdir()
            noted = path.read_bytes()
            intent = '"intent", "tenant": "{}"'
            assert written <= {name for name in sets if intent.format(name).encode() in noted}
            run = runs(inside)
            if run:
                again = inside("apply", "--resume", run[0]["run"], *engine)
                assert again.code == 0, again.err
                assert runs(inside)[0]["state"] == "finished"
                assert len(service.audit_events(ANNA).items) == len(sets)
            else:
                assert (written, code) == (set(), 6)
            path.unlink()
    assert codes == [6, 6, 6, 6, 9, 9, 0]


def test_without_a_place_for_the_journal_nothing_is_sent(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P10: refused, with the cause and the way out."""
    fleet_of(inside, 2)
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    result = inside(*APPLY)
    assert result.code == 6
    assert "the journal of this run cannot be written: /dev/null/knobctl/runs/" in result.err
    assert "Not a directory" in result.err
    assert live_sets(inside) == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_a_signal_lets_the_writes_in_flight_finish(inside: Inside, number: signal.Signals) -> None:
    """What was sent is noted with what became of it; the rest is not begun, and a resume does it."""
    sets = fleet_of(inside, 60)
    with started(inside, *APPLY, "--parallelism", "1") as process:
        wait_for_record(inside, b'"kind": "outcome"')
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 9
    assert b"stopping: the writes in flight are finished, no other is begun" in said
    (run,) = runs(inside)
    assert run["outcomes"].keys() == {"applied", "skipped"}
    assert f"to go on: knobctl apply --resume {run['run']} --engine embedded:e.db" in said.decode()
    assert len(event_tenants(inside)) == run["outcomes"]["applied"]
    finish(inside, sets)


def test_two_applies_at_once_have_a_run_each(inside: Inside) -> None:
    """Whoever writes a tenant first has written it, the other one conflicts; both can be finished."""
    sets = fleet_of(inside, 20)
    with started(inside, *APPLY) as first, started(inside, *APPLY) as second:
        for process in (first, second):
            process.communicate(timeout=60)
            assert process.returncode in {0, 7, 9}
    assert len(runs(inside)) in {1, 2}  # the second may have found nothing to change
    for run in runs(inside):
        inside("apply", "--resume", run["run"], "--on-conflict", "skip", *ENGINE)
    assert {one["state"] for one in runs(inside)} == {"finished"}
    is_whole(inside, sets)


def test_a_run_that_is_under_way_is_not_resumed(inside: Inside) -> None:
    """Two processes never write one run; a fresh look at it is always possible."""
    fleet_of(inside, 60)
    with started(inside, *APPLY) as process:
        wait_for_record(inside, b'"kind": "outcome"')
        (path,) = folder_of(inside).iterdir()
        process.send_signal(signal.SIGSTOP)
        refused = inside("apply", "--resume", path.stem, *ENGINE)
        listed = runs(inside)
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=60)
    assert refused.code == 7
    assert "is under way in another process; nothing was written." in refused.err
    assert [one["state"] for one in listed] == ["unfinished"]
    assert process.returncode == 0


def test_without_revisions_a_write_that_reads_back_otherwise_stays_unknown(inside: Inside) -> None:
    """Nobody can tell whether it was stored wrong or somebody else wrote; "nothing written" would be a guess."""
    inside.write("token", "acme-token")
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 62, retrieval_min_score: 0.2}\n")
    with GivenEngine() as engine:
        place = ("--engine", engine.url, "--token-file", "token")
        engine.sets["acme"] = {"rrfK": 31}
        engine.fail(Fault.DROP_FIELD)
        assert inside("apply", "acme.yaml", "--yes", *place).code == 10
        run = runs(inside)[0]

        result = inside("apply", "--resume", run["run"], "--format", "json", *place)
        assert (result.code, result.json["outcomes"]) == (10, {"unknown": 1})
        assert faults_of(result.json, APPLIED) == []
        assert engine.writes() == 1
        assert runs(inside)[0]["state"] == "unfinished"
