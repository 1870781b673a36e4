"""A fleet in files that is pushed, for tests: its sets, its runs, and the process that pushes it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knobctl.server.auth import Caller
from knobctl.server.knobs import KnobsService
from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of
from tests.cli.terminal import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

APPLY = ("apply", "t", "--yes", "--reason", "why", *ENGINE)
ANNA = Caller(subject="anna", clearance=4, tenants=None)
MAIN = (sys.executable, "-c", "from knobctl.cli.main import main; main()")
RUNS, APPLIED = "output-runs.v1.schema.json", "output-apply.v1.schema.json"


def fleet_of(inside: Inside, number: int) -> dict[str, dict[str, object]]:
    """Tenants in files, t000 and on; gives their sets."""
    sets: dict[str, dict[str, object]] = {}
    for index in range(number):
        name = f"t{index:03}"
        sets[name] = {"mmr_lambda": 0.25 + index / 1000, "rrf_k": index + 10}
        lines = "".join(f"  {knob}: {value}\n" for knob, value in sets[name].items())
        inside.write(f"t/{name}.yaml", f"tenant: {name}\nknobs:\n{lines}")
    return sets


def runs(inside: Inside) -> list[dict[str, Any]]:
    """The runs as the command lists them."""
    result = inside("runs", "--format", "json")
    assert (result.code, faults_of(result.json, RUNS)) == (0, [])
    found: list[dict[str, Any]] = result.json["runs"]
    return found


def folder_of(inside: Inside) -> Path:
    return inside.folder.parent / "home" / "state" / "knobctl" / "runs"


def live_sets(inside: Inside) -> dict[str, Any]:
    answer = inside("get", "--format", "json", *ENGINE).json
    return {one["tenant"]: one["knobs"] for one in answer["tenants"]}


def event_tenants(inside: Inside) -> list[str]:
    events = inside("history", "--format", "json", *ENGINE).json["events"]
    return sorted(event["tenant_id"] for event in events)


def is_whole(inside: Inside, sets: Mapping[str, object]) -> None:
    """Each tenant holds just its set, by exactly one event."""
    assert live_sets(inside) == sets
    assert event_tenants(inside) == sorted(sets)


def finish(inside: Inside, sets: Mapping[str, object], *, options: Sequence[str] = ()) -> None:
    """Resume the last run, see that each tenant was written once, and that nothing is left."""
    run = runs(inside)[0]["run"]
    result = inside("apply", "--resume", run, "--format", "json", *options, *ENGINE)
    assert result.code == 0, result.err
    assert (faults_of(result.json, APPLIED), result.json["run"]) == ([], run)
    assert sum(result.json["outcomes"].values()) == len(sets)
    is_whole(inside, sets)
    assert [(one["state"], one["left"]) for one in runs(inside)] == [("finished", 0)]


@contextmanager
def started(
    inside: Inside, *arguments: str, stdout: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """A command that runs in a process of its own."""
    process = subprocess.Popen(
        [*MAIN, *arguments],
        cwd=inside.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=stdout,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_record(inside: Inside, kind: bytes) -> None:
    """Wait until the only journal has a record of a kind."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if folder_of(inside).is_dir():
            for path in folder_of(inside).iterdir():
                if kind in path.read_bytes():
                    return
        time.sleep(0.005)
    raise AssertionError(kind)


def over_http(inside: Inside, service: KnobsService, address: str) -> tuple[str, ...]:
    token = service.new_token(ANNA)
    inside.write("token", f"{token}\n")
    url = address if "://" in address else f"http://{address}"
    return ("--engine", url, "--token-file", "token")
