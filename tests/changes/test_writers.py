"""Many processes that read, plan and write one tenant: no update is lost, whoever is paused in between."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from knobctl.changes.apply import Push, apply_plan
from knobctl.changes.outcomes import Outcome
from knobctl.changes.plan import plan_tenant
from knobctl.changes.run_folder import RunFolder
from knobctl.engine.embedded import open_embedded
from knobctl.knobs import load_catalogue

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from knobctl.changes.plan import TenantPlan
    from knobctl.engine.embedded import EmbeddedEngine

CATALOGUE = load_catalogue()
COUNTER = "recency_window_hours"
"""A knob that can count far."""


def opened(store: Path) -> EmbeddedEngine:
    return open_embedded(
        f"embedded:{store}", CATALOGUE, actor="anna", clock=lambda: datetime.now(UTC)
    )


def one_more(engine: EmbeddedEngine) -> TenantPlan:
    """The plan that adds one to what is there."""
    live = engine.read("counter")
    return plan_tenant(CATALOGUE, live, {COUNTER: int(live.knobs.get(COUNTER, 0)) + 1})


def carry_out(engine: EmbeddedEngine, plan: TenantPlan, folder: Path, run: str) -> Outcome:
    with closing(RunFolder(folder).new(run)) as journal:
        way = Push(
            engine=engine,
            catalogue=CATALOGUE,
            reason="",
            pause=time.sleep,
            journal=journal,
            parallelism=1,
        )
        (outcome,) = apply_plan([plan], way, lambda _: None)
    return outcome.outcome


def count_up(store: Path, number: int, rounds: int, told: Connection) -> None:
    """Add one so many times, and tell how often that went well and how often somebody was faster."""
    seen = {Outcome.APPLIED: 0, Outcome.CONFLICT: 0}
    with closing(opened(store)) as engine, tempfile.TemporaryDirectory() as folder:
        for round_ in range(rounds):
            seen[carry_out(engine, one_more(engine), Path(folder), f"{number}-{round_}")] += 1
    told.send((seen[Outcome.APPLIED], seen[Outcome.CONFLICT]))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("writers", "rounds"), [(3, 10), pytest.param(32, 2000 // 32 + 1, marks=pytest.mark.slow)]
)
def test_no_update_of_many_processes_is_lost(tmp_path: Path, writers: int, rounds: int) -> None:
    """P01: what was answered with success is counted, and nothing else."""
    store = tmp_path / "e.db"
    opened(store).close()
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe(duplex=False) for _ in range(writers)]
    processes = [
        context.Process(target=count_up, args=(store, number, rounds, told))
        for number, (_, told) in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    answers = [heard.recv() for heard, _ in pipes]
    for process in processes:
        process.join()
    for heard, told in pipes:
        heard.close()
        told.close()
    written, refused = (sum(numbers) for numbers in zip(*answers, strict=True))
    print(f"{writers} writers, {written + refused} rounds: {written} written, {refused} conflicts")
    assert written + refused == writers * rounds
    with closing(opened(store)) as engine:
        assert engine.read("counter").knobs == {COUNTER: written}
        assert len(list(engine.audit_events("counter"))) == written


def wait_and_write(store: Path, told: Connection, folder: Path) -> None:
    """Plan, say so, be paused, and write."""
    with closing(opened(store)) as engine:
        plan = one_more(engine)
        told.send("planned")
        told.poll(30)
        told.send(carry_out(engine, plan, folder, "late"))


def test_a_writer_that_was_paused_never_wins(tmp_path: Path) -> None:
    """P01: stopped between its look and its write, it finds somebody else's newer set, and leaves it."""
    store = tmp_path / "e.db"
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with closing(opened(store)) as engine:
        process = context.Process(target=wait_and_write, args=(store, theirs, tmp_path / "late"))
        process.start()
        assert process.pid
        assert ours.recv() == "planned"
        os.kill(process.pid, signal.SIGSTOP)
        ours.send("go on")
        assert carry_out(engine, one_more(engine), tmp_path / "ours", "ours") is Outcome.APPLIED
        os.kill(process.pid, signal.SIGCONT)
        assert ours.recv() is Outcome.CONFLICT
        process.join()
        assert engine.read("counter").knobs == {COUNTER: 1}
    ours.close()
    theirs.close()
