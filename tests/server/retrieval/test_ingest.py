"""Texts are taken in whole or not at all, and only what changed is embedded and written."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knobctl.server.auth import Caller
from knobctl.server.candidates.interface import CandidatesUnavailableError
from knobctl.server.candidates.local import LocalCandidates
from knobctl.server.refusal import ServiceError
from knobctl.server.retrieval.endpoint import Endpoint
from knobctl.server.retrieval.minilm import IDENTITY
from knobctl.server.retrieval.model import Text
from knobctl.server.retrieval.texts import LARGEST_TEXT, MOST_TEXTS
from tests.server.retrieval.engines import TENANT, Engine, ids, minilm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from knobctl.server.retrieval.embedder import Vectors
    from knobctl.server.store.corpus import Chunk
    from knobctl.server.store.interface import Store

LONG = "\n\n".join(f"Paragraph {number} says: " + "something " * 100 for number in range(5))
"""More than one piece, fewer than five."""


@dataclass
class Counting:
    """The real embedder, which remembers what it was asked, and lets a test come between."""

    asked: list[str] = field(default_factory=list)
    between: list[Callable[[], object]] = field(default_factory=list)

    identity = IDENTITY
    longest = minilm().longest

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        if self.between:
            self.between.pop()()
        return minilm().embed(texts)


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def engine(opened: Callable[..., Engine], counting: Counting) -> Engine:
    return opened(embedder=counting)


def upsert(engine: Engine, *texts: Text, **how: Any) -> tuple[int, int, int, str]:
    """Take texts in: written, unchanged, removed, version."""
    done = engine.ingest.upsert(engine.caller, TENANT, texts, **how)
    return done.written, done.unchanged, done.removed, done.corpus_version


def chunks(engine: Engine) -> dict[str, Chunk]:
    """Everything in the catalogue, by id."""
    with engine.knobs.store.reading() as session:
        written = session.corpus.changes(TENANT, after=0, limit=10_000).written
    return {chunk.chunk_id: chunk for chunk in written}


def test_a_text_is_kept_with_its_vector(engine: Engine) -> None:
    """With the source, time and metadata that it came with, or the defaults."""
    whole = Text(
        document_id="d",
        chunk_id="c",
        text="A cat sits.",
        source_id="wiki",
        created_at="2026-11-29T21:00:00+01:00",
        metadata={"page": "3"},
    )
    assert upsert(engine, whole, Text(document_id="e", text="A dog runs.")) == (2, 0, 0, "c1")
    found = chunks(engine)
    assert found["c"].created_at == "2026-11-29T20:00:00.000000Z"
    assert (found["c"].document_id, found["c"].source_id) == ("d", "wiki")
    assert found["c"].metadata == {"page": "3"}
    assert (found["e"].source_id, found["e"].created_at) == (
        "default",
        "2026-01-01T00:00:00.000000Z",
    )
    vector = np.frombuffer(found["c"].vector, "<f4")
    assert vector == pytest.approx(minilm().embed(["A cat sits."])[0], abs=1e-6)
    assert ids(engine.search("a cat", min_score=0.1)) == ["c", "e"]


def test_an_unchanged_text_is_neither_embedded_nor_written(
    engine: Engine, counting: Counting
) -> None:
    """The version stays, even when the time was left to the clock and the clock moved."""
    texts = [Text(document_id="a", text="A cat sits."), Text(document_id="b", text=LONG)]
    first = upsert(engine, *texts)
    asked = len(counting.asked)
    engine.clocks.pass_by(3600)
    assert upsert(engine, *texts) == (0, first[0], 0, "c1")
    assert len(counting.asked) == asked


@pytest.mark.parametrize(
    "change",
    [
        {"text": "A cat sat."},
        {"document_id": "other"},
        {"source_id": "other"},
        {"created_at": "2026-01-01T00:00:01Z"},
        {"metadata": {"page": "4"}},
        {"metadata": {}},
    ],
)
def test_a_change_of_any_field_is_written(engine: Engine, change: dict[str, Any]) -> None:
    """And moves the version."""
    text = Text(document_id="a", chunk_id="c", text="A cat sits.", metadata={"page": "3"})
    upsert(engine, text)
    assert upsert(engine, replace(text, **change)) == (1, 0, 0, "c2")
    assert upsert(engine, replace(text, **change)) == (0, 1, 0, "c2")


def test_the_time_of_the_first_upsert_stays(engine: Engine) -> None:
    """For a changed text, and for the pieces of one that became long."""
    upsert(engine, Text(document_id="a", text="A cat sits."))
    born = chunks(engine)["a"].created_at
    engine.clocks.pass_by(60)
    upsert(engine, Text(document_id="a", text="A cat sat."))
    assert chunks(engine)["a"].created_at == born
    upsert(engine, Text(document_id="a", text=LONG))
    assert {chunk.created_at for chunk in chunks(engine).values()} == {born}


def test_a_long_text_is_split_and_its_earlier_pieces_go(engine: Engine) -> None:
    """From one chunk to several, to fewer, and back to one."""
    upsert(engine, Text(document_id="a", text="Short."), Text(document_id="b", text="Other."))
    written, _, removed, _ = upsert(engine, Text(document_id="a", text=LONG))
    assert written > 2
    assert removed == 1
    assert sorted(chunks(engine)) == [*(f"a#{number}" for number in range(1, written + 1)), "b"]
    fewer = upsert(engine, Text(document_id="a", text=LONG.rpartition("\n\n")[0]))
    assert fewer[:3] == (0, written - 1, 1)
    upsert(engine, Text(document_id="a", text="Short again."))
    assert sorted(chunks(engine)) == ["a", "b"]
    assert "Short again." in {chunk.text for chunk in chunks(engine).values()}


def test_a_text_without_chunk_id_replaces_its_document(engine: Engine) -> None:
    """Whatever chunks that had; a chunk with an id leaves the others alone."""
    upsert(
        engine,
        Text(document_id="d", chunk_id="one", text="One."),
        Text(document_id="d", chunk_id="two", text="Two."),
        Text(document_id="e", chunk_id="three", text="Three."),
    )
    assert upsert(engine, Text(document_id="d", chunk_id="one", text="One!")) == (1, 0, 0, "c2")
    assert upsert(engine, Text(document_id="d", text="All.")) == (1, 0, 2, "c3")
    assert sorted(chunks(engine)) == ["d", "three"]


def test_a_chunk_that_is_named_like_a_piece_is_left_alone(engine: Engine) -> None:
    """`a#1` may be somebody's own name for a chunk."""
    upsert(
        engine,
        Text(document_id="d", chunk_id="a#1", text="Somebody's own."),
        Text(document_id="d", chunk_id="a", text="Another."),
    )
    assert upsert(engine, Text(document_id="d", chunk_id="a", text="Another!"))[2] == 0
    assert sorted(chunks(engine)) == ["a", "a#1"]
    upsert(engine, Text(document_id="d", chunk_id="b", text=LONG))
    upsert(engine, Text(document_id="d", chunk_id="b", text="Short."))
    assert sorted(chunks(engine)) == ["a", "a#1", "b"]


def test_equal_texts_are_embedded_once(engine: Engine, counting: Counting) -> None:
    """They share a vector."""
    upsert(engine, *(Text(document_id=name, text="The same.") for name in "abc"))
    assert counting.asked == ["The same."]
    assert len(chunks(engine)) == 3


def test_progress_counts_what_was_embedded(engine: Engine) -> None:
    """In chunks, so that it comes to what is written."""
    told: list[int] = []
    upsert(
        engine,
        *(Text(document_id=f"d{n}", text=f"Text {n}.") for n in range(70)),
        progress=told.append,
    )
    assert sum(told) == 70
    assert len(told) > 1
    upsert(
        engine,
        *(Text(document_id=f"same{n}", text=f"Same {n % 2}.") for n in range(5)),
        progress=told.append,
    )
    assert sum(told) == 75  # chunks, however few vectors they need


def test_a_writer_that_came_between_does_not_lose_a_text(
    engine: Engine, counting: Counting
) -> None:
    """What was there unchanged, and was taken away while the rest was embedded, is embedded too."""
    kept = Text(document_id="kept", text="This was there.")
    upsert(engine, kept)
    counting.between.append(lambda: engine.ingest.delete_documents(engine.caller, TENANT, ["kept"]))
    assert upsert(engine, kept, Text(document_id="new", text="This is new."))[:3] == (2, 0, 0)
    assert sorted(chunks(engine)) == ["kept", "new"]


def test_a_writer_that_was_faster_is_seen(engine: Engine, counting: Counting) -> None:
    """The same text is not written twice."""
    text = Text(document_id="a", text="One text.", created_at="2026-01-01T00:00:00Z")
    counting.between.append(lambda: upsert(engine, text))
    assert upsert(engine, text) == (0, 1, 0, "c1")


def test_deleting_a_document_takes_all_its_chunks(engine: Engine) -> None:
    """One that is not there is no fault."""
    upsert(engine, Text(document_id="a", text=LONG), Text(document_id="b", text="Other."))
    pieces = len(chunks(engine)) - 1
    gone = engine.ingest.delete_documents(engine.caller, TENANT, ["a", "nowhere"])
    assert (gone.documents, gone.chunks, gone.corpus_version) == (1, pieces, "c2")
    again = engine.ingest.delete_documents(engine.caller, TENANT, ["a"])
    assert (again.documents, again.chunks, again.corpus_version) == (0, 0, "c2")
    assert ids(engine.search("something", min_score=0.1)) == ["b"]


def test_describe_counts_what_is_there(engine: Engine) -> None:
    """Nothing at first."""
    tenant, nothing, embedder = engine.ingest.describe(engine.caller, TENANT)
    assert (tenant, nothing.version, nothing.chunks, embedder) == (TENANT, 0, 0, None)
    upsert(
        engine, Text(document_id="a", text=LONG, source_id="s"), Text(document_id="b", text="B.")
    )
    _, found, embedder = engine.ingest.describe(engine.caller, TENANT)
    assert (found.documents, found.chunks, embedder) == (2, len(chunks(engine)), IDENTITY)
    assert [source.source_id for source in found.sources] == ["default", "s"]


@pytest.mark.parametrize(
    ("text", "field", "said"),
    [
        (Text(document_id="", text="x"), "document_id", "document_id is missing"),
        (Text(document_id="a", text=""), "text", "text is missing"),
        (Text(document_id="a", text=" \n\u3000"), "text", "text is blank"),
        (Text(document_id="a", text="nul\x00"), "text", "the character NUL"),
        (Text(document_id="a", text="\ud800"), "text", "no valid Unicode"),
        (Text(document_id="a", text="x" * (LARGEST_TEXT + 1)), "text", "16.0 MiB; at most 16"),
        (Text(document_id="é" * 251, text="x"), "document_id", "502 bytes; at most 500"),
        (Text(document_id="a", chunk_id="c" * 501, text="x"), "chunk_id", "501 bytes"),
        (Text(document_id="a", source_id="s" * 501, text="x"), "source_id", "501 bytes"),
        (Text(document_id="a\x1b[31m", text="x"), "document_id", "cannot be seen"),
        (Text(document_id="a\n", text="x"), "document_id", "cannot be seen"),
        (Text(document_id="\u202ea", text="x"), "document_id", "cannot be seen"),
        (Text(document_id=" a", text="x"), "document_id", "space at an end"),
        (Text(document_id="a", text="x", created_at="yesterday"), "created_at", "RFC 3339"),
        (Text(document_id="a", text="x", created_at="2026-11-29"), "created_at", "RFC 3339"),
        (Text(document_id="a", text="x", created_at="2026-11-29T20:00:00"), "created_at", "RFC 3339"),
        (Text(document_id="a", text="x", created_at="2026-13-29T20:00:00Z"), "created_at", "RFC 3339"),
        (Text(document_id="a", text="x", created_at="0001-01-01T00:00:00+14:00"), "created_at", "RFC 3339"),
        (Text(document_id="a", text="x", metadata={" ": "v"}), "metadata", "without name"),
        (Text(document_id="a", text="x", metadata={"k": "\x00"}), "metadata", "NUL"),
        (Text(document_id="a", text="x", metadata={"k": "v" * 16_001}), "metadata", "16,002 bytes; at most 16,000"),
        (Text(document_id="first", text="again"), "document_id", "came with chunks[0] already"),
        (Text(document_id="first", chunk_id="c", text="part"), "chunk_id", "came with chunks[0] already"),
    ],
)  # fmt: skip
def test_a_bad_field_is_named_and_nothing_is_written(
    engine: Engine, text: Text, field: str, said: str
) -> None:
    """By its place in the request; the good text beside it is not taken either."""
    with pytest.raises(ServiceError) as caught:
        upsert(engine, Text(document_id="first", text="good"), text)
    assert caught.value.code == "invalid_argument"
    (violation,) = caught.value.violations
    assert violation.field == f"chunks[1].{field}"
    assert said in violation.description
    assert chunks(engine) == {}


def test_every_bad_field_is_named_at_once(engine: Engine) -> None:
    with pytest.raises(ServiceError) as caught:
        upsert(
            engine, Text(document_id="", text=""), Text(document_id="a", text="x", created_at="?")
        )
    assert [one.field for one in caught.value.violations] == [
        *("chunks[0].document_id", "chunks[0].text", "chunks[1].created_at")
    ]


def test_too_many_texts_are_refused(engine: Engine) -> None:
    texts = [Text(document_id=str(number), text="x") for number in range(MOST_TEXTS + 1)]
    with pytest.raises(ServiceError, match="1,001 chunks are too many for one call; at most 1,000"):
        upsert(engine, *texts)


def test_no_texts_are_no_fault(engine: Engine) -> None:
    assert upsert(engine) == (0, 0, 0, "c0")


@pytest.mark.parametrize("name", ["", "a\x00", "x" * 501])
def test_ids_to_delete_are_looked_at(engine: Engine, name: str) -> None:
    with pytest.raises(ServiceError) as caught:
        engine.ingest.delete_documents(engine.caller, TENANT, ["good", name])
    assert [one.field for one in caught.value.violations] == ["document_ids[1]"]


def test_clearances_and_tenants_hold(engine: Engine) -> None:
    """Writing needs L4, describing L3; of another tenant there is nothing to know."""
    reader = Caller(subject="r", clearance=3, tenants=frozenset([TENANT]))
    below = replace(reader, clearance=2)
    text = Text(document_id="a", text="x")
    for refused in (
        lambda: engine.ingest.upsert(reader, TENANT, [text]),
        lambda: engine.ingest.delete_documents(reader, TENANT, ["a"]),
        lambda: engine.ingest.describe(below, TENANT),
    ):
        with pytest.raises(ServiceError) as caught:
            refused()
        assert caught.value.code == "permission_denied"
    with pytest.raises(ServiceError) as caught:
        engine.ingest.upsert(replace(reader, clearance=4), "other", [text])
    assert caught.value.code == "not_found"
    assert engine.ingest.describe(reader, None)[0] == TENANT


def test_a_caller_touches_only_its_own_sources(engine: Engine) -> None:
    """What it may not search it can neither overwrite, replace nor delete, nor does it count it."""
    upsert(engine, Text(document_id="d", chunk_id="secret", text="Secret.", source_id="hr"))
    limited = replace(engine.caller, sources=frozenset(["wiki"]))
    mine = Text(document_id="d", text="Mine.", source_id="wiki")
    for text in (
        replace(mine, source_id="hr"),
        replace(mine, source_id=""),
        replace(mine, chunk_id="secret"),
    ):
        with pytest.raises(ServiceError) as caught:
            engine.ingest.upsert(limited, TENANT, [text])
        assert caught.value.code == "permission_denied"
    done = engine.ingest.upsert(limited, TENANT, [mine])
    assert (done.written, done.removed) == (1, 0)
    assert engine.ingest.describe(limited, TENANT)[1].chunks == 1
    gone = engine.ingest.delete_documents(limited, TENANT, ["d"])
    assert (gone.documents, gone.chunks) == (1, 1)
    assert list(chunks(engine)) == ["secret"]


def test_a_dead_embedder_writes_nothing(
    opened: Callable[..., Engine], caplog: pytest.LogCaptureFixture
) -> None:
    """The caller is told in our words, the log why; what needs no vector still works."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        engine = opened(embedder=Endpoint(f"http://127.0.0.1:{port}/v1", "model"))
        with pytest.raises(ServiceError) as caught:
            upsert(engine, Text(document_id="a", text="x"))
    assert caught.value.code == "unavailable"
    assert caught.value.message == "the embedder did not answer; nothing was written"
    assert f"127.0.0.1:{port}" in caplog.text
    assert chunks(engine) == {}
    assert engine.ingest.delete_documents(engine.caller, TENANT, ["a"]).documents == 0


def test_another_embedder_is_refused(opened: Callable[..., Engine]) -> None:
    """Before it is asked; unchanged texts and deletions need none."""
    upsert(opened(), Text(document_id="a", text="A cat sits."))

    class Other(Counting):
        identity = replace(IDENTITY, model="another-model")

    other = Other()
    engine = opened(embedder=other)
    with pytest.raises(ServiceError, match="another-model") as caught:
        upsert(engine, Text(document_id="b", text="A dog runs."))
    assert caught.value.code == "failed_precondition"
    assert other.asked == []
    assert upsert(engine, Text(document_id="a", text="A cat sits."))[:3] == (0, 1, 0)


def test_an_index_that_fails_does_not_lose_the_write(
    opened: Callable[..., Engine], caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and the next call catches up."""

    class Failing(LocalCandidates):
        fails = True

        def follow(self, tenant: str, *, known: int | None = None) -> int:
            if self.fails:
                raise CandidatesUnavailableError("no route to index")
            return super().follow(tenant, known=known)

    indexes: list[Failing] = []

    def failing(store: Store) -> Failing:
        indexes.append(Failing(store, index_folder=None))
        return indexes[0]

    engine = opened(candidates=failing)
    with caplog.at_level(logging.WARNING):
        assert upsert(engine, Text(document_id="a", text="A cat sits.")) == (1, 0, 0, "c1")
    assert "no route to index" in caplog.text
    indexes[0].fails = False
    assert ids(engine.search("cat", min_score=0.1)) == ["a"]


FILLING = """
import resource, sys
from datetime import UTC, datetime
from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from knobctl.server.refusal import ServiceError
from knobctl.server.retrieval.model import Text

services = open_services(sys.argv[1], load_catalogue(), clock=lambda: datetime.now(UTC))
services.ingest.ready()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
number = 0
while True:
    number += 1
    texts = [Text(document_id=f"{number}-{n}", text=f"text {number} {n}") for n in range(5)]
    try:
        services.ingest.upsert(local_caller("loop"), "acme", texts)
    except ServiceError as error:
        print(error.code.value, error.message, flush=True)
        break
    print(number, flush=True)
"""


def test_a_full_disk_refuses_a_batch_as_a_whole(
    opened: Callable[..., Engine], tmp_path: Path
) -> None:
    """In words; what was answered before is there, and nothing of the batch that found no room."""
    opened().close()
    done = subprocess.run(
        [sys.executable, "-c", FILLING, f"embedded:{tmp_path / 'engine.db'}", "300000"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    *written, refused = done.stdout.splitlines()
    assert written
    assert refused == "unavailable the store cannot be written to; nothing was written"
    assert "Traceback" not in done.stderr
    assert len(chunks(opened())) == 5 * len(written)
