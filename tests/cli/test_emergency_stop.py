"""The emergency stop: `runs --stop`, `runs --lift`, and a file made by hand while an apply is under way."""

from __future__ import annotations

import fcntl
import os
import random
import threading
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.cli import stop_runs
from tests.cli.fleets import started, wait_for_record
from tests.cli.inside import ENGINE, Inside
from tests.cli.killing import killed_at
from tests.cli.outputs import faults_of
from tests.cli.terminal import on_terminal
from tests.given_engine import Fault, GivenEngine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUNS, APPLIED = "output-runs.v1.schema.json", "output-apply.v1.schema.json"
APPLY = ("apply", "t", "--yes", "--format", "json", *ENGINE)


def fleet_of(inside: Inside, number: int) -> None:
    """Tenants in files, t000 and on."""
    for index in range(number):
        inside.write(
            f"t/t{index:03}.yaml", f"tenant: t{index:03}\nknobs: {{rrf_k: {index + 10}}}\n"
        )


def state(inside: Inside) -> Path:
    return inside.folder.parent / "home" / "state" / "knobctl"


def listed(inside: Inside, *arguments: str) -> dict[str, Any]:
    """The answer of `runs`."""
    result = inside("runs", *arguments, "--format", "json")
    assert (result.code, faults_of(result.json, RUNS)) == (0, []), result.err
    found: dict[str, Any] = result.json
    return found


class Meanwhile(threading.Thread):
    """Does something once the journal of a run is on the disk and some time has passed."""

    def __init__(self, inside: Inside, do: Callable[[str], object], *, delay_s: float = 0) -> None:
        super().__init__()
        self.folder, self.do, self.delay_s = state(inside) / "runs", do, delay_s
        self.before = set(self.folder.glob("*.jsonl"))
        self.at = self.at_clock = 0.0
        self.start()

    def run(self) -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            for path in set(self.folder.glob("*.jsonl")) - self.before:
                if b'"kind": "intent"' in path.read_bytes():
                    time.sleep(self.delay_s)
                    self.do(path.stem)
                    self.at, self.at_clock = time.monotonic(), time.time()
                    return
            time.sleep(0.002)


def touch(inside: Inside) -> None:
    """What a person does who has nothing but a shell."""
    (state(inside) / "stop").touch()


def finish(inside: Inside, run: str, number: int) -> None:
    """Lift the stop, go on with the run, and see that each tenant has its set by one event."""
    inside("runs", "--lift")
    done = inside("apply", "--resume", run, "--format", "json", *ENGINE)
    assert done.code == 0, done.err
    events = inside("history", "--format", "json", *ENGINE).json["events"]
    assert sorted(one["tenant_id"] for one in events) == [f"t{n:03}" for n in range(number)]
    (entry,) = listed(inside, run)["runs"]
    assert (entry["state"], entry["left"]) == ("finished", 0)


def stopped_at_random(inside: Inside, chance: random.Random, number: int) -> tuple[float, float]:
    """Stop an apply at a random time, and finish it.

    Returns:
        Seconds from the file to the last event, and to the end of the command.
    """
    meanwhile = Meanwhile(inside, lambda _: touch(inside), delay_s=chance.uniform(0, 0.3))
    result = inside(*APPLY)
    ended = time.monotonic()
    meanwhile.join()
    assert faults_of(result.json, APPLIED) == []
    counts = result.json["outcomes"]
    assert result.code == (9 if counts.get("skipped") else 0), result.err
    assert set(counts) <= {"applied", "skipped"}
    events = inside("history", "--format", "json", *ENGINE).json["events"]
    assert len(events) == counts["applied"]
    last = max(datetime.fromisoformat(one["occurred_at"]).timestamp() for one in events)
    finish(inside, result.json["run"], number)
    return last - meanwhile.at_clock, ended - meanwhile.at


def test_a_file_stops_a_running_apply_within_a_second(inside: Inside) -> None:
    """P23: no write begins after those in flight; what is left is finished by a resume, nothing twice."""
    fleet_of(inside, 100)
    chance = random.Random(7)
    for _ in range(2):
        last, ended = stopped_at_random(inside, chance, 100)
        assert (last < 1, ended < 1) == (True, True)
        for path in inside.folder.glob("e.db*"):
            path.unlink()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_applies_stopped_at_random_times(inside: Inside) -> None:
    """P23: the figures are printed."""
    fleet_of(inside, 300)
    chance = random.Random(23)
    lags = []
    for _ in range(100):
        lags.append(stopped_at_random(inside, chance, 300))
        for path in inside.folder.glob("e.db*"):
            path.unlink()
    last, ended = max(lag for lag, _ in lags), max(lag for _, lag in lags)
    print(f"100 stops: last event {last:.3f} s, command ended {ended:.3f} s after the file at most")
    assert (last < 1, ended < 1) == (True, True)


def test_while_all_runs_are_stopped_none_begins(inside: Inside) -> None:
    """Every command that writes is refused, with the stop, the flag and how to lift it; a dry run is none."""
    fleet_of(inside, 2)
    assert listed(inside)["stopped_since"] is None
    since = listed(inside, "--stop")["stopped_since"]
    refused = inside(*APPLY)
    assert (refused.code, faults_of(refused.json, APPLIED)) == (6, [])
    assert refused.json["refusals"] == [
        {
            "guard": "stop",
            "message": f"all runs are stopped since {since} ({state(inside) / 'stop'}).",
            "allow": f"stop={since}",
            "remedy": "to let all runs begin again: knobctl runs --lift",
        }
    ]
    assert f"--allow stop={since}" in refused.err
    assert inside("set", "t000", "rrf_k=3", "--yes", *ENGINE).code == 6
    assert inside(*APPLY, "--dry-run").code == 0
    assert inside("plan", "t", "-o", "p.json", *ENGINE).code == 0
    assert inside("apply", "p.json", *ENGINE).code == 6
    assert inside("history", "--format", "json", *ENGINE).json["events"] == []
    assert inside("runs").out.startswith("all runs are stopped, ")
    assert inside("runs", "--lift").out.startswith("runs may begin again; they were stopped ")
    assert inside("runs", "--lift").out == "runs were not stopped\n"
    assert inside("apply", "p.json", *ENGINE).code == 0


def test_a_stop_is_acknowledged_by_its_time_and_no_other(inside: Inside) -> None:
    """To roll back in spite of it; a pipeline that says an old one is stopped all the same."""
    inside.hold(rrf_k=3)
    touch(inside)
    since = listed(inside)["stopped_since"]
    back = ("rollback", "acme", "--yes", *ENGINE)
    assert inside(*back, "--allow", "stop=2026-01-01T00:00:00Z").code == 6
    assert inside(*back, "--allow", f"stop={since}").code == 0
    assert inside.events()[-1]["reason"] == f"[allowed: stop={since}]"


def test_a_run_begun_in_spite_of_a_stop_is_stopped_by_another(inside: Inside) -> None:
    """Who stops twice means it."""
    fleet_of(inside, 150)
    inside("runs", "--stop")
    meanwhile = Meanwhile(inside, lambda _: touch(inside))
    os.utime(state(inside) / "stop", (1_700_000_000, 1_700_000_000))
    result = inside(*APPLY, "--allow", "stop=2023-11-14T22:13:20Z")
    meanwhile.join()
    assert result.code == 9, result.err
    finish(inside, result.json["run"], 150)


def test_one_run_is_stopped_and_the_others_are_not(inside: Inside) -> None:
    """By its name; the file goes with the run, and nothing is to be lifted."""
    fleet_of(inside, 150)
    answers: list[Any] = []

    def stop(run: str) -> None:
        # A process of its own would do the same; this one's streams belong to the apply.
        from knobctl.changes.stop_marks import StopMarks

        marks = StopMarks(state(inside))
        answers.append(marks.under_way())
        marks.stop(run)

    meanwhile = Meanwhile(inside, stop)
    result = inside(*APPLY)
    meanwhile.join()
    run = result.json["run"]
    assert (result.code, answers) == (9, [[run]])
    assert f"{run}.stop" in result.err.replace("\n", "")
    assert list((state(inside) / "runs").glob("*.stop")) == []
    assert inside("runs", "--stop", run[:6]).out.startswith(f"{run}  unfinished  ")
    assert listed(inside)["stopped_since"] is None
    finish(inside, run, 150)


def test_a_stop_that_a_killed_run_left_behind_stops_no_resume(inside: Inside) -> None:
    """Who goes on with a run wants it to go on; `apply -v` names it."""
    fleet_of(inside, 3)
    assert killed_at(inside, 5, "apply", "t", "--yes", *ENGINE, noted=True)
    (entry,) = listed(inside)["runs"]
    told = inside("apply", "t", "--dry-run", "-v", *ENGINE).err
    assert f"run {entry['run']}, " in told
    assert f"knobctl apply --resume {entry['run']} --engine embedded:e.db\n" in told
    assert entry["run"] not in inside("apply", "t", "--dry-run", *ENGINE).err
    (state(inside) / "runs" / f"{entry['run']}.stop").touch()
    finish(inside, entry["run"], 3)


def test_a_resume_says_what_its_run_lacked_and_nothing_else(inside: Inside) -> None:
    """A ticket that is demanded by now can be named; one that its events hold cannot be another."""
    fleet_of(inside, 3)
    assert killed_at(inside, 5, "apply", "t", "--yes", "--reason", "why", *ENGINE, noted=True)
    (entry,) = listed(inside)["runs"]
    resume = ("apply", "--resume", entry["run"], *ENGINE)
    refused = inside(*resume, "--reason", "other")
    assert (refused.code, "its reason is 'why'" in refused.err) == (2, True)
    assert inside(*resume, "--reason", "why", "--ticket", "OPS-7").code == 0
    reasons = {
        one["reason"] for one in inside("history", "--format", "json", *ENGINE).json["events"]
    }
    assert reasons <= {"why", "why [ticket: OPS-7]"}


def test_a_run_that_waits_for_its_engine_is_stopped_too(inside: Inside) -> None:
    """The engine says to come back in a minute; nobody waits that long for a stop."""
    inside.write("t/acme.yaml", "tenant: acme\nknobs: {rrf_k: 5}\n")
    inside.write("token", "acme-token\n").chmod(0o600)
    with GivenEngine() as engine:
        engine.fail(Fault.TOO_MANY, times=9, argument=60)
        meanwhile = Meanwhile(inside, lambda _: touch(inside), delay_s=0.3)
        result = inside(
            *("apply", "t", "--yes", "--format", "json"),
            *("--engine", engine.url, "--token-file", "token"),
        )
        ended = time.monotonic()
        meanwhile.join()
        assert (result.code, engine.sets) == (8, {})
    assert ended - meanwhile.at < 1


def test_the_other_terminal_is_told_what_was_stopped(inside: Inside) -> None:
    """`runs --stop` waits for the writes in flight and says how far the run came."""
    fleet_of(inside, 300)
    with started(inside, "apply", "t", "--yes", *ENGINE) as process:
        wait_for_record(inside, b'"kind": "outcome"')
        begun = time.monotonic()
        answer = inside("runs", "--stop")
        assert time.monotonic() - begun < 2
        assert process.wait(10) == 9
    head, run, left = answer.out.splitlines()
    assert head == (
        "all runs of this user on this machine are stopped, and none begins until: knobctl runs --lift"
    )
    assert "  unfinished  " in run
    assert "left; to go on, in " in left
    finish(inside, run.split()[0], 300)


def test_a_run_that_cannot_be_read_is_stopped_all_the_same(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its write does not end, its journal is damaged: the stop stands, and says so within its patience."""
    monkeypatch.setattr(stop_runs, "PATIENCE_S", 0.2)
    (state(inside) / "runs").mkdir(parents=True)
    journal = state(inside) / "runs" / "7b21e0c1.jsonl"
    journal.write_text("no record\n")
    with journal.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = inside("runs", "--stop", "7b2")
        assert (result.code, result.err.startswith("note: ")) == (0, True)
        assert journal.with_suffix(".stop").exists()
        assert inside("runs", "--stop").code == 0
    assert (state(inside) / "stop").exists()


def test_a_stop_while_a_person_is_asked_is_a_refusal(inside: Inside) -> None:
    """They say yes to what is stopped by then: nothing is written, 6, and the run can be gone on with."""
    fleet_of(inside, 2)
    with on_terminal(inside.folder, "apply", "t", *ENGINE) as terminal:
        terminal.expect("Push 2 tenants to embedded:e.db? [y/N]")
        listed(inside, "--stop")
        terminal.type("y\r")
        assert terminal.end() == 6
        assert "no other is begun" in terminal.shown
    assert inside("history", "--format", "json", *ENGINE).json["events"] == []
    (entry,) = listed(inside)["runs"]
    assert (entry["state"], entry["outcomes"]) == ("unfinished", {"skipped": 2})
    finish(inside, entry["run"], 2)


def test_lifting_goes_with_nothing_else(inside: Inside) -> None:
    """A stop and a lift in one line is neither."""
    assert inside("runs", "--stop", "--lift").code == 2
    assert inside("runs", "abc", "--lift").code == 2
    assert inside("runs", "--stop", "abc").code == 2
    assert inside("runs", "--stop", "").code == 2
