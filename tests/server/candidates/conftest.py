"""Every index over every store, with corpora of eight dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knobctl.server.candidates.local import LocalCandidates
from knobctl.server.candidates.milvus import MilvusCandidates
from knobctl.server.store import open_store
from tests.server.conftest import STORES
from tests.server.corpora import IDENTITY
from tests.server.services import milvus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from knobctl.knobs import Catalogue
    from knobctl.server.candidates.interface import Candidates
    from knobctl.server.store.interface import Store


class LocalGraph(LocalCandidates):
    """Local indexes that use a graph from the fourth chunk on, and wait until it is built."""

    def __init__(self, store: Store, index_folder: Path) -> None:
        super().__init__(store, index_folder=index_folder, exact_up_to=3)

    def follow(self, tenant: str, *, known: int | None = None) -> int:
        version = super().follow(tenant, known=known)
        self.settle(tenant)
        return version


INDEXES: dict[str, Callable[[Store, Path], Candidates]] = {
    "local": lambda store, folder: LocalCandidates(store, index_folder=folder),
    "local graph": LocalGraph,
    "milvus": lambda store, _: MilvusCandidates(store, milvus().url),
}
"""By name, how to open one; the contract suite runs over each."""


@pytest.fixture(scope="session", params=STORES)
def indexed_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue
) -> Iterator[Store]:
    """A store of vectors of eight dimensions, shared by the tests of a run."""
    url = STORES[request.param](tmp_path_factory.mktemp(request.param))
    store = open_store(url, catalogue)
    with store.writing() as session:
        session.corpus.set_embedder(IDENTITY)
    yield store
    store.close()


@pytest.fixture(scope="session", params=INDEXES)
def candidates(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    indexed_store: Store,
) -> Iterator[Candidates]:
    """One index, shared by the tests of a run."""
    opened = INDEXES[request.param](indexed_store, tmp_path_factory.mktemp("index"))
    yield opened
    opened.close()


@pytest.fixture
def another_index(
    request: pytest.FixtureRequest, tmp_path: Path, indexed_store: Store
) -> Iterator[Candidates]:
    """A second index of the same kind over the same store, as another process has it."""
    name = request.node.callspec.params["candidates"]
    opened = INDEXES[name](indexed_store, tmp_path)
    yield opened
    opened.close()
