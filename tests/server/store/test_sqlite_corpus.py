"""The catalogue of chunks in an SQLite file: brought forward, shared, damaged, quick."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from knobctl.knobs import Catalogue
from knobctl.server.auth import local_caller
from knobctl.server.knobs import open_service
from knobctl.server.store import migrations, open_store
from knobctl.server.store.interface import StoreUnavailableError
from tests.server.corpora import chunk, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knobctl.server.store.interface import Store

ME = local_caller("anna")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "engine.db"


@pytest.fixture
def own(file: Path, catalogue: Catalogue) -> Iterator[Store]:
    """A store in a file of the test's own."""
    store = open_store(f"embedded:{file}", catalogue)
    yield store
    store.close()


def test_a_file_of_the_first_version_is_brought_forward(
    file: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sets, events and revisions are there, and it can take in texts."""
    with monkeypatch.context() as before:
        before.setattr(migrations, "STEPS", migrations.STEPS[:1])
        older = open_service(f"embedded:{file}", catalogue, clock=lambda: datetime.now(UTC))
        older.update(ME, "acme", {"retrieval_min_score": 0.15})
        older.close()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    newer = open_service(f"embedded:{file}", catalogue, clock=lambda: datetime.now(UTC))
    assert newer.get(ME, "acme").knobs == {"retrieval_min_score": 0.15}
    assert len(newer.audit_events(ME).items) == 1
    assert write(newer.store, "acme", [chunk("a")]) == 1
    newer.close()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(migrations.STEPS),)


def test_two_stores_on_one_file_see_each_other(
    own: Store, file: Path, catalogue: Catalogue
) -> None:
    """As two processes do: what one wrote, the other reads in its next session."""
    beside = open_store(f"embedded:{file}", catalogue)
    write(own, "acme", [chunk("a", "first")])
    with beside.reading() as session:
        assert session.corpus.chunks("acme", ["a"])["a"].text == "first"
        write(own, "acme", [chunk("a", "second")])
        assert session.corpus.version("acme") == 1, "a session sees one moment"
    assert write(beside, "acme", [chunk("b")]) == 3
    beside.close()


def test_metadata_that_cannot_be_read_is_the_stores_trouble(own: Store, file: Path) -> None:
    """And no chunk with other metadata in its place."""
    write(own, "acme", [chunk("a", metadata={"k": "v"})])
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE chunks SET metadata = '{'")
        connection.commit()
    with pytest.raises(StoreUnavailableError, match="metadata"), own.reading() as session:
        session.corpus.chunks("acme", ["a"])


@pytest.mark.parametrize(
    "question",
    [
        "SELECT chunk_id FROM chunks WHERE tenant_id = ? AND created_at >= '' ORDER BY created_at DESC, chunk_id",
        "SELECT source_id, count(DISTINCT document_id), min(created_at) FROM chunks WHERE tenant_id = ? GROUP BY source_id",
        "SELECT chunk_id FROM chunks WHERE tenant_id = ? AND version > 3 ORDER BY version LIMIT 1 OFFSET 5",
        "SELECT version FROM removed_chunks WHERE tenant_id = ? AND version > 3 AND version <= 5",
    ],
)
def test_questions_are_answered_by_an_index_alone(own: Store, file: Path, question: str) -> None:
    """A row of the table is some kilobytes long: reading them all would take seconds."""
    write(own, "a", [chunk("x")])
    with closing(sqlite3.connect(file)) as connection:
        steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {question}", ("a",))]
    assert any("COVERING INDEX" in step for step in steps), steps
    if "ORDER BY" in question:
        assert not any("TEMP B-TREE" in step for step in steps), steps
