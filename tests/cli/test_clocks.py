"""P34: a clock that is ten years off, or steps back, changes what is printed as a time and nothing else."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.clocks import clock_at, clock_in, this_year, year_at
from tests.cli.fleets import MAIN, fleet_of, is_whole, runs, wait_for_record
from tests.cli.inside import ENGINE, Inside
from tests.cli.serving import serving
from tests.cli.terminal import ROOT
from tests.given_engine import GET, Fault, GivenEngine
from tests.running import Knobctl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="libfaketime comes ready-made for Linux on x86-64 alone",
)
OF_TIME = frozenset(
    {"at", "made_at", "occurred_at", "changed_at", "started_at", "updated_at", "since"}
)
"""What an answer prints of the clock."""
OF_CHANCE = frozenset({"run", "event_id", "hash", "previous_hash", "head", "digest", "folder"})
"""What is different in any two runs, or sums up what is."""
FLEET = """
fleet: default
include: ["t/**"]
limits: {max_tenants: 10}
freeze: [{name: later, from: 2099-12-20T00:00:00Z, to: 2100-01-02T00:00:00Z}]
---
waiver: depth
rule: rank-constant-moves-depth
tenants: [t0, t1, t2]
reason: measured
approved_by: anna
expires: 2099-03-31
"""


def test_a_process_can_have_another_clock() -> None:
    """What these tests stand on."""
    assert year_at(clock_at("+10y")) in {this_year() + 10, this_year() + 9}
    assert year_at(clock_at("-10y")) in {this_year() - 10, this_year() - 9}


def timeless(answer: Any) -> Any:
    """An answer without what the clock and chance have to do with."""
    if isinstance(answer, dict):
        return {
            key: timeless(value) for key, value in answer.items() if key not in OF_TIME | OF_CHANCE
        }
    return [timeless(one) for one in answer] if isinstance(answer, list) else answer


WHY = ("--yes", "--reason", "why")
DAY = (
    (("apply", "."), 0),
    (("set", "t0", "mmr_lambda=0.5"), 0),
    (("drift", "."), 3),
    (("rollback", "t0"), 0),
    (("history", "--verify"), 0),
)
"""What an operator does with a fleet, and its exit codes."""
WEEK = (
    (("plan", ".", "-o", "p.json"), 0),
    (("apply", "p.json"), 0),
    (("apply", "p.json"), 7),
    (("set", "t0", "mmr_lambda=0.5"), 0),
    (("apply", "p.json"), 7),
    (("set", "t0", "mmr_lambda=0.25"), 0),
    *DAY,
    (("apply", "."), 0),
    (("pull", "--dry-run"), 0),
    (("get",), 0),
    (("check", "."), 0),
)


def answers(
    side: Knobctl | Inside, lines: Sequence[tuple[tuple[str, ...], int]], clocks: Sequence[str]
) -> Iterator[tuple[str, int, Any]]:
    """What each command answers under the next of some clocks; inside this process, under its own."""
    for number in range(3):
        side.write(f"t/t{number}.yaml", f"tenant: t{number}\nknobs: {{rrf_k: {30 + number}}}\n")
    side.write("fleet.yaml", FLEET)
    for number, (words, _) in enumerate((*lines, (("runs",), 0))):
        line: list[str] = [*words, "--format", "json"]
        line += WHY if words[0] in {"apply", "set", "rollback"} else ()
        line += (
            ("--parallelism", "1") if words[0] == "apply" else ()
        )  # so that events have one order
        line += ENGINE if words[0] not in {"check", "runs"} else ()
        if isinstance(side, Inside):
            result = side(*line)
        else:
            result = side(*line, **clock_at(clocks[number % len(clocks)]))
        yield " ".join(words), result.code, timeless(result.json) if result.out else result.err


@pytest.mark.parametrize(
    ("lines", "clocks"),
    [
        pytest.param(DAY, ("+10y", "-10y"), id="back and forth"),
        pytest.param(WEEK, ("-10y",), id="ten years behind", marks=pytest.mark.slow),
        pytest.param(WEEK, ("+10y",), id="ten years ahead", marks=pytest.mark.slow),
        pytest.param(WEEK, ("+10y", "-10y", "+0"), id="all of it", marks=pytest.mark.slow),
    ],
)
def test_under_another_clock_all_commands_answer_the_same(
    inside: Inside,
    tmp_path: Path,
    lines: Sequence[tuple[tuple[str, ...], int]],
    clocks: tuple[str, ...],
) -> None:
    """Plans, applies, conflicts, drift, rollback, the proof of the log, waivers, the order of runs."""
    folder = tmp_path / "elsewhere" / "work"
    folder.mkdir(parents=True)
    usual = list(answers(inside, lines, ()))
    other = list(answers(Knobctl(folder), lines, clocks))
    assert [code for _, code, _ in usual] == [*(code for _, code in lines), 0]
    for one, same in zip(other, usual, strict=True):
        assert one == same


def test_a_clock_that_steps_back_during_an_apply_changes_nothing(inside: Inside) -> None:
    """Twenty years, in the middle of the writes: each tenant once, and nothing of it is a wait."""
    sets = fleet_of(inside, 60)
    file = inside.folder.parent / "clock"
    file.write_text("+10y")
    process = subprocess.Popen(
        [*MAIN, "apply", "t", "--yes", "--reason", "why", "--rate", "200", *ENGINE],
        cwd=inside.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **clock_in(file)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        wait_for_record(inside, b'"kind": "outcome"')
        file.write_text("-10y")
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert b"60 applied, read back equal, 60 audit events" in said
    is_whole(inside, sets)
    events = inside("history", "--format", "json", "--verify", *ENGINE)
    assert events.code == 0
    years = {event["occurred_at"][:4] for event in events.json["events"]}
    assert len(years) == 2
    assert [one["state"] for one in runs(inside)] == ["finished"]
    assert inside("drift", "t", *ENGINE).code == 0


@pytest.mark.slow
def test_a_served_engine_whose_clock_steps_back_serves_on(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes go on, and a token that is taken away is refused within seconds, not in twenty years."""
    file = inside.folder.parent / "clock"
    file.write_text("+10y")
    sets = fleet_of(inside, 30)
    store = ("--store", "embedded:s.db")
    token = inside(
        "engine", "token", "--subject", "a", "--clearance", "L4", "--tenant", "*", *store
    )
    inside.write("token", token.out)
    for name, value in clock_in(file).items():
        monkeypatch.setenv(name, value)
    with serving(inside.folder, *store) as (_, url):
        engine = ("--engine", url, "--token-file", "token")
        push = ("apply", "t", "--yes", "--reason", "why", *engine)
        assert inside(*push).code == 0
        file.write_text("-10y")
        inside.write("t/t000.yaml", "tenant: t000\nknobs: {rrf_k: 99}\n")
        again = inside(*push)
        assert (again.code, "1 applied, 29 unchanged" in again.out) == (0, True), again.out
        events = inside("history", "--format", "json", "--verify", *engine)
        assert events.code == 0
        assert len(events.json["events"]) == len(sets) + 1
        assert len({event["occurred_at"][:4] for event in events.json["events"]}) == 2
        back = inside("rollback", "t000", "--no-file", "--yes", "--reason", "why", *engine)
        assert (back.code, "applied  t000  r3" in back.out) == (0, True), back.out
        with closing(sqlite3.connect(inside.folder / "s.db")) as connection, connection:
            connection.execute("DELETE FROM principals")
        time.sleep(6)
        assert inside("get", "t000", *engine).code == 8


@pytest.mark.parametrize("moment", ["2016-12-31T23:59:60Z", "9999-12-31T23:59:59Z", "soon", ""])
def test_a_time_that_no_clock_shows_is_shown_as_it_came(inside: Inside, moment: str) -> None:
    """A leap second, the end of all years, and none at all."""
    body = b'{"config": {"rrfK": 31}, "revision": "r1", "updatedBy": "anna", "updatedAt": "%s"}'
    inside.write("t.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    inside.write("token", "acme-token\n")
    with GivenEngine() as given:
        given.fail(Fault.BODY, method=GET, times=10, argument=body % moment.encode())
        engine = ("--engine", given.url, "--token-file", "token")
        shown = inside("get", "acme", "--format", "json", *engine)
        differs = inside("diff", "t.yaml", *engine)
    assert shown.json["tenants"][0]["knobs"] == {"rrf_k": 31}
    assert (differs.code, "change" in differs.out) == (0, True), differs.err
