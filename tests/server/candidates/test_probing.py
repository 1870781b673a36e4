"""What off-topic probes come to: the same from every index over every store."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from knobctl.server.candidates.nearest import cosines
from knobctl.server.retrieval.off_topic import Tier
from knobctl.server.retrieval.off_topic_probes import PROBES
from knobctl.server.retrieval.probing import UNKNOWN, Admitted, Probing
from tests.server.corpora import DIMENSIONS, IDENTITY, chunk, unit, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.server.candidates.interface import Candidates
    from knobctl.server.retrieval.embedder import Vectors
    from knobctl.server.store.corpus import Chunk
    from knobctl.server.store.interface import Store


class ByHand:
    """An embedder of eight dimensions: every text has a direction of its own."""

    identity = IDENTITY
    longest = 254

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = [np.random.default_rng(list(one.encode())).normal(size=DIMENSIONS) for one in texts]
        vectors = np.array(rows)
        unit_long: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
            np.float32
        )
        return unit_long


def corpus() -> list[Chunk]:
    """Forty chunks of two sources, in as many directions."""
    return [
        chunk(f"c{at}", vector=unit(*(math.sin(at * part) for part in range(1, 9))), source_id=name)
        for at in range(40)
        for name in ["even" if at % 2 == 0 else "odd"]
    ]


def scanned(chunks: Sequence[Chunk]) -> list[float]:
    """The best cosine of each probe, over every chunk."""
    matrix = np.array([np.frombuffer(one.vector, "<f4") for one in chunks])
    rows = np.arange(len(matrix))
    return [float(cosines(matrix, rows, vector).max()) for vector in ByHand().embed(PROBES)]


@pytest.fixture
def probing(indexed_store: Store, candidates: Candidates, tenant: str) -> Probing:
    write(indexed_store, tenant, corpus())
    candidates.follow(tenant)
    return Probing(indexed_store, ByHand(), candidates)


@pytest.mark.parametrize("sources", [None, frozenset(["even"]), frozenset(["even", "gone"])])
def test_the_maxima_are_those_of_a_scan(
    probing: Probing, tenant: str, sources: frozenset[str] | None
) -> None:
    """Probe by probe, in the order of the probes, over the chunks of the admitted sources."""
    looked_at = [one for one in corpus() if sources is None or one.source_id in sources]

    found = probing.off_topic(Admitted(tenant=tenant, sources=sources, corpus_version=1))

    assert found is not None
    assert list(found.maxima) == pytest.approx(scanned(looked_at), abs=1e-6)
    assert found.chunks == len(looked_at)
    expected = Tier.NO_MATCH if sources is None else Tier.NOT_MEASURABLE
    assert found.relevance(min(found.maxima)).tier is expected


def test_another_version_and_no_source_give_no_label(probing: Probing, tenant: str) -> None:
    """Of a version that is not there nothing is said, and nothing is close in no source."""
    assert probing.off_topic(Admitted(tenant=tenant, sources=None, corpus_version=7)) is None
    nowhere = probing.off_topic(Admitted(tenant=tenant, sources=frozenset(), corpus_version=1))
    assert nowhere == UNKNOWN


def test_no_more_is_remembered_than_there_is_room_for(
    indexed_store: Store, candidates: Candidates, tenant: str
) -> None:
    """The measurement that was used longest ago goes first."""
    write(indexed_store, tenant, corpus())
    probing = Probing(indexed_store, ByHand(), candidates, probes=PROBES[:2], most=2)
    one, two, three = (
        Admitted(tenant=tenant, sources=sources, corpus_version=1)
        for sources in (None, frozenset(["even"]), frozenset(["odd"]))
    )

    first, second = probing.off_topic(one), probing.off_topic(two)
    assert probing.off_topic(one) is first
    probing.off_topic(three)

    assert probing.off_topic(one) is first
    assert probing.off_topic(two) is not second
