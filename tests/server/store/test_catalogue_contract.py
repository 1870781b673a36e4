"""The catalogue of chunks: the same over every store."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knobctl.server.store.corpus import Changes, Chunk, Description, EmbedderIdentity, SourceCount
from knobctl.server.store.interface import StoreUnavailableError
from tests.server.corpora import IDENTITY, NOON, at_angle, chunk, unit, write

if TYPE_CHECKING:
    from knobctl.server.store.interface import Store

AWKWARD = (
    "a%",
    "a_b",
    "A",
    "a",
    "ab",
    "é",
    "日本",
    "😀",
    "'; DROP TABLE chunks; --",
    '"',
    "\\",
    " ",
)


class TestVersions:
    """A corpus has a version, and every change adds one."""

    def test_a_corpus_that_was_never_written_is_at_nothing(self, store: Store, tenant: str) -> None:
        """Version 0, no chunks, and not among the tenants."""
        with store.reading() as session:
            assert session.corpus.version(tenant) == 0
            assert tenant not in list(session.corpus.tenants())
            changes = session.corpus.changes(tenant, after=0, limit=10)
        assert (changes.version, changes.written, changes.complete) == (0, (), True)

    def test_every_change_adds_one(self, store: Store, tenant: str) -> None:
        """Writing, replacing and removing alike, however many chunks they are."""
        assert write(store, tenant, [chunk("a"), chunk("b")]) == 1
        assert write(store, tenant, [chunk("a", "new")]) == 2
        assert write(store, tenant, removed=["a", "b"]) == 3
        with store.reading() as session:
            assert session.corpus.version(tenant) == 3

    def test_nothing_to_do_is_no_change(self, store: Store, tenant: str) -> None:
        """Neither an empty write nor removing what is not there."""
        assert write(store, tenant) == 0
        write(store, tenant, [chunk("a")])
        assert write(store, tenant, removed=["nobody"]) == 1

    def test_tenants_have_versions_of_their_own(
        self, store: Store, tenant: str, other_tenant: str
    ) -> None:
        """And chunks of the same id that have nothing to do with each other."""
        write(store, tenant, [chunk("a", "mine")])
        write(store, other_tenant, [chunk("a", "theirs")])
        write(store, other_tenant, removed=["a"])
        with store.reading() as session:
            assert session.corpus.version(tenant) == 1
            assert session.corpus.chunks(tenant, ["a"])["a"].text == "mine"
            assert session.corpus.chunks(other_tenant, ["a"]) == {}
            assert {tenant, other_tenant} <= set(session.corpus.tenants())

    def test_tenants_come_by_name(self, store: Store, tenant: str, other_tenant: str) -> None:
        """In the order of code points."""
        for name in (other_tenant, f"{tenant}B", f"{tenant}a", tenant):
            write(store, name, [chunk("a")])
        with store.reading() as session:
            names = list(session.corpus.tenants())
        assert names == sorted(names)

    def test_a_session_that_fails_changes_nothing(self, store: Store, tenant: str) -> None:
        """Neither the chunks nor the version."""

        def write_and_fail() -> None:
            with store.ingesting(tenant) as session:
                session.corpus.write(tenant, [(chunk("a"), "digest")], [])
                raise OSError("in the middle of it")

        with pytest.raises(OSError, match="in the middle"):
            write_and_fail()
        with store.reading() as session:
            assert session.corpus.version(tenant) == 0
            assert session.corpus.chunks(tenant, ["a"]) == {}

    def test_writers_of_one_corpus_take_turns(self, store: Store, tenant: str) -> None:
        """No version is given twice, and no write is lost."""
        versions: list[int] = []

        def write_some(name: str) -> None:
            versions.extend(write(store, tenant, [chunk(f"{name}{n}")]) for n in range(5))

        threads = [threading.Thread(target=write_some, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(versions) == list(range(1, 16))
        with store.reading() as session:
            assert session.corpus.describe(tenant, None).chunks == 15


class TestChunks:
    """What is written is read back."""

    def test_a_chunk_is_read_back_whole(self, store: Store, tenant: str) -> None:
        """Text, source, time, metadata; its vector where it is asked for."""
        written = chunk(
            "d#1",
            'Über 日本 😀 "quoted"\n\ttabbed \\ ' + "long " * 30_000,
            document_id="d",
            source_id="wiki",
            metadata={"lang": "de", "empty": "", "ключ": "значение"},
            vector=at_angle(30),
        )
        write(store, tenant, [written])
        with store.reading() as session:
            assert session.corpus.chunks(tenant, ["d#1"], vectors=True) == {"d#1": written}
            assert session.corpus.chunks(tenant, ["d#1"])["d#1"].vector == b""

    def test_awkward_ids_are_ids(self, store: Store, tenant: str) -> None:
        """Nothing in them is a pattern, a quote or another letter."""
        write(store, tenant, [chunk(name, f"text of {name}") for name in AWKWARD])
        with store.reading() as session:
            for name in AWKWARD:
                assert session.corpus.chunks(tenant, [name])[name].text == f"text of {name}"
                assert session.corpus.pieces(tenant, chunk_id=name) == [name]
                document = f"doc of {name}"
                assert session.corpus.documents_of(tenant, [document]) == {document: [name]}

    def test_chunks_that_are_not_there_are_left_out(self, store: Store, tenant: str) -> None:
        """Of many more ids than a statement can have places."""
        write(store, tenant, [chunk("a")])
        many = ["a", *(f"nobody {number}" for number in range(70_000))]
        with store.reading() as session:
            assert list(session.corpus.chunks(tenant, many)) == ["a"]
            assert list(session.corpus.digests(tenant, many)) == ["a"]
            assert session.corpus.created(tenant, many) == {"a": NOON}
            assert session.corpus.chunks(tenant, []) == {}

    def test_a_replaced_chunk_is_the_new_one_only(self, store: Store, tenant: str) -> None:
        """Its digest and all that belongs to it."""
        write(store, tenant, [chunk("a", "old", metadata={"k": "v"})])
        with store.ingesting(tenant) as session:
            session.corpus.write(tenant, [(chunk("a", "new", document_id="d"), "digest 2")], [])
        with store.reading() as session:
            assert session.corpus.digests(tenant, ["a"]) == {"a": "digest 2"}
            found = session.corpus.chunks(tenant, ["a"])["a"]
            assert (found.text, found.document_id, found.metadata) == ("new", "d", {})
            assert session.corpus.documents_of(tenant, ["doc of a", "d"]) == {"d": ["a"]}

    def test_written_and_removed_at_once_is_written(self, store: Store, tenant: str) -> None:
        """A document that is replaced names its old pieces as removed."""
        write(store, tenant, [chunk("a"), chunk("b")])
        write(store, tenant, [chunk("a", "new")], removed=["a", "b"])
        with store.reading() as session:
            assert list(session.corpus.chunks(tenant, ["a", "b"])) == ["a"]
            changes = session.corpus.changes(tenant, after=1, limit=10)
        assert ([found.chunk_id for found in changes.written], changes.removed) == (["a"], ("b",))

    def test_pieces_of_a_chunk_are_what_splitting_made(self, store: Store, tenant: str) -> None:
        """The chunk itself and its numbered pieces; no other id that begins alike."""
        own = ["x", "x#1", "x#2", "x#10"]
        others = ["x#", "x#a", "x#1a", "x#0", "x#1#1", "xy", "xy#1", "X#1", "x$1"]
        write(store, tenant, [chunk(name) for name in own + others])
        with store.reading() as session:
            assert session.corpus.pieces(tenant, chunk_id="x") == sorted(own)
            assert session.corpus.pieces(tenant, chunk_id="nobody") == []

    def test_pieces_of_a_document_are_its_chunks(self, store: Store, tenant: str) -> None:
        """Whatever they are called."""
        write(store, tenant, [chunk(name, document_id="d") for name in "bac"] + [chunk("z")])
        with store.reading() as session:
            assert session.corpus.pieces(tenant, document_id="d") == ["a", "b", "c"]
            assert session.corpus.pieces(tenant, document_id="none") == []


class TestChanges:
    """An index is brought forward from any version."""

    def test_from_nothing_it_is_the_whole_corpus(self, store: Store, tenant: str) -> None:
        """By id, with vectors, and without what is gone: an empty index need not be told."""
        write(store, tenant, [chunk("b", vector=at_angle(10)), chunk("c"), chunk("a")])
        write(store, tenant, removed=["c"])
        with store.reading() as session:
            changes = session.corpus.changes(tenant, after=0, limit=10)
        assert [found.chunk_id for found in changes.written] == ["a", "b"]
        assert changes.written[1].vector == at_angle(10)
        assert (changes.version, changes.removed, changes.complete) == (2, (), True)

    def test_what_came_later_is_told_once(self, store: Store, tenant: str) -> None:
        """A chunk as it is now, whatever became of it on the way."""
        write(store, tenant, [chunk(name) for name in "abc"])
        write(store, tenant, [chunk("a", "second"), chunk("d")])
        write(store, tenant, [chunk("a", "third")], removed=["b", "d"])
        write(store, tenant, [chunk("b", "again")], removed=["c"])
        with store.reading() as session:
            changes = session.corpus.changes(tenant, after=1, limit=10)
        assert {found.chunk_id: found.text for found in changes.written} == {
            "a": "third",
            "b": "again",
        }
        assert changes.removed == ("c", "d")

    def test_a_page_ends_where_a_version_ends(self, store: Store, tenant: str) -> None:
        """So that the next one can go on behind it: nothing twice, nothing left out."""
        for number, size in enumerate((3, 1, 5, 2)):
            write(store, tenant, [chunk(f"{number}-{place}") for place in range(size)])
        write(store, tenant, removed=["0-0"])
        after = 0
        pages: list[Changes] = []
        with store.reading() as session:
            while not pages or not pages[-1].complete:
                pages.append(session.corpus.changes(tenant, after=after, limit=2))
                after = pages[-1].version
        assert [len(page.written) for page in pages if page.written] == [2, 6, 2]
        names = [found.chunk_id for page in pages for found in page.written]
        assert len(names) == len(set(names)) == 10
        assert [name for page in pages for name in page.removed] == ["0-0"]

    @settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
    @given(
        steps=st.lists(
            st.tuples(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef"))),
            max_size=6,
        ),
        limit=st.integers(1, 4),
    )
    def test_following_from_any_version_leads_to_the_same(
        self, store: Store, steps: list[tuple[set[str], set[str]]], limit: int
    ) -> None:
        """A follower that joins late, and one that was there all the time, hold what the catalogue holds."""
        tenant = f"followed-{next(_FOLLOWED)}"
        always: dict[str, str] = {}
        seen = 0
        for number, (written, removed) in enumerate(steps):
            chunks = [chunk(name, f"{name} {number}") for name in sorted(written)]
            write(store, tenant, chunks, removed)
            seen = _follow(store, tenant, always, seen, limit)
        late: dict[str, str] = {}
        _follow(store, tenant, late, 0, limit)
        with store.reading() as session:
            there = session.corpus.chunks(tenant, "abcdef")
        assert always == late == {name: found.text for name, found in there.items()}


class TestRecent:
    """The recency ranker: newest first, then by id."""

    def test_newest_first_then_by_id(self, store: Store, tenant: str) -> None:
        """Whatever the order in which they came, and in the order of code points."""
        times = {"m": 3, "B": 2, "a": 2, "é": 2, "😀": 2, "z": 1, "k": 4, "\ue000": 2}
        write(store, tenant, [_at(name, minute) for name, minute in times.items()])
        write(store, tenant, [_at("late", 0)])
        assert _recent(store, tenant) == ["k", "m", "B", "a", "é", "\ue000", "😀", "z", "late"]
        assert _recent(store, tenant, limit=3) == ["k", "m", "B"]
        assert _recent(store, tenant, limit=0) == []

    def test_not_before_a_time(self, store: Store, tenant: str) -> None:
        """The time itself is in."""
        write(store, tenant, [_at(name, minute) for minute, name in enumerate("abcd")])
        assert _recent(store, tenant, since=_time(2)) == ["d", "c"]
        assert _recent(store, tenant, since=_time(9)) == []

    def test_only_of_the_admitted_sources(self, store: Store, tenant: str) -> None:
        """A source that is not among them is silently not there; no source is no chunk."""
        write(
            store,
            tenant,
            [_at(f"{source}{minute}", minute, source) for source in "xyz" for minute in range(3)],
        )
        assert _recent(store, tenant, frozenset("xz"), limit=3) == ["x2", "z2", "x1"]
        assert _recent(store, tenant, frozenset(["nowhere", "y"])) == ["y2", "y1", "y0"]
        assert _recent(store, tenant, frozenset()) == []
        assert _recent(store, tenant, frozenset(["x' OR '1'='1"])) == []

    def test_a_replaced_chunk_has_its_new_time(self, store: Store, tenant: str) -> None:
        """And only that."""
        write(store, tenant, [_at("a", 1), _at("b", 2)])
        write(store, tenant, [_at("a", 3)])
        assert _recent(store, tenant) == ["a", "b"]

    @settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
    @given(
        minutes=st.dictionaries(
            st.text("abcABCé#", min_size=1, max_size=3), st.integers(0, 4), min_size=1, max_size=12
        )
    )
    def test_it_is_the_order_of_times_and_ids(self, store: Store, minutes: dict[str, int]) -> None:
        """For any times: fails where rows come unsorted."""
        tenant = f"recent-{next(_FOLLOWED)}"
        write(store, tenant, [_at(name, minute) for name, minute in minutes.items()])
        expected = sorted(minutes, key=lambda name: (-minutes[name], name))
        assert _recent(store, tenant) == expected


class TestDescribe:
    """Counts and times."""

    def test_an_empty_corpus(self, store: Store, tenant: str) -> None:
        """Nothing, from no time to no time."""
        with store.reading() as session:
            assert session.corpus.describe(tenant, None) == Description(
                version=0, documents=0, chunks=0, sources=(), oldest="", newest=""
            )

    def test_documents_and_chunks_are_counted_by_source(self, store: Store, tenant: str) -> None:
        """A document with chunks of two sources is one document, and one of each."""
        write(
            store,
            tenant,
            [
                chunk("a", document_id="d", source_id="x", created_at=_time(3)),
                chunk("b", document_id="d", source_id="x", created_at=_time(1)),
                chunk("c", document_id="d", source_id="y", created_at=_time(2)),
                chunk("e", document_id="f", source_id="y", created_at=_time(4)),
            ],
        )
        with store.reading() as session:
            assert session.corpus.describe(tenant, None) == Description(
                version=1,
                documents=2,
                chunks=4,
                sources=(
                    SourceCount(source_id="x", documents=1, chunks=2),
                    SourceCount(source_id="y", documents=2, chunks=2),
                ),
                oldest=_time(1),
                newest=_time(4),
            )
            seen = session.corpus.describe(tenant, frozenset("x"))
        assert (seen.documents, seen.chunks, seen.newest) == (1, 2, _time(3))
        assert [source.source_id for source in seen.sources] == ["x"]

    def test_no_admitted_source_is_nothing(self, store: Store, tenant: str) -> None:
        """But for the version, which says that something changed."""
        write(store, tenant, [chunk("a")])
        with store.reading() as session:
            seen = session.corpus.describe(tenant, frozenset())
        assert (seen.version, seen.documents, seen.chunks, seen.oldest) == (1, 0, 0, "")


def test_positions_of_other_indexes_are_kept(store: Store, tenant: str, other_tenant: str) -> None:
    """By index and tenant."""
    with store.writing() as session:
        assert session.corpus.indexed("milvus one", tenant) == 0
        session.corpus.set_indexed("milvus one", tenant, 3)
        session.corpus.set_indexed("milvus one", tenant, 5)
    with store.reading() as session:
        assert session.corpus.indexed("milvus one", tenant) == 5
        assert session.corpus.indexed("milvus one", other_tenant) == 0
        assert session.corpus.indexed("milvus two", tenant) == 0


def test_a_store_knows_what_made_its_vectors(new_store: Store) -> None:
    """One embedder, kept with the first vector and never replaced by another."""
    with new_store.writing() as session:
        assert session.corpus.embedder() is None
        session.corpus.set_embedder(IDENTITY)
    with new_store.writing() as session:
        session.corpus.set_embedder(IDENTITY)
    other = EmbedderIdentity(model="another", revision="2", pooling="cls", dimensions=16)
    with pytest.raises(StoreUnavailableError), new_store.writing() as session:
        session.corpus.set_embedder(other)
    with new_store.reading() as session:
        assert session.corpus.embedder() == IDENTITY


_FOLLOWED = itertools.count()


def _follow(store: Store, tenant: str, held: dict[str, str], after: int, limit: int) -> int:
    with store.reading() as session:
        while True:
            changes = session.corpus.changes(tenant, after=after, limit=limit)
            for name in changes.removed:
                held.pop(name, None)
            held.update({found.chunk_id: found.text for found in changes.written})
            after = changes.version
            if changes.complete:
                return after


def _time(minute: int) -> str:
    return f"2026-03-01T12:{minute:02}:00.000000Z"


def _at(name: str, minute: int, source: str = "default") -> Chunk:
    return chunk(name, created_at=_time(minute), source_id=source, vector=unit(1))


def _recent(
    store: Store,
    tenant: str,
    sources: frozenset[str] | None = None,
    *,
    since: str = "",
    limit: int = 100,
) -> list[str]:
    with store.reading() as session:
        return session.corpus.recent(tenant, sources, since=since, limit=limit)
