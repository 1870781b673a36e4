"""Ranked ids: the same from every index over every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from knobctl.server.candidates.interface import CandidatesUnavailableError
from knobctl.server.candidates.nearest import cosines
from tests.server.corpora import DIMENSIONS, at_angle, chunk, unit, write

if TYPE_CHECKING:
    from knobctl.server.candidates.interface import Candidates, Vector
    from knobctl.server.store.corpus import Chunk
    from knobctl.server.store.interface import Store


def vector(packed: bytes = unit(1)) -> Vector:
    return np.frombuffer(packed, "<f4")


class Corpus:
    """One tenant's corpus and its index."""

    def __init__(self, store: Store, candidates: Candidates, tenant: str) -> None:
        self.store, self.index, self.tenant = store, candidates, tenant

    def write(self, *chunks: Chunk, removed: tuple[str, ...] = ()) -> int:
        write(self.store, self.tenant, chunks, removed)
        return self.index.follow(self.tenant)

    def near(
        self, limit: int = 10, sources: frozenset[str] | None = None, to: bytes = unit(1)
    ) -> list[str]:
        found = self.index.by_vector(self.tenant, vector(to), limit=limit, sources=sources)
        return [name for name, _ in found]

    def words(self, text: str, limit: int = 10, sources: frozenset[str] | None = None) -> list[str]:
        return self.index.by_words(self.tenant, text, limit=limit, sources=sources)


@pytest.fixture
def corpus(indexed_store: Store, candidates: Candidates, tenant: str) -> Corpus:
    return Corpus(indexed_store, candidates, tenant)


class TestFollowing:
    """An index holds what the catalogue holds."""

    def test_an_empty_corpus_gives_nothing(self, corpus: Corpus) -> None:
        """No failure, and version 0."""
        assert corpus.index.follow(corpus.tenant) == 0
        assert corpus.near() == corpus.words("anything") == []

    def test_it_follows_writes_replacements_and_removals(self, corpus: Corpus) -> None:
        """And gives the version that it came to."""
        assert corpus.write(chunk("a", "apple"), chunk("b", "berry", vector=at_angle(40))) == 1
        assert (corpus.near(), corpus.words("apple berry")) == (["a", "b"], ["a", "b"])
        assert corpus.write(chunk("a", "cherry", vector=at_angle(80)), chunk("c", "apple")) == 2
        assert (corpus.near(), corpus.words("apple")) == (["c", "b", "a"], ["c"])
        assert corpus.write(removed=("b", "c")) == 3
        assert (corpus.near(), corpus.words("apple berry cherry")) == (["a"], ["a"])
        assert corpus.write(removed=("a",)) == 4
        assert (corpus.near(), corpus.words("cherry")) == ([], [])
        assert corpus.write(chunk("a", "again")) == 5
        assert (corpus.near(), corpus.words("again")) == (["a"], ["a"])

    def test_another_one_on_the_same_store_sees_the_same(
        self, corpus: Corpus, another_index: Candidates, indexed_store: Store
    ) -> None:
        """Whichever process wrote: both follow the catalogue."""
        beside = Corpus(indexed_store, another_index, corpus.tenant)
        corpus.write(chunk("a", "apple"), chunk("b", "berry"))
        another_index.follow(corpus.tenant)
        assert beside.words("berry") == ["b"]
        beside.write(chunk("c", "berry", vector=at_angle(10)), removed=("b",))
        corpus.index.follow(corpus.tenant)
        assert corpus.words("berry") == beside.words("berry") == ["c"]
        assert corpus.near() == beside.near() == ["a", "c"]

    def test_a_version_that_the_caller_has_read_leads_to_it(self, corpus: Corpus) -> None:
        """Where the index is behind it, it follows; where it is at it, nothing is missing."""
        corpus.write(chunk("a", "apple"))
        write(corpus.store, corpus.tenant, [chunk("b", "apple")])
        assert corpus.index.follow(corpus.tenant, known=2) == 2
        assert corpus.words("apple") == ["a", "b"]
        assert corpus.index.follow(corpus.tenant, known=2) == 2

    def test_what_is_not_indexed_may_change_too(self, corpus: Corpus) -> None:
        """A chunk with another time or other metadata is where it was."""
        corpus.write(chunk("a", "apple"), chunk("b", "berry"))
        corpus.write(chunk("a", "apple", created_at="2020-01-01T00:00:00.000000Z"))
        assert (corpus.near(), corpus.words("apple")) == (["a", "b"], ["a"])

    def test_tenants_have_nothing_to_do_with_each_other(
        self, corpus: Corpus, other_tenant: str
    ) -> None:
        """The same id in two corpora is two chunks."""
        other = Corpus(corpus.store, corpus.index, other_tenant)
        corpus.write(chunk("a", "apple"), chunk("b", "mine"))
        other.write(chunk("a", "cherry", vector=at_angle(60)))
        assert (corpus.near(), other.near()) == (["a", "b"], ["a"])
        assert (corpus.words("cherry"), other.words("cherry")) == ([], ["a"])
        ((name, cosine),) = other.index.by_vector(other_tenant, vector(), limit=9, sources=None)
        assert name == "a"
        assert cosine == pytest.approx(0.5, abs=1e-6)
        other.write(removed=("a",))
        assert corpus.near() == ["a", "b"]


class TestVectors:
    """By cosine, best first, then by id."""

    def test_the_nearest_first_with_their_cosines(self, corpus: Corpus) -> None:
        """As many as are asked for."""
        angles = {"e": 0, "d": 30, "c": 60, "b": 90, "a": 180}
        corpus.write(*(chunk(name, vector=at_angle(angle)) for name, angle in angles.items()))
        found = corpus.index.by_vector(corpus.tenant, vector(), limit=10, sources=None)
        assert [name for name, _ in found] == ["e", "d", "c", "b", "a"]
        assert [score for _, score in found] == pytest.approx(
            [1, np.sqrt(3) / 2, 0.5, 0, -1], abs=1e-6
        )
        assert all(-1 <= score <= 1 for _, score in found)
        assert corpus.near(limit=2) == ["e", "d"]
        assert corpus.near(limit=2, to=at_angle(180)) == ["a", "b"]

    def test_several_vectors_find_what_each_finds(self, corpus: Corpus) -> None:
        """To the bit, in their order, also where there are none or only one, and within sources."""
        angles = {"e": 0, "d": 30, "c": 60, "b": 90, "a": 180}
        corpus.write(
            *(
                chunk(name, vector=at_angle(angle), source_id="s" if name in "abc" else "t")
                for name, angle in angles.items()
            )
        )
        wanted = [vector(at_angle(angle)) for angle in (0, 95, 170, 95)]
        for vectors in (wanted, wanted[:1], []):
            for sources in (None, frozenset({"s"}), frozenset({"nowhere"})):
                found = corpus.index.by_vectors(corpus.tenant, vectors, limit=3, sources=sources)
                assert found == [
                    corpus.index.by_vector(corpus.tenant, one, limit=3, sources=sources)
                    for one in vectors
                ]

    def test_ties_are_broken_by_id_also_at_the_cut(self, corpus: Corpus) -> None:
        """In the order of code points, whatever the order in which they came."""
        names = [f"{letter}{number:02}" for number in range(20, 0, -1) for letter in "zaZ"]
        corpus.write(*(chunk(name, vector=at_angle(20)) for name in names))
        corpus.write(chunk("best", vector=at_angle(10)), chunk("é", vector=at_angle(20)))
        assert corpus.near(limit=5) == ["best", *sorted(names)[:4]]
        assert corpus.near(limit=62) == ["best", *sorted(names), "é"]

    def test_only_of_the_admitted_sources(self, corpus: Corpus) -> None:
        """As many as are asked for of those, however near the others are."""
        corpus.write(
            *(chunk(f"x{n:02}", source_id="x", vector=at_angle(n)) for n in range(30)),
            *(chunk(f"y{n:02}", source_id="y", vector=at_angle(40 + n)) for n in range(3)),
        )
        assert corpus.near(2, frozenset("y")) == ["y00", "y01"]
        assert corpus.near(9, frozenset("y")) == ["y00", "y01", "y02"]
        assert corpus.near(2, frozenset("xy")) == ["x00", "x01"]
        assert corpus.near(2, frozenset(["nowhere", 'x" or source != "'])) == []
        assert corpus.near(2, frozenset()) == []

    def test_the_cosines_are_those_of_the_catalogue_s_vectors(self, corpus: Corpus) -> None:
        """To the last bit, whatever else is in the list: what is reckoned from the catalogue is the same number."""
        chunks = [chunk(f"c{n}", source_id="xy"[n % 2], vector=at_angle(7 * n)) for n in range(12)]
        corpus.write(*chunks)
        query = vector(at_angle(3))
        reckoned = {
            one.chunk_id: cosines(vector(one.vector)[None], np.zeros(1, np.intp), query).item()
            for one in chunks
        }
        for limit, sources, count in ((12, None, 12), (3, None, 3), (12, frozenset("y"), 6)):
            found = dict(corpus.index.by_vector(corpus.tenant, query, limit=limit, sources=sources))
            assert len(found) == count
            assert found == {name: reckoned[name] for name in found}

    @pytest.mark.parametrize(
        "wrong",
        [
            np.full(DIMENSIONS, np.nan, np.float32),
            np.full(DIMENSIONS, np.inf, np.float32),
            np.zeros(DIMENSIONS + 1, np.float32),
        ],
        ids=["NaN", "infinite", "longer"],
    )
    def test_a_vector_that_cannot_be_compared_is_refused(
        self, corpus: Corpus, wrong: Vector
    ) -> None:
        """Rather than ranked somehow."""
        corpus.write(chunk("a"))
        with pytest.raises(CandidatesUnavailableError):
            corpus.index.by_vector(corpus.tenant, wrong, limit=3, sources=None)


class TestWords:
    """By BM25, best first, then by id."""

    def test_rarer_words_weigh_more(self, corpus: Corpus) -> None:
        """And a text that has both is before texts that have one."""
        corpus.write(
            chunk("common", "the river runs by the old town"),
            chunk("both", "the zeppelin over the river"),
            chunk("rare", "the zeppelin over the bridge"),
            chunk("third", "a river in the north of it"),
            chunk("neither", "nothing of that kind here"),
        )
        assert corpus.words("river zeppelin")[:2] == ["both", "rare"]
        assert set(corpus.words("river zeppelin")) == {"both", "rare", "common", "third"}

    def test_words_are_compared_without_case_and_ending(self, corpus: Corpus) -> None:
        """As English has them."""
        corpus.write(chunk("a", "The RUNNING engines"), chunk("b", "unrelated"))
        for query in ("engine", "run", "Runs", "ENGINES!"):
            assert corpus.words(query) == ["a"], query

    def test_ties_are_broken_by_id_also_at_the_cut(self, corpus: Corpus) -> None:
        """Equal texts have equal scores."""
        names = [f"{letter}{number:02}" for number in range(20, 0, -1) for letter in "zaZ"]
        corpus.write(*(chunk(name, "one grey heron waits") for name in names))
        corpus.write(chunk("best", "heron heron"), chunk("é", "one grey heron waits"))
        assert corpus.words("heron", limit=5) == ["best", *sorted(names)[:4]]
        assert corpus.words("heron waits one grey", limit=4) == sorted(names)[:4]
        assert corpus.words("heron", limit=100) == ["best", *sorted(names), "é"]

    def test_only_of_the_admitted_sources(self, corpus: Corpus) -> None:
        """As many as are asked for of those."""
        corpus.write(
            *(chunk(f"x{n:02}", "heron heron", source_id="x") for n in range(30)),
            *(chunk(f"y{n:02}", "one grey heron", source_id="y") for n in range(3)),
        )
        assert corpus.words("heron", 2, frozenset("y")) == ["y00", "y01"]
        assert corpus.words("heron", 9, frozenset("y")) == ["y00", "y01", "y02"]
        assert corpus.words("heron", 2, frozenset(["x", "y", "more"])) == ["x00", "x01"]
        assert corpus.words("heron", 2, frozenset(["nowhere"])) == []
        assert corpus.words("heron", 2, frozenset()) == []

    @pytest.mark.parametrize(
        "query",
        ["", " ", "\n\t", "the of and", "?!.,;", "😀", "unheard", "\x00", "\ud800"],
        ids=ascii,
    )
    def test_a_query_without_an_indexed_word_gives_nothing(
        self, corpus: Corpus, query: str
    ) -> None:
        """No failure, and not everything."""
        corpus.write(chunk("a", "some text of ours"), chunk("b", "another one"))
        assert corpus.words(query) == []

    @pytest.mark.parametrize(
        "query",
        [
            'heron AND NOT "grey',
            "text:heron",
            "heron^9 OR (",
            "+heron -heron",
            "heron*",
            "[heron TO zebra}",
            "/heron/",
            "heron~2 && ||",
            "\\heron\\",
            "source:x heron IN [1 2]",
            "heron\ud800heron heron",
        ],
        ids=ascii,
    )
    def test_no_syntax_is_read_in_a_query(self, corpus: Corpus, query: str) -> None:
        """Its words are looked up, and nothing is left out because of a sign between them."""
        corpus.write(chunk("a", "one grey heron"), chunk("b", "unrelated"))
        assert corpus.words(query) == ["a"]

    def test_texts_of_any_script_can_be_found(self, corpus: Corpus) -> None:
        """A word is a run of letters, whatever the alphabet."""
        corpus.write(
            chunk("greek", "η θάλασσα είναι"),
            chunk("german", "die Straße über Köln"),
            chunk("japanese", "日本語"),
            chunk("signs", "😀 ☃ — …"),
        )
        for query, name in {"θάλασσα": "greek", "KÖLN": "german", "日本語": "japanese"}.items():
            assert corpus.words(query) == [name], query

    def test_a_very_long_query_is_answered(self, corpus: Corpus) -> None:
        """A hundred kilobytes of words, most of them unknown."""
        corpus.write(chunk("a", "one grey heron"), chunk("b", "unrelated"))
        query = " ".join(f"w{number}" for number in range(16_000)) + " heron"
        assert len(query) > 95_000
        assert corpus.words(query) == ["a"]

    def test_a_text_that_is_gone_counts_no_more(
        self, corpus: Corpus, another_index: Candidates
    ) -> None:
        """Not even in the statistics: what followed every step ranks as what starts now."""
        corpus.write(*(chunk(f"old{n}", "heron zebra zebra") for n in range(20)))
        corpus.write(chunk("h", "heron stone"), chunk("z", "zebra stone"), chunk("s", "stone"))
        corpus.write(chunk("h", "heron stone"), removed=tuple(f"old{n}" for n in range(20)))
        another_index.follow(corpus.tenant)
        fresh = Corpus(corpus.store, another_index, corpus.tenant)
        for query in ("heron zebra stone", "stone zebra", "heron"):
            assert corpus.words(query) == fresh.words(query)
        assert corpus.words("heron zebra") == ["h", "z"]
