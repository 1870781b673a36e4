"""The lock on a run's journal is a courtesy: without it, and with two that hold it, nothing is written twice."""

from __future__ import annotations

import fcntl
import multiprocessing
import sys
from typing import TYPE_CHECKING

import pytest

from knobctl.cli.edge import run
from tests.cli.fleets import APPLY, event_tenants, fleet_of, live_sets, runs
from tests.cli.inside import ENGINE, Inside
from tests.cli.killing import killed_at

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier


def resume_unlocked(number: str, at_once: Barrier, said: str) -> None:
    """Resume a run at the same time as another process, with a lock that everybody gets."""
    pytest.MonkeyPatch().setattr(fcntl, "flock", lambda *_: None)
    with open(said, "w", encoding="utf-8") as out:  # noqa: PTH123  the child's own
        sys.stdout = sys.stderr = out
        at_once.wait()
        sys.exit(int(run(["apply", "--resume", number, "--parallelism", "2", *ENGINE])))


@pytest.mark.parametrize("died_at", [3, 6, 9, 14])
def test_two_that_resume_a_run_at_once_write_each_tenant_once(inside: Inside, died_at: int) -> None:
    """P06: the engine's revisions and keys keep them apart, whatever the lock did."""
    sets = fleet_of(inside, 8)
    assert killed_at(inside, died_at, *APPLY, noted=True)
    number = runs(inside)[0]["run"]
    context = multiprocessing.get_context("fork")
    at_once = context.Barrier(2)
    processes = [
        context.Process(target=resume_unlocked, args=(number, at_once, f"said{one}"))
        for one in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    said = [inside.read(f"said{one}") for one in range(2)]
    assert "Traceback" not in "".join(said)
    assert "internal error" not in "".join(said)
    inside("apply", "t", "--yes", *ENGINE)
    assert live_sets(inside) == sets
    assert event_tenants(inside) == sorted(sets)
