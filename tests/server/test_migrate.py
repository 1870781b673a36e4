"""Moving a store: whole or not at all, in every direction, byte for byte."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knobctl.errors import EngineError, RefusedError
from knobctl.knobs import Catalogue
from knobctl.server.auth import Caller, local_caller
from knobctl.server.candidates.milvus import MilvusCandidates
from knobctl.server.knobs import KnobsService
from knobctl.server.moving import move
from knobctl.server.store import open_store
from knobctl.server.store.moved import moved_tables
from tests.engine.chains import broken_links
from tests.running import Knobctl
from tests.server.conftest import STORES
from tests.server.corpora import IDENTITY, at_angle, chunk, unit, write
from tests.server.engine_processes import MAIN
from tests.server.services import Line, milvus, postgres_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.server.store.interface import Store

ME = local_caller("anna")
ODD = 'line\nfeed, "quotes", \\, \0 and \1'
CHUNKS = 1200
"""More than go at once."""


@pytest.fixture
def stores(tmp_path: Path, catalogue: Catalogue) -> Iterator[Any]:
    """Opens stores by their kind or URL, and closes them."""
    opened: list[Store] = []

    def open_(named: str) -> Store:
        url = STORES[named](tmp_path / f"{len(opened)}") if named in STORES else named
        if named == "sqlite":
            (tmp_path / f"{len(opened)}").mkdir()
        opened.append(open_store(url, catalogue))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


def service_on(store: Store, catalogue: Catalogue) -> KnobsService:
    return KnobsService(store, catalogue, clock=lambda: datetime.now(UTC), entropy=os.urandom)


def fill(store: Store, catalogue: Catalogue) -> str:
    """Put something of everything into a store, and give a token of it."""
    service = service_on(store, catalogue)
    service.update(ME, "acme", {"retrieval_min_score": 0.15, "rrf_k": 7}, reason=ODD)
    service.update(ME, "bolt", {"gate_mode": "DISABLED", "rrf_weight_vector": 1.0})
    service.update(ME, "acme", {"rrf_k": 8}, idempotency_key="once")
    token = service.new_token(Caller(subject=ODD, clearance=4, tenants=frozenset(["acme"])))
    with store.writing() as session:
        session.corpus.set_embedder(IDENTITY)
    many = [chunk(f"c{n:04}", f"text {n} {ODD}", vector=at_angle(n / 10)) for n in range(CHUNKS)]
    write(store, "acme", many)
    write(store, "acme", [chunk("c0003", "changed", metadata={"k": "v"})], removed=["c0007"])
    write(store, "bolt", [chunk("c0001", "another's")])
    return token


def content(store: Store, catalogue: Catalogue) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    with store.reading() as session:
        return {table.name: list(session.rows_of(table)) for table in moved_tables(catalogue)}


@pytest.mark.parametrize(
    "way",
    [
        ("sqlite", "postgresql"),
        ("postgresql", "sqlite"),
        ("sqlite", "sqlite"),
        ("postgresql", "postgresql"),
    ],
    ids=" to ".join,
)
def test_everything_arrives_as_it_was(
    stores: Any, way: tuple[str, str], catalogue: Catalogue
) -> None:
    """Rows are equal, events to the byte, numbers and versions included; the source keeps its own."""
    source, target = map(stores, way)
    token = fill(source, catalogue)
    before = content(source, catalogue)
    moved = move(source, target, catalogue)
    assert (moved.sets, moved.events, moved.principals) == (2, 3, 1)
    assert (moved.corpora, moved.chunks) == (2, CHUNKS)
    assert content(target, catalogue) == content(source, catalogue) == before
    with target.reading() as session, source.reading() as old:
        assert session.corpus.embedder() == IDENTITY
        assert session.corpus.version("acme") == 2
        assert session.corpus.changes("acme", after=1, limit=9) == old.corpus.changes(
            "acme", after=1, limit=9
        )
        assert session.store_id() != old.store_id()
    old_service, service = service_on(source, catalogue), service_on(target, catalogue)
    assert service.list(ME) == old_service.list(ME)
    assert service.authenticate(token).subject == ODD
    page = old_service.audit_events(ME, page_size=2)
    rest = service.audit_events(ME, page_token=page.next_page_token)
    assert [event["revision"] for event in (*page.items, *rest.items)] == ["r1", "r1", "r2"]


def test_life_goes_on_behind_it(stores: Any, catalogue: Catalogue) -> None:
    """The next event continues the chain and the numbers; a repeated request is still known."""
    source, target = stores("sqlite"), stores("postgresql")
    fill(source, catalogue)
    move(source, target, catalogue)
    service = service_on(target, catalogue)
    again = service.update(ME, "acme", {"rrf_k": 8}, idempotency_key="once")
    assert again.stored.revision == "r2"
    service.update(ME, "acme", {"rrf_k": 9}, expected_revision="r2")
    events = service.audit_events(ME, tenant="acme").items
    assert [event["revision"] for event in events] == ["r1", "r2", "r3"]
    assert broken_links(events) == []
    write(target, "acme", [chunk("new")])
    with target.reading() as session:
        assert session.corpus.version("acme") == 3


def test_it_may_go_back_and_forth(stores: Any, catalogue: Catalogue) -> None:
    """Through PostgreSQL and back into a file: nothing was lost on the way."""
    first, second, third = stores("sqlite"), stores("postgresql"), stores("sqlite")
    fill(first, catalogue)
    move(first, second, catalogue)
    move(second, third, catalogue)
    assert content(third, catalogue) == content(first, catalogue)


@pytest.mark.parametrize("kind", STORES)
def test_a_target_that_holds_something_is_refused(
    stores: Any, kind: str, catalogue: Catalogue
) -> None:
    """A single set, token or chunk is enough; both stores stay as they are."""
    source = stores("sqlite")
    fill(source, catalogue)
    fillings = (
        lambda store: service_on(store, catalogue).update(ME, "acme", {}),
        lambda store: service_on(store, catalogue).new_token(ME),
        lambda store: write(store, "acme", [chunk("a")]),
    )
    for filling in fillings:
        target = stores(kind)
        filling(target)
        before = content(target, catalogue)
        with pytest.raises(RefusedError, match="holds something already"):
            move(source, target, catalogue)
        assert content(target, catalogue) == before


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize(
    "at", ["context_engine_knobs, copied", "chunks, copied", "chunks, read back"]
)
def test_a_move_that_is_stopped_leaves_nothing(
    stores: Any, kind: str, at: str, catalogue: Catalogue
) -> None:
    """Wherever it is stopped, the target is empty, and the move can be made again."""
    source, target = stores("sqlite"), stores(kind)
    fill(source, catalogue)

    def stop(what: str, _: int) -> None:
        if what == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move(source, target, catalogue, progress=stop)
    assert not any(content(target, catalogue).values())
    move(source, target, catalogue)
    assert content(target, catalogue) == content(source, catalogue)


def test_a_target_that_is_lost_on_the_way_leaves_nothing(stores: Any, catalogue: Catalogue) -> None:
    """The line breaks between two batches: said in words, and nothing is there."""
    url = postgres_url()
    line = Line(url)
    source, target = stores("sqlite"), stores(line.url)
    fill(source, catalogue)

    def cut(what: str, _: int) -> None:
        if what == "chunks, copied":
            line.cut()

    with pytest.raises(EngineError, match="a store cannot be asked") as refused:
        move(source, target, catalogue, progress=cut)
    assert "nothing was written" in str(refused.value.hint)
    assert not any(content(stores(url), catalogue).values())
    line.close()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM config_audit_events WHERE sequence = 1", "acme is broken at r2"),
        ("DELETE FROM config_audit_events WHERE sequence = 3", "acme is broken at its head"),
        (
            "UPDATE config_audit_events SET event = replace(event, 'bolt', 'bola')",
            "bolt is broken at r1",
        ),
        ("UPDATE config_audit_events SET event = '{' WHERE sequence = 2", "bolt is broken at"),
        ("DELETE FROM context_engine_knobs WHERE tenant_id = 'bolt'", "bolt is broken at its head"),
    ],
)
def test_a_broken_audit_log_is_not_passed_on(
    stores: Any, tmp_path: Path, damage: str, said: str, catalogue: Catalogue
) -> None:
    """The move says whose, and where, and writes nothing."""
    source, target = stores(f"embedded:{tmp_path / 'damaged.db'}"), stores("postgresql")
    fill(source, catalogue)
    with closing(sqlite3.connect(tmp_path / "damaged.db")) as connection, connection:
        for trigger in ("keep", "stay"):
            connection.execute(f"DROP TRIGGER config_audit_events_{trigger}")
        connection.execute(damage)
    with pytest.raises(EngineError, match=said):
        move(source, target, catalogue)
    assert not any(content(target, catalogue).values())


class TestTheCommand:
    """`knobctl engine migrate`."""

    @pytest.fixture
    def knobctl(self, tmp_path: Path) -> Knobctl:
        (tmp_path / "work").mkdir()
        return Knobctl(tmp_path / "work")

    def test_it_says_what_it_moved(
        self, knobctl: Knobctl, stores: Any, catalogue: Catalogue
    ) -> None:
        """Counts and both names, without a password; the Milvus that was named can be searched."""
        file = knobctl.folder / "engine.db"
        fill(stores(f"embedded:{file}"), catalogue)
        url = postgres_url()
        line = Line(url)
        done = knobctl(
            *("engine", "migrate", "--from", "embedded:engine.db", "--to", line.url),
            *("--candidates-to", milvus().url),
        )
        line.close()
        name = line.url.partition("@")[2]
        assert (done.code, done.err) == (0, "")
        assert done.out == (
            f"moved 2 sets, 3 audit events, 1 token, {CHUNKS:,} chunks of 2 tenants:"
            f" embedded:engine.db -> postgresql://{name}\n"
            "read back equal; every audit chain is whole\n"
        )
        target = stores(url)
        with closing(MilvusCandidates(target, milvus().url)) as candidates:
            found = candidates.by_vector(
                "bolt", np.frombuffer(unit(1), "<f4"), limit=9, sources=None
            )
            assert found == [("c0001", 1.0)]
        again = knobctl("engine", "migrate", "--from", "embedded:engine.db", "--to", url)
        assert (again.code, again.out) == (6, "")
        assert "holds something already" in again.err

    def test_a_source_that_is_not_there_is_not_made(self, knobctl: Knobctl) -> None:
        """A slip in a name moves no empty store."""
        done = knobctl("engine", "migrate", "--from", "embedded:typo.db", "--to", "embedded:b.db")
        assert done.code == 2
        assert "there is no store at embedded:typo.db" in done.err
        assert list(knobctl.folder.iterdir()) == []

    def test_without_a_milvus_the_store_is_moved_all_the_same(
        self, knobctl: Knobctl, stores: Any, catalogue: Catalogue
    ) -> None:
        """Said so, with what happens then, and an exit code."""
        fill(stores(f"embedded:{knobctl.folder / 'engine.db'}"), catalogue)
        done = knobctl(
            *("engine", "migrate", "--from", "embedded:engine.db", "--to", "embedded:new.db"),
            *("--candidates-to", "milvus:http://127.0.0.1:1"),
        )
        assert done.code == 8
        assert "the store was moved, the index was not filled" in done.err
        assert any(content(stores(f"embedded:{knobctl.folder / 'new.db'}"), catalogue).values())

    def test_a_killed_move_leaves_nothing(
        self, tmp_path: Path, stores: Any, catalogue: Catalogue
    ) -> None:
        """SIGKILL while it copies: the database is empty, and takes the next move."""
        source = stores(f"embedded:{tmp_path / 'engine.db'}")
        fill(source, catalogue)
        url = postgres_url()
        command = [sys.executable, "-c", MAIN, "engine", "migrate", "--to", url]
        process = subprocess.Popen([*command, "--from", f"embedded:{tmp_path / 'engine.db'}"])
        target = stores(url)
        while not _is_busy(target):
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not any(content(target, catalogue).values())
        move(source, target, catalogue)


def _is_busy(store: Store) -> bool:
    """Whether a move writes into a store in PostgreSQL."""
    with store.reading() as session:
        found = session.connection.exec_driver_sql(  # type: ignore[attr-defined]  # asked for what only PostgreSQL has
            "SELECT count(*) FROM pg_locks WHERE relation = 'chunks'::regclass AND mode = 'RowExclusiveLock'"
        )
        return bool(found.scalar())
