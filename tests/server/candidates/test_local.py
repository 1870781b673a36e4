"""Local indexes: built again from nothing, beside searches, and with files that cannot be trusted."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knobctl.server.candidates import tenant as tenant_module
from knobctl.server.candidates.local import LocalCandidates
from knobctl.server.store import open_store
from knobctl.server.store.interface import StoreUnavailableError
from tests.server.corpora import DIMENSIONS, IDENTITY, at_angle, chunk, unit, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knobctl.knobs import Catalogue
    from knobctl.server.candidates.interface import Candidates, Vector
    from knobctl.server.store.corpus import Chunk
    from knobctl.server.store.interface import Session, Store

VECTOR = np.frombuffer(unit(1), "<f4")
WORDS = ("heron", "grey", "river", "stone", "waits", "over")
NAMES = ("a", "B", "a#1", "é", "c", "d")
VECTORS = (unit(1), at_angle(30), at_angle(30), unit(0, 0, 1), b"", unit(float("nan")))


@pytest.fixture
def store(tmp_path: Path, catalogue: Catalogue) -> Iterator[Store]:
    """A store of the test's own, for vectors of eight dimensions."""
    opened = _opened(tmp_path, catalogue)
    yield opened
    opened.close()


@pytest.fixture
def local(store: Store, tmp_path: Path) -> Iterator[Callable[..., LocalCandidates]]:
    """Opens local indexes over the store, with graphs from the hundredth chunk on, and closes them."""
    made: list[LocalCandidates] = []

    def opened(**options: Any) -> LocalCandidates:
        options.setdefault("index_folder", tmp_path / "index")
        options.setdefault("exact_up_to", 100)
        made.append(LocalCandidates(store, **options))
        return made[-1]

    yield opened
    for candidates in made:
        candidates.close()


class TestHistory:
    """However an index came to a version, it ranks the same."""

    @settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_a_follower_ranks_as_one_that_starts_now(self, data: st.DataObject) -> None:
        """After any writes, replacements and removals, followed at any of them."""
        store, tenant = _SHARED.store, _SHARED.new_tenant()
        followed = LocalCandidates(store, index_folder=None)
        for _ in range(data.draw(st.integers(1, 6), label="steps")):
            chunks = data.draw(st.lists(_chunks(), max_size=6, unique_by=lambda c: c.chunk_id))
            removed = data.draw(st.sets(st.sampled_from(NAMES), max_size=2))
            write(store, tenant, chunks, removed)
            if data.draw(st.booleans(), label="followed"):
                followed.follow(tenant)
        followed.follow(tenant)
        fresh = LocalCandidates(store, index_folder=None)
        assert fresh.follow(tenant) == followed.follow(tenant)
        for limit in (1, 3, 10):
            for sources in (None, frozenset("x"), frozenset("xy")):
                assert _everything(fresh, tenant, limit, sources) == _everything(
                    followed, tenant, limit, sources
                )
        followed.close()
        fresh.close()

    def test_it_begins_anew_where_most_of_it_is_gone(
        self, store: Store, local: Callable[..., LocalCandidates]
    ) -> None:
        """Rows of what is no more are not kept for ever."""
        candidates = local()
        for turn in range(14):
            write(store, "acme", [chunk(f"c{n}", f"turn {turn}") for n in range(100)])
            candidates.follow("acme")
        index = candidates._tenants["acme"]
        assert index.moment is not None
        assert len(index.moment.matrix) < 1_200
        assert candidates.by_words("acme", "13", limit=200, sources=None) == sorted(
            f"c{n}" for n in range(100)
        )
        assert candidates.by_words("acme", "12", limit=200, sources=None) == []

    def test_a_catalogue_that_went_back_is_read_anew(
        self, store: Store, local: Callable[..., LocalCandidates]
    ) -> None:
        """As it does where a backup was put in its place."""
        candidates = local()
        write(store, "acme", [chunk("a", "apple")])
        write(store, "acme", [chunk("b", "berry")])
        assert candidates.follow("acme") == 2
        with store.writing() as session:
            connection = session._connection  # type: ignore[attr-defined]  # what no door offers
            connection.execute("DELETE FROM chunks WHERE chunk_id = 'b'")
            connection.execute("UPDATE corpora SET version = 1")
        assert candidates.follow("acme") == 1
        assert candidates.by_words("acme", "apple berry", limit=9, sources=None) == ["a"]

    def test_a_failure_on_the_way_is_begun_again(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What was served before is served on, and the next time succeeds."""
        monkeypatch.setattr(tenant_module, "_PAGE", 1)
        interrupted = Interrupted(store)
        candidates = LocalCandidates(interrupted, index_folder=tmp_path)
        write(store, "acme", [chunk("a", "apple")])
        candidates.follow("acme")
        for name in "bcd":
            write(store, "acme", [chunk(name, "apple")])
        interrupted.pages_left = 2
        with pytest.raises(StoreUnavailableError):
            candidates.follow("acme")
        assert candidates.by_words("acme", "apple", limit=9, sources=None) == ["a"]
        interrupted.pages_left = 99
        assert candidates.follow("acme") == 4
        assert candidates.by_words("acme", "apple", limit=9, sources=None) == list("abcd")
        candidates.close()


class TestTogether:
    """Threads and processes."""

    def test_a_search_sees_one_version_or_the_next(
        self, store: Store, local: Callable[..., LocalCandidates]
    ) -> None:
        """Never a mix of both, and every follower comes to the newest."""
        candidates = local()
        names = [f"c{n:02}" for n in range(40)]
        states = {"apple": unit(1), "berry": unit(0, 1)}
        write(store, "acme", [chunk(name, "apple", vector=states["apple"]) for name in names])
        candidates.follow("acme")
        done = threading.Event()
        mixes: list[object] = []

        def read() -> None:
            while not done.is_set():
                candidates.follow("acme")
                for word in states:
                    found = candidates.by_words("acme", word, limit=99, sources=None)
                    if found not in ([], names):
                        mixes.append(found)
                near = candidates.by_vector("acme", VECTOR, limit=99, sources=None)
                if len({score for _, score in near}) != 1 or len(near) != len(names):
                    mixes.append(near)

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for turn in range(30):
            word = ("berry", "apple")[turn % 2]
            write(store, "acme", [chunk(name, word, vector=states[word]) for name in names])
        done.set()
        for reader in readers:
            reader.join()
        assert mixes == []
        assert candidates.follow("acme") == 31

    def test_a_search_that_has_begun_is_not_disturbed(
        self, store: Store, local: Callable[..., LocalCandidates]
    ) -> None:
        """Every question to the version that it began with has the same answer, whatever is followed meanwhile."""
        candidates = local()
        write(store, "acme", [chunk(name, "apple", source_id="x") for name in "abc"])
        candidates.follow("acme")
        before = _moment(candidates)

        def answers() -> list[object]:
            return [
                before.by_words("apple berry", limit=9, sources=None),
                before.by_vector(VECTOR, limit=9, sources=None),
                before.by_vector(VECTOR, limit=9, sources=frozenset("x")),
            ]

        begun = answers()
        for number in range(90):
            write(store, "acme", [chunk(f"more{number}", "apple", source_id=f"y{number}")])
            candidates.follow("acme")
        write(store, "acme", [chunk("a", "berry", vector=at_angle(50)), chunk("d")], ["b"])
        candidates.follow("acme")
        assert answers() == begun
        assert _moment(candidates).version == 92

    def test_two_engines_on_one_file_stay_true(
        self, store: Store, tmp_path: Path, catalogue: Catalogue
    ) -> None:
        """Each with a store and indexes of its own, writing in turn."""
        beside = _opened(tmp_path, catalogue)
        engines = [(one, LocalCandidates(one, index_folder=None)) for one in (store, beside)]
        for turn in range(6):
            writer, _ = engines[turn % 2]
            removed = [f"c{turn - 2}"]
            write(writer, "acme", [chunk(f"c{turn}", f"turn{turn}")], removed)
            for _, candidates in engines:
                assert candidates.follow("acme") == turn + 1
                words = " ".join(f"turn{number}" for number in range(6))
                found = candidates.by_words("acme", words, limit=9, sources=None)
                assert found == [f"c{n}" for n in (turn - 1, turn) if n >= 0]
        for _, candidates in engines:
            candidates.close()
        beside.close()

    def test_tenants_that_nobody_asks_for_are_let_go(
        self, store: Store, local: Callable[..., LocalCandidates]
    ) -> None:
        """And are read again when somebody does."""
        candidates = local(held_chunks=25)
        for name in ("acme", "bolt", "cole"):
            write(store, name, [chunk(f"{name}{n}", "heron") for n in range(10)])
            candidates.follow(name)
        assert list(candidates._tenants) == ["bolt", "cole"]
        found = candidates.by_words("acme", "heron", limit=2, sources=None)
        assert found == ["acme0", "acme1"]
        assert list(candidates._tenants) == ["cole", "acme"]


class TestVectorsThatAreNone:
    """A vector that cannot be compared is not ranked."""

    @pytest.mark.parametrize(
        "wrong", [b"", unit(float("nan")), unit(float("inf")), b"\0" * 12], ids=repr
    )
    def test_its_chunk_is_found_by_words_alone(
        self, store: Store, local: Callable[..., LocalCandidates], wrong: bytes
    ) -> None:
        """NaN would come before or behind everything, as it happens."""
        candidates = local()
        write(store, "acme", [chunk("bad", "heron", vector=wrong), chunk("good", "heron")])
        assert _near(candidates, 9) == ["good"]
        assert candidates.by_words("acme", "heron", limit=9, sources=None) == ["bad", "good"]


class TestGraph:
    """Beyond so many chunks a graph gives the candidates, and exact cosines rank them."""

    @pytest.fixture
    def many(self, store: Store) -> list[Chunk]:
        """Three hundred chunks around twenty directions."""
        chunks = _around(300, seed=1)
        write(store, "acme", chunks)
        return chunks

    def test_it_ranks_as_the_scan_does(
        self, many: list[Chunk], local: Callable[..., LocalCandidates]
    ) -> None:
        """The same ids, the same cosines, while it is built and afterwards."""
        exact, graph = local(exact_up_to=1_000, index_folder=None), local()
        graph.follow("acme")
        queries = [np.frombuffer(found.vector, "<f4") for found in many[::17]]
        for _ in range(2):
            for query in queries:
                assert _ranked(graph, query) == _ranked(exact, query)
            graph.settle("acme")
        assert _coverage(graph) is not None

    def test_it_goes_on_where_chunks_come_and_go(
        self, store: Store, many: list[Chunk], local: Callable[..., LocalCandidates]
    ) -> None:
        """New ones are compared beside it, those that are gone are passed over; at some time it is built anew."""
        exact, graph = local(exact_up_to=1_000, index_folder=None), local()
        graph.follow("acme")
        graph.settle("acme")
        first = _coverage(graph).graph
        more = _around(20, seed=2, prefix="more")
        write(store, "acme", more[:10], [found.chunk_id for found in many[:5]])
        for candidates in (exact, graph):
            candidates.follow("acme")
        graph.settle("acme")
        assert _coverage(graph).graph is first, "a little is no reason"
        for found in (many[0], many[9], more[3]):
            query = np.frombuffer(found.vector, "<f4")
            assert _ranked(graph, query) == _ranked(exact, query)
        write(store, "acme", more, [found.chunk_id for found in many[:40]])
        for candidates in (exact, graph):
            candidates.follow("acme")
        graph.settle("acme")
        assert _coverage(graph).graph is not first
        for found in (many[0], many[90], more[13]):
            query = np.frombuffer(found.vector, "<f4")
            assert _ranked(graph, query) == _ranked(exact, query)

    def test_it_is_given_up_where_few_are_left(
        self, store: Store, many: list[Chunk], local: Callable[..., LocalCandidates]
    ) -> None:
        """Then a scan is quicker."""
        graph = local()
        graph.follow("acme")
        graph.settle("acme")
        write(store, "acme", removed=[found.chunk_id for found in many[50:]])
        graph.follow("acme")
        assert _moment(graph).coverage is None
        assert len(_near(graph, 300)) == 50

    def test_it_is_kept_and_found_again(
        self, many: list[Chunk], local: Callable[..., LocalCandidates], tmp_path: Path
    ) -> None:
        """In a file that is the user's own; the next start builds nothing."""
        first = local()
        first.follow("acme")
        first.settle("acme")
        (path,) = (tmp_path / "index").iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
        assert (tmp_path / "index").stat().st_mode & 0o777 == 0o700
        made = path.stat().st_mtime_ns
        second = local()
        second.follow("acme")
        second.settle("acme")
        query = np.frombuffer(many[7].vector, "<f4")
        assert _ranked(second, query) == _ranked(first, query)
        assert _coverage(second).graph.index.expansion_search == (
            _coverage(first).graph.index.expansion_search
        )
        assert [(found, found.stat().st_mtime_ns) for found in path.parent.iterdir()] == [
            (path, made)
        ]

    def test_another_tenants_file_means_nothing(
        self, store: Store, many: list[Chunk], local: Callable[..., LocalCandidates], tmp_path: Path
    ) -> None:
        """Its keys are of other chunks: a graph of the tenant's own is built in its place."""
        assert many
        write(store, "bolt", _around(300, seed=3))
        first = local()
        for name in ("acme", "bolt"):
            first.follow(name)
            first.settle(name)
        prefix = {name: _prefix(name) for name in ("acme", "bolt")}
        folder = tmp_path / "index"
        (foreign,) = folder.glob(f"{prefix['bolt']}-*")
        for own in folder.glob(f"{prefix['acme']}-*"):
            own.unlink()
        foreign.rename(folder / foreign.name.replace(prefix["bolt"], prefix["acme"]))
        second = local()
        second.follow("acme")
        second.settle("acme")
        assert not _coverage(second).is_outdated(_moment(second).usable)
        assert len(list(folder.glob(f"{prefix['acme']}-*"))) == 1

    @pytest.mark.parametrize("harm", ["cut", "changed", "emptied", "of another kind"])
    def test_a_file_that_was_harmed_is_built_again(
        self,
        many: list[Chunk],
        local: Callable[..., LocalCandidates],
        tmp_path: Path,
        harm: str,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """It is not trusted, and said so in the log."""
        first = local()
        first.follow("acme")
        first.settle("acme")
        (path,) = (tmp_path / "index").iterdir()
        whole = path.read_bytes()
        middle = len(whole) // 2
        harmed = {
            "cut": whole[:-100],
            "changed": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "emptied": b"",
            "of another kind": b"hello",
        }[harm]
        path.write_bytes(harmed)
        if harm == "of another kind":
            path.rename(path.with_name(_named_for(path.name, harmed)))
        second = local()
        with caplog.at_level(logging.WARNING, "knobctl.server.candidates"):
            second.follow("acme")
            second.settle("acme")
        assert "is built again" in caplog.text
        query = np.frombuffer(many[7].vector, "<f4")
        assert _ranked(second, query) == _ranked(first, query)
        assert _coverage(second) is not None
        (mended,) = (tmp_path / "index").iterdir()
        assert mended.read_bytes() == whole, "the same rows give the same graph"

    def test_a_folder_that_cannot_be_made_breaks_nothing(
        self,
        many: list[Chunk],
        local: Callable[..., LocalCandidates],
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """The graph is used all the same; it is only not kept."""
        (tmp_path / "taken").write_text("a file")
        graph = local(index_folder=tmp_path / "taken")
        with caplog.at_level(logging.WARNING, "knobctl.server.candidates"):
            graph.follow("acme")
            graph.settle("acme")
        assert "was not kept" in caplog.text
        assert _coverage(graph) is not None
        assert _ranked(graph, np.frombuffer(many[7].vector, "<f4"))

    def test_a_full_disk_breaks_nothing(self, tmp_path: Path, many: list[Chunk]) -> None:
        """A process that may write no more bytes searches on, and leaves no part of a file behind."""
        assert many
        answer = subprocess.run(
            [sys.executable, "-c", FULL_DISK, str(tmp_path)],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        )
        assert answer.stdout.split() == ["True", "10", "[]"], answer.stderr
        assert "was not kept" in answer.stderr

    def test_closing_does_not_wait_for_it(
        self, store: Store, local: Callable[..., LocalCandidates]
    ) -> None:
        """What is being built is given up."""
        write(store, "acme", _around(6_000, seed=4))
        graph = local()
        graph.follow("acme")
        graph.close()
        assert not [thread for thread in threading.enumerate() if "graph" in thread.name]


FULL_DISK = """
import logging, resource, sys
from pathlib import Path
import numpy as np
from knobctl.knobs import load_catalogue
from knobctl.server.candidates.local import LocalCandidates
from knobctl.server.store import open_store
logging.basicConfig()
folder = Path(sys.argv[1])
store = open_store(f"embedded:{folder / 'engine.db'}", load_catalogue())
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
candidates = LocalCandidates(store, index_folder=folder / "index", exact_up_to=100)
candidates.follow("acme")
candidates.settle("acme")
print(candidates._tenants["acme"].moment.coverage is not None)
query = np.eye(8, dtype=np.float32)[0]
print(len(candidates.by_vector("acme", query, limit=10, sources=None)))
print(list((folder / "index").iterdir()))
"""


class Interrupted:
    """A store whose catalogue gives so many pages of changes, and then fails."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.pages_left = 99

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._store.reading() as session:
            yield InterruptedSession(session, self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class InterruptedSession:
    """A session that counts pages."""

    def __init__(self, session: Session, interrupted: Interrupted) -> None:
        self._corpus, self._interrupted = session.corpus, interrupted

    @property
    def corpus(self) -> InterruptedSession:
        return self

    def changes(self, tenant: str, *, after: int, limit: int) -> Any:
        self._interrupted.pages_left -= 1
        if self._interrupted.pages_left < 0:
            raise StoreUnavailableError("the connection is gone")
        return self._corpus.changes(tenant, after=after, limit=limit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._corpus, name)


class Shared:
    """A store for the examples of a property, and tenants for them."""

    def __init__(self) -> None:
        self.store: Store
        self._tenants = 0

    def new_tenant(self) -> str:
        self._tenants += 1
        return f"tenant-{self._tenants}"


_SHARED = Shared()


@pytest.fixture(scope="module", autouse=True)
def _shared(tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue) -> Iterator[None]:
    _SHARED.store = _opened(tmp_path_factory.mktemp("shared"), catalogue)
    yield
    _SHARED.store.close()


def _opened(folder: Path, catalogue: Catalogue) -> Store:
    store = open_store(f"embedded:{folder / 'engine.db'}", catalogue)
    with store.writing() as session:
        session.corpus.set_embedder(IDENTITY)
    return store


@st.composite
def _chunks(draw: st.DrawFn) -> Chunk:
    return chunk(
        draw(st.sampled_from(NAMES)),
        " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=5))),
        source_id=draw(st.sampled_from("xyz")),
        vector=draw(st.sampled_from(VECTORS)),
    )


def _everything(
    candidates: Candidates, tenant: str, limit: int, sources: frozenset[str] | None
) -> list[object]:
    return [
        *(
            candidates.by_words(tenant, text, limit=limit, sources=sources)
            for text in ("heron", "grey river stone", " ".join(WORDS))
        ),
        *(
            candidates.by_vector(tenant, vector, limit=limit, sources=sources)
            for vector in (VECTOR, np.frombuffer(at_angle(20), "<f4"))
        ),
    ]


def _around(count: int, *, seed: int, prefix: str = "c") -> list[Chunk]:
    """Chunks around twenty directions."""
    entropy = random.Random(seed)
    centres = [[entropy.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(20)]
    return [
        chunk(
            f"{prefix}{number:04}",
            vector=unit(*(value + entropy.gauss(0, 0.3) for value in entropy.choice(centres))),
        )
        for number in range(count)
    ]


def _near(candidates: LocalCandidates, limit: int) -> list[str]:
    found = candidates.by_vector("acme", VECTOR, limit=limit, sources=None)
    return [name for name, _ in found]


def _ranked(candidates: LocalCandidates, vector: Vector) -> list[tuple[str, float]]:
    return candidates.by_vector("acme", vector, limit=10, sources=None)


def _moment(candidates: LocalCandidates) -> Any:
    return candidates._tenants["acme"].moment


def _coverage(candidates: LocalCandidates) -> Any:
    return _moment(candidates).coverage


def _prefix(tenant: str) -> str:
    from knobctl.server.candidates import graph_files

    return graph_files._prefix(tenant)


def _named_for(name: str, content: bytes) -> str:
    import hashlib

    return f"{name.rpartition('-')[0]}-{hashlib.sha256(content).hexdigest()}.usearch"
