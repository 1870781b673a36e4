"""One service on one store for a whole run of tests; every test has tenants of its own."""

from __future__ import annotations

import itertools
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from knobctl.knobs import Catalogue, load_catalogue
from knobctl.server.auth import Caller
from knobctl.server.knobs import KnobsService, open_service
from tests.server.doors import Door, InProcess, OverHttp, served
from tests.server.services import postgres_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

STORES: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: f"embedded:{folder / 'engine.db'}",
    "postgresql": postgres_url,
}
"""By name, the URL of an empty store; the contract suite runs over each."""


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return load_catalogue()


@pytest.fixture(scope="session", params=STORES)
def shared_service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue
) -> Iterator[KnobsService]:
    url = STORES[request.param](tmp_path_factory.mktemp(request.param))
    service = open_service(url, catalogue, clock=lambda: datetime.now(UTC))
    yield service
    service.close()


@pytest.fixture(scope="session", params=["in process", "over HTTP"])
def door(request: pytest.FixtureRequest, shared_service: KnobsService) -> Iterator[Door]:
    """A way into the service."""
    if request.param == "in process":
        yield InProcess(shared_service)
        return
    with served(shared_service) as address:
        yield OverHttp(shared_service, address)


@pytest.fixture
def tenant(_names: Iterator[str]) -> str:
    """A tenant that no other test has."""
    return next(_names)


@pytest.fixture
def other_tenant(_names: Iterator[str]) -> str:
    """Another one."""
    return next(_names)


@pytest.fixture(scope="session")
def _names() -> Iterator[str]:
    return (f"tenant-{number}" for number in itertools.count())


@pytest.fixture
def editor(tenant: str) -> Caller:
    """Who may edit the test's tenant and nothing else."""
    return Caller(subject="anna", clearance=4, tenants=frozenset([tenant]))


@pytest.fixture
def open_at(catalogue: Catalogue) -> Iterator[Callable[..., KnobsService]]:
    """Opens services on files of the test's own, and closes them."""
    with ExitStack() as stack:

        def opened(
            path: Path | str,
            knobs: Catalogue = catalogue,
            clock: Callable[[], datetime] = lambda: datetime.now(UTC),
            monotonic: Callable[[], float] = time.monotonic,
        ) -> KnobsService:
            service = open_service(f"embedded:{path}", knobs, clock=clock, monotonic=monotonic)
            stack.callback(service.close)
            return service

        yield opened
