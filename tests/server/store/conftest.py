"""Every store, with the catalogue of chunks in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knobctl.server.store import open_store
from tests.server.conftest import STORES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knobctl.knobs import Catalogue
    from knobctl.server.knobs import KnobsService
    from knobctl.server.store.interface import Store


@pytest.fixture
def store(shared_service: KnobsService) -> Store:
    """The store that the tests of a run share; every test has tenants of its own."""
    return shared_service.store


@pytest.fixture(params=STORES)
def new_store(
    request: pytest.FixtureRequest, tmp_path: Path, catalogue: Catalogue
) -> Iterator[Store]:
    """A store that holds nothing."""
    opened = open_store(STORES[request.param](tmp_path), catalogue)
    yield opened
    opened.close()
