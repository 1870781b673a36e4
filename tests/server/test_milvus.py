"""Candidates in Milvus, where it differs from indexes in the process: another server, which can be lost, or lie."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pymilvus import MilvusClient

from knobctl.errors import UsageError
from knobctl.knobs import Catalogue, load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.candidates import milvus_server
from knobctl.server.candidates.interface import CandidatesUnavailableError
from knobctl.server.candidates.milvus import MilvusCandidates
from knobctl.server.candidates.milvus_server import IndexedChunk, MilvusServer
from knobctl.server.opening import open_services
from knobctl.server.retrieval.model import Text
from knobctl.server.store import open_store
from tests.server.corpora import IDENTITY, at_angle, chunk, unit, write
from tests.server.services import Milvus, milvus, own_milvus, postgres_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knobctl.server.store.interface import Store

ME = local_caller("anna")
EAST = np.frombuffer(unit(1), "<f4")


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """A store in PostgreSQL, of vectors of eight dimensions."""
    store = open_store(postgres_url(), load_catalogue())
    with store.writing() as session:
        session.corpus.set_embedder(IDENTITY)
    yield store
    store.close()


@pytest.fixture
def candidates(store: Store) -> Iterator[MilvusCandidates]:
    with closing(MilvusCandidates(store, milvus().url)) as opened:
        yield opened


@pytest.fixture(scope="module")
def own() -> Iterator[Milvus]:
    """A Milvus that a test may stop."""
    server = own_milvus()
    yield server
    server.stop()


def collection_of(store: Store, server: Milvus) -> str:
    """The name of a store's newest collection on a server."""
    with store.reading() as session:
        number = session.corpus.indexed(f"milvus 127.0.0.1:{server.port}", "")
        return f"knobctl_{session.store_id()}_{number}"


def plain(server: Milvus) -> MilvusClient:
    return MilvusClient(uri=server.url.removeprefix("milvus:"), dedicated=True)


HOSTILE = (
    *(
        'a"b',
        "a'b",
        "a\\",
        'a\\"',
        '"] or tenant != "x',
        'x" or "1" == "1',
        "a\nb",
        "%",
        "_",
        "{x}",
    ),
    *("$meta", "日本", "a/b", "c" * 500),
)


class TestWhatIsAsked:
    """No text of a caller's is ever part of a filter."""

    def test_hostile_ids_and_sources_stay_what_they_are(
        self, store: Store, candidates: MilvusCandidates, tenant: str, other_tenant: str
    ) -> None:
        """Each source finds its own chunk and no other, each chunk is removed alone, another tenant's never seen."""
        write(store, tenant, [chunk(name, "heron", source_id=name) for name in HOSTILE])
        write(store, other_tenant, [chunk("theirs", "heron", source_id=HOSTILE[0])])
        candidates.follow(tenant)
        candidates.follow(other_tenant)
        for name in HOSTILE:
            sources = frozenset([name])
            assert candidates.by_words(tenant, "heron", limit=99, sources=sources) == [name]
            near = candidates.by_vector(tenant, EAST, limit=99, sources=sources)
            assert near == [(name, 1.0)]
        left = sorted(HOSTILE)
        for name in HOSTILE[:4]:
            left.remove(name)
            write(store, tenant, removed=[name])
            candidates.follow(tenant)
            assert candidates.by_words(tenant, "heron", limit=99, sources=None) == left

    @pytest.mark.parametrize("text", ["x" * 70_000, "é" * 40_000, "word " * 30_000, "", "\0"])
    def test_a_text_of_any_length_is_taken(
        self, store: Store, candidates: MilvusCandidates, tenant: str, text: str
    ) -> None:
        """What a field has no room for is not indexed by its words; the chunk is there."""
        write(store, tenant, [chunk("long", f"heron {text}")])
        candidates.follow(tenant)
        assert candidates.by_words(tenant, "heron", limit=9, sources=None) == ["long"]
        assert candidates.by_vector(tenant, EAST, limit=9, sources=None) == [("long", 1.0)]

    def test_more_ties_than_are_fetched_are_still_broken_by_id(
        self, store: Store, candidates: MilvusCandidates, tenant: str
    ) -> None:
        """It fetches on until the score falls."""
        names = [f"c{number:03}" for number in range(300)]
        write(store, tenant, [chunk(name, "the same heron") for name in reversed(names)])
        candidates.follow(tenant)
        assert candidates.by_words(tenant, "heron", limit=5, sources=None) == names[:5]
        near = candidates.by_vector(tenant, EAST, limit=5, sources=None)
        assert [name for name, _ in near] == names[:5]


class TestWhatItSays:
    """Nothing is taken on trust: the catalogue is the truth."""

    def test_a_chunk_that_the_catalogue_does_not_have_is_dropped_before_ranks_are_given(
        self, store: Store, candidates: MilvusCandidates, tenant: str
    ) -> None:
        """Left behind by a process that was killed, it takes nobody's place."""
        write(store, tenant, [chunk("a", "heron"), chunk("b", "heron", vector=at_angle(9))])
        candidates.follow(tenant)
        ghosts = [
            IndexedChunk(chunk_id=f"0{n}", source_id="default", words="heron", vector=EAST)
            for n in range(60)
        ]
        with closing(MilvusServer(milvus().url.removeprefix("milvus:"))) as server:
            server.put(collection_of(store, milvus()), tenant, ghosts)
        near = candidates.by_vector(tenant, EAST, limit=2, sources=None)
        assert [name for name, _ in near] == ["a", "b"]
        assert candidates.by_words(tenant, "heron", limit=2, sources=None) == ["a", "b"]

    def test_cosines_are_the_catalogues(
        self, store: Store, candidates: MilvusCandidates, tenant: str
    ) -> None:
        """Also where the index holds another vector under the chunk's id."""
        write(store, tenant, [chunk("a", "heron", vector=at_angle(60))])
        candidates.follow(tenant)
        other = IndexedChunk(chunk_id="a", source_id="default", words="heron", vector=EAST)
        with closing(MilvusServer(milvus().url.removeprefix("milvus:"))) as server:
            server.put(collection_of(store, milvus()), tenant, [other])
        ((name, cosine),) = candidates.by_vector(tenant, EAST, limit=2, sources=None)
        assert name == "a"
        assert cosine == pytest.approx(0.5)


class TestLost:
    """The server is lost, and comes back."""

    def test_what_was_written_meanwhile_is_found_by_any_process_then(
        self, store: Store, own: Milvus, tenant: str
    ) -> None:
        """The catalogue took it; whoever asks next brings the index forward."""
        with (
            closing(MilvusCandidates(store, own.url)) as one,
            closing(MilvusCandidates(store, own.url)) as another,
        ):
            write(store, tenant, [chunk("a", "heron"), chunk("b", "otter")])
            one.follow(tenant)
            own.stop()
            write(store, tenant, [chunk("c", "kite")], removed=["b"])
            started = time.monotonic()
            for ask in (
                lambda: one.follow(tenant),
                lambda: one.by_words(tenant, "heron", limit=9, sources=None),
                lambda: one.by_vector(tenant, EAST, limit=9, sources=None),
                lambda: another.follow(tenant),
            ):
                with pytest.raises(CandidatesUnavailableError):
                    ask()
            assert time.monotonic() - started < 5
            own.start()
            for process in (another, one):
                assert process.follow(tenant) == 2
                assert process.by_words(tenant, "kite heron", limit=9, sources=None) == ["a", "c"]
                assert process.by_words(tenant, "otter", limit=9, sources=None) == []

    def test_a_server_that_lost_everything_is_filled_again(
        self, store: Store, own: Milvus, tenant: str, other_tenant: str
    ) -> None:
        """The collection is gone: the same call makes another and finds, for every tenant and process."""
        write(store, tenant, [chunk("a", "heron")])
        write(store, other_tenant, [chunk("b", "heron")])
        with (
            closing(MilvusCandidates(store, own.url)) as one,
            closing(MilvusCandidates(store, own.url)) as another,
        ):
            for process in (one, another):
                process.follow(tenant)
                process.follow(other_tenant)
            before = collection_of(store, own)
            with closing(plain(own)) as client:
                client.drop_collection(before)
            assert one.by_words(tenant, "heron", limit=9, sources=None) == ["a"]
            assert collection_of(store, own) != before
            another.follow(other_tenant)
            assert another.by_words(other_tenant, "heron", limit=9, sources=None) == ["b"]
            assert another.by_words(tenant, "heron", limit=9, sources=None) == ["a"]

    def test_a_server_that_does_not_answer_is_given_up(
        self, store: Store, own: Milvus, tenant: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It stands still, as a network that drops everything does: an error after the time that a search has."""
        monkeypatch.setattr(milvus_server, "SEARCH_TIMEOUT_S", 1.0)
        write(store, tenant, [chunk("a", "heron")])
        with closing(MilvusCandidates(store, own.url)) as one:
            one.follow(tenant)
            own.send(signal.SIGSTOP)
            started = time.monotonic()
            with pytest.raises(CandidatesUnavailableError):
                one.by_words(tenant, "heron", limit=9, sources=None)
            assert time.monotonic() - started < 4
            own.send(signal.SIGCONT)
            assert one.by_words(tenant, "heron", limit=9, sources=None) == ["a"]

    def test_followers_in_each_others_way_leave_a_true_index(
        self, store: Store, tenant: str
    ) -> None:
        """Three write and follow at once, each by a client of its own: the index is the catalogue."""
        url = milvus().url

        def work(number: int) -> None:
            with closing(MilvusCandidates(store, url)) as one:
                for turn in range(8):
                    name = f"{number}-{turn}"
                    write(store, tenant, [chunk(name, "heron")], [f"{number}-{turn - 1}"])
                    one.follow(tenant)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with closing(plain(milvus())) as client:
            key = milvus_server._digest(tenant)
            held = client.query(
                collection_of(store, milvus()),
                filter=f'tenant == "{key}"',
                output_fields=["chunk_id"],
            )
        assert sorted(row["chunk_id"] for row in held) == ["0-7", "1-7", "2-7"]


def test_without_its_milvus_an_engine_answers_by_recency(
    own: Milvus, catalogue: Catalogue, tenant: str
) -> None:
    """Vector and BM25 are inactive, in our words; texts are taken in all the same, and found when it is back."""
    services = open_services(
        postgres_url(), catalogue, clock=lambda: datetime.now(UTC), candidates_url=own.url
    )
    context, ingest = services.context, services.ingest
    assert context
    assert ingest
    ingest.upsert(ME, tenant, [Text(document_id="heron", text="a grey heron in the reeds")])
    assert set(
        context.search(ME, tenant, query="heron", min_score=0.01).results[0].candidate.ranks
    ) == {
        "vector",
        "bm25",
        "recency",
    }
    own.stop()
    written = ingest.upsert(ME, tenant, [Text(document_id="kite", text="a kite over the dunes")])
    assert written.written == 1
    answer = context.search(ME, tenant, query="kite", min_score=0.01)
    assert {hit.chunk.document_id for hit in answer.results} == {"heron", "kite"}
    assert {name: report.error for name, report in answer.rankers.items()} == {
        "vector": "the index could not be asked",
        "bm25": "the index could not be asked",
        "recency": "",
    }
    own.start()
    back = context.search(ME, tenant, query="kite", min_score=0.01)
    assert back.results[0].chunk.document_id == "kite"
    assert set(back.results[0].candidate.ranks) == {"vector", "bm25", "recency"}
    services.close()


class TestUrls:
    """Of `--candidates`."""

    @pytest.mark.parametrize(
        "url",
        [
            *("http://h:19530", "milvus:", "milvus:h:19530", "milvus:file.db", "milvus:http://"),
            *(
                "milvus:http://h:port",
                "milvus:http://h:99999",
                "milvus:http://anna:s3/cret@h:19530",
            ),
        ],
    )
    def test_what_names_no_milvus_is_refused(self, url: str, store: Store) -> None:
        """With how to write it."""
        with pytest.raises(UsageError, match="names no Milvus") as refused:
            MilvusCandidates(store, url)
        assert "milvus:http://HOST:19530" in str(refused.value.hint)

    def test_a_password_is_in_no_message_and_no_table(self, store: Store, tenant: str) -> None:
        """Nor in the name under which the catalogue keeps how far the index is."""
        write(store, tenant, [chunk("a")])
        with closing(MilvusCandidates(store, "milvus:http://anna:s3cret@127.0.0.1:1")) as one:
            assert "s3cret" not in one._index
            with pytest.raises(CandidatesUnavailableError) as refused:
                one.follow(tenant)
        assert "s3cret" not in str(refused.value)

    def test_without_the_extra_it_says_what_to_install(self, tmp_path: Path) -> None:
        """Before any call comes."""
        program = (
            "import sys\n"
            "sys.modules['pymilvus'] = None\n"
            "from knobctl.cli.main import main\n"
            "sys.argv = ['knobctl', 'engine', 'serve', '--store', 'embedded:e.db',"
            " '--candidates', 'milvus:http://127.0.0.1:1']\n"
            "main()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 2
        assert "pip install 'knobctl[cluster]'" in done.stderr
