"""Many writers on one file: threads and processes, one linear chain, nothing lost."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from knobctl.server.auth import Caller, local_caller
from knobctl.server.refusal import Code, ServiceError
from tests.engine.chains import broken_links
from tests.server.doors import OverHttp, RefusedError, every_event, served

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knobctl.server.knobs import KnobsService

ME = local_caller("anna")
KNOB = "assembly_token_budget"
"""A knob wide enough to count in: 256 to 200000."""


def count_up(service: KnobsService, rounds: int) -> None:
    """Add one to a counter that is kept in a knob, against the revision that was read."""
    done = 0
    while done < rounds:
        stored = service.get(ME, "acme")
        value = int(stored.knobs.get(KNOB, 999)) + 1
        try:
            service.update(ME, "acme", {KNOB: value}, expected_revision=stored.revision)
        except ServiceError as error:
            if error.code != Code.ABORTED:
                raise
        else:
            done += 1


COUNTING = """
import sys
from datetime import UTC, datetime
from knobctl.knobs import load_catalogue
from knobctl.server.knobs import open_service
from tests.server.test_concurrency import count_up
count_up(open_service(sys.argv[1], load_catalogue(), clock=lambda: datetime.now(UTC)), int(sys.argv[2]))
"""


def test_threads_lose_no_update(tmp_path: Path, open_at: Callable[..., KnobsService]) -> None:
    """Eight threads read, add one and write: the counter is the number of writes."""
    service = open_at(tmp_path / "engine.db")
    with ThreadPoolExecutor(8) as pool:
        for finished in [pool.submit(count_up, service, 25) for _ in range(8)]:
            finished.result()
    assert service.get(ME, "acme").knobs[KNOB] == 999 + 200


@pytest.mark.parametrize("writers", [4, pytest.param(16, marks=pytest.mark.slow)])
def test_processes_lose_no_update(
    tmp_path: Path, writers: int, open_at: Callable[..., KnobsService]
) -> None:
    """The same with processes; every write left one event, and the events are one chain."""
    path = tmp_path / "engine.db"
    service = open_at(path)
    rounds = 25
    command = [sys.executable, "-c", COUNTING, f"embedded:{path}", str(rounds)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(writers)]
    said = [process.communicate(timeout=250)[1].decode() for process in running]
    assert [process.returncode for process in running] == [0] * writers, said
    assert service.get(ME, "acme").knobs[KNOB] == 999 + writers * rounds
    events = service.audit_events(ME, page_size=1000).items
    assert len(events) == writers * rounds
    assert broken_links(events) == []


def write_often(service: KnobsService, actor: str, times: int) -> None:
    """Write without looking; where a busy store lets nobody in for long, again with the same key."""
    for number in range(times):
        key = f"{actor}-{number}"
        while True:
            try:
                service.update(
                    local_caller(actor), "acme", {"rrf_k": number + 1}, idempotency_key=key
                )
            except ServiceError as error:
                if error.code != Code.UNAVAILABLE:
                    raise
            else:
                break


WRITING = """
import sys
from datetime import UTC, datetime
from knobctl.knobs import load_catalogue
from knobctl.server.knobs import open_service
from tests.server.test_concurrency import write_often
service = open_service(sys.argv[1], load_catalogue(), clock=lambda: datetime.now(UTC))
write_often(service, sys.argv[2], int(sys.argv[3]))
"""


@pytest.mark.parametrize(
    "each", [100, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_sixteen_writers_make_one_chain(
    tmp_path: Path, each: int, open_at: Callable[..., KnobsService]
) -> None:
    """P12: eight threads here, eight processes there, so many unguarded writes each: one chain, no fork."""
    path = tmp_path / "engine.db"
    service = open_at(path)
    command = [sys.executable, "-c", WRITING, f"embedded:{path}"]
    running = [subprocess.Popen([*command, f"process {n}", str(each)]) for n in range(8)]

    with ThreadPoolExecutor(8) as pool:
        work = [pool.submit(write_often, service, f"thread {n}", each) for n in range(8)]
        for finished in work:
            finished.result()
    assert [process.wait(timeout=1000) for process in running] == [0] * 8
    events = every_event(service, ME)
    assert [event["revision"] for event in events] == [f"r{n + 1}" for n in range(16 * each)]
    assert broken_links(events) == []


def test_a_change_is_in_force_on_the_next_call_of_every_engine(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """Two engines on one file: what one has stored, the other answers, although it remembers sets."""
    one, other = open_at(tmp_path / "engine.db"), open_at(tmp_path / "engine.db")
    for number in range(1, 20):
        one.update(ME, "acme", {"rrf_k": number})
        assert other.get(ME, "acme").knobs == {"rrf_k": number}
        one, other = other, one


def test_a_repeated_key_writes_once_however_many_send_it(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """Eight retries at once: one event, one answer."""
    service = open_at(tmp_path / "engine.db")
    start = threading.Barrier(8)

    def send() -> str:
        start.wait()
        updated = service.update(ME, "acme", {"rrf_k": 7}, idempotency_key="k")
        return updated.stored.revision

    with ThreadPoolExecutor(8) as pool:
        revisions = [future.result() for future in [pool.submit(send) for _ in range(8)]]
    assert revisions == ["r1"] * 8
    assert len(service.audit_events(ME).items) == 1


def test_writers_over_http_lose_no_update(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """The guard is the engine's: eight clients of one port count right."""
    service = open_at(tmp_path / "engine.db")
    caller = Caller(subject="anna", clearance=4, tenants=frozenset(["acme"]))
    with served(service) as address:
        door = OverHttp(service, address)
        door.token(caller)

        def count(rounds: int) -> None:
            while rounds:
                stored = door.get(caller)
                config = {KNOB: stored.knobs.get(KNOB, 999) + 1}
                try:
                    door.update(caller, "acme", config, expected_revision=stored.revision)
                except RefusedError as error:
                    if error.code != "aborted":
                        raise
                else:
                    rounds -= 1

        with ThreadPoolExecutor(8) as pool:
            for finished in [pool.submit(count, 5) for _ in range(8)]:
                finished.result()
        assert door.get(caller).knobs == {KNOB: 999 + 40}
