"""Reads of knobs over HTTP against an empty method on the same server; writes against bare SQLite commits.

Run: python -m tests.benchmarks.serving [SECONDS]

Every ratio is of two things measured in turn in this one run. Both servers are connectrpc on hypercorn
with the same configuration, each in a process of its own; the client is one process with as many
keep-alive connections as it says, bytes written ahead.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypercorn.asyncio import serve

from knobctl.knobs import load_catalogue
from knobctl.server.auth import Caller
from knobctl.server.knobs import open_service
from knobctl.server.serving import answer_calls, hypercorn_config, listen
from knobctl.server.wire.knobs_service_connect import (
    ContextEngineKnobsConfigService,
    ContextEngineKnobsConfigServiceASGIApplication,
)
from knobctl.server.wire.knobs_service_pb import GetContextEngineKnobsConfigResponse
from tests.server.doors import SERVICE, knobs_alone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from connectrpc.request import RequestContext

    from knobctl.knobs import Catalogue

READS_FLOOR = 0.6
WRITES_FLOOR = 0.4
ROUNDS = 5
WRITES_A_ROUND = 200
CONNECTIONS = (1, 8)
ANNA = Caller(subject="anna", clearance=4, tenants=frozenset(["acme"]))
KNOBS = {"retrieval_min_score": 0.15, "retrieval_vector_top_k": 32, "rrf_k": 60}


class Empty(ContextEngineKnobsConfigService):
    """Answers Get with nothing."""

    async def get_context_engine_knobs_config(
        self, _request: Any, _ctx: RequestContext[Any, Any]
    ) -> GetContextEngineKnobsConfigResponse:
        return GetContextEngineKnobsConfigResponse()


async def _until_killed(ready: Connection, port: int) -> None:
    ready.send(port)
    await asyncio.Event().wait()


def serve_empty(ready: Connection) -> None:
    """The bar: no interceptor, no thread, no store."""
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    application = ContextEngineKnobsConfigServiceASGIApplication(Empty())
    asyncio.run(
        serve(
            application,
            hypercorn_config([listening]),
            shutdown_trigger=lambda: _until_killed(ready, port),
        )
    )


def serve_engine(ready: Connection, store: str) -> None:
    """The engine, on a store that holds the set."""
    service = open_service(store, load_catalogue(), clock=lambda: datetime.now(UTC))
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    asyncio.run(
        answer_calls(knobs_alone(service), [listening], until=lambda: _until_killed(ready, port))
    )


@contextmanager
def served(store: str) -> Iterator[tuple[str, str]]:
    """Serve a store in a process of its own; gives its URL and a token for all tenants."""
    with closing(open_service(store, load_catalogue(), clock=lambda: datetime.now(UTC))) as service:
        token = service.new_token(Caller(subject="anna", clearance=4, tenants=None))
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve_engine, args=(there, store), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}", token
    finally:
        server.kill()


async def calls_a_second(port: int, token: str, connections: int, seconds: float) -> float:
    """Call Get over and over on each connection; every answer must be 200."""
    sent = (
        f"POST /{SERVICE}/GetContextEngineKnobsConfig HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/json\r\nAuthorization: Bearer {token}\r\nContent-Length: 2\r\n\r\n"
    )
    request, end, done = sent.encode() + b"{}", time.perf_counter() + seconds, 0

    async def call() -> None:
        nonlocal done
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = re.search(rb"content-length: (\d+)", head)
            await (reader.readexactly(int(length[1])) if length else reader.readuntil(b"0\r\n\r\n"))
            done += 1
        writer.close()

    await asyncio.gather(*(call() for _ in range(connections)))
    return done / seconds


def reads(folder: Path, seconds: float) -> None:
    """Print how Get compares with the empty method."""
    store = f"embedded:{folder / 'engine.db'}"
    service = open_service(store, load_catalogue(), clock=lambda: datetime.now(UTC))
    service.update(ANNA, "acme", KNOBS)
    token = service.new_token(ANNA)
    service.close()
    context = multiprocessing.get_context("spawn")
    ports, servers = {}, []
    for name, target, more in (("empty", serve_empty, ()), ("engine", serve_engine, (store,))):
        ours, theirs = context.Pipe()
        servers.append(context.Process(target=target, args=(theirs, *more), daemon=True))
        servers[-1].start()
        ports[name] = ours.recv()
    for connections in CONNECTIONS:
        rates: dict[str, list[float]] = {"empty": [], "engine": []}
        for turn in range(ROUNDS + 1):
            for name, port in ports.items():
                rate = asyncio.run(calls_a_second(port, token, connections, seconds))
                if turn:
                    rates[name].append(rate)
        empty, engine = (statistics.median(rates[name]) for name in ("empty", "engine"))
        print(f"{connections} connection(s): empty {empty:.0f}/s, Get {engine:.0f}/s")
        print(
            _line(
                f"Get to an empty method, {connections} connection(s)", engine / empty, READS_FLOOR
            )
        )
    for server in servers:
        server.kill()


def writes(folder: Path, count: int) -> None:
    """Print how Update in the process compares with bare commits of the same rows into the same tables."""
    catalogue = load_catalogue()
    rates: dict[str, list[float]] = {"bare": [], "engine": []}
    service = open_service(
        f"embedded:{folder / 'writes.db'}", catalogue, clock=lambda: datetime.now(UTC)
    )
    open_service(
        f"embedded:{folder / 'bare.db'}", catalogue, clock=lambda: datetime.now(UTC)
    ).close()
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.execute("PRAGMA synchronous = FULL")
    for turn in range(ROUNDS + 1):
        start = time.perf_counter()
        for number in range(count):
            service.update(ANNA, "acme", {**KNOBS, "rrf_k": 1 + (turn * count + number) % 999})
        engine = count / (time.perf_counter() - start)
        with closing(sqlite3.connect(folder / "writes.db")) as written:
            events = written.execute(
                "SELECT tenant_id, revision, occurred_at, actor, event FROM config_audit_events"
                " ORDER BY sequence DESC LIMIT ?",
                (count,),
            ).fetchall()[::-1]
        rows = [(_set_row(catalogue, event), event) for event in events]
        start = time.perf_counter()
        for row, event in rows:
            _commit(bare, row, event)
        if turn:
            rates["engine"].append(engine)
            rates["bare"].append(count / (time.perf_counter() - start))
    service.close()
    bare.close()
    of_bare, of_engine = (statistics.median(rates[name]) for name in ("bare", "engine"))
    print(f"commits: bare {of_bare:.0f}/s, Update {of_engine:.0f}/s")
    print(_line("Update to bare SQLite commits", of_engine / of_bare, WRITES_FLOOR))


def _set_row(catalogue: Catalogue, row: tuple[Any, ...]) -> dict[str, Any]:
    tenant, revision, occurred_at, actor, text = row
    event = json.loads(text)
    own = {
        "tenant_id": tenant,
        "revision": revision,
        "updated_at": occurred_at,
        "updated_by": actor,
        "head_hash": event["hash"],
        "seal": event["hash"],
    }
    return own | {knob.name: event["after"].get(knob.name, knob.unset) for knob in catalogue}


def _commit(bare: sqlite3.Connection, row: dict[str, Any], event: tuple[Any, ...]) -> None:
    names = ", ".join(f'"{name}"' for name in row)
    kept = ", ".join(f'"{name}" = excluded."{name}"' for name in row)
    bare.execute("BEGIN IMMEDIATE")
    bare.execute(
        f"INSERT INTO context_engine_knobs ({names}) VALUES ({', '.join('?' * len(row))})"
        f" ON CONFLICT (tenant_id) DO UPDATE SET {kept}",
        [*row.values()],
    )
    bare.execute(
        "INSERT INTO config_audit_events (tenant_id, revision, occurred_at, actor, event)"
        " VALUES (?, ?, ?, ?, ?)",
        event,
    )
    bare.execute("COMMIT")


def _line(name: str, ratio: float, floor: float) -> str:
    return (
        f"{'holds' if ratio >= floor else 'FALLS SHORT':<12}{name}: {ratio:.3f} (at least {floor})"
    )


def main() -> None:
    """Print each ratio beside its limit."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    with tempfile.TemporaryDirectory() as name:
        reads(Path(name), seconds)
        writes(Path(name), WRITES_A_ROUND)


if __name__ == "__main__":
    main()
