"""The reference engine, in the process and over HTTP, for tests of the client."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from knobctl.engine.embedded import EmbeddedEngine
from knobctl.engine.http import HttpEngine
from knobctl.engine.network import Network
from knobctl.engine.tokens import GivenToken
from knobctl.knobs import load_catalogue
from knobctl.server.auth import Caller
from knobctl.server.knobs import KnobsService, open_service
from knobctl.server.opening import RetrievalParts, Services
from tests.server.doors import served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.engine.interface import Engine

QUICK = Network(answer_timeout_s=5.0, retries=3, backoff_s=0.01, longest_pause_s=1)


class Reference:
    """The reference engine on a port."""

    def __init__(self, service: KnobsService, url: str) -> None:
        self.service = service
        self.url = url
        self.notices: list[str] = []

    def token(self, *tenants: str, clearance: int = 4) -> GivenToken:
        """A token of a new principal; every tenant if none is named."""
        held = frozenset(tenants) or None
        caller = Caller(subject="anna", clearance=clearance, tenants=held)
        return GivenToken(self.service.new_token(caller), "the test")

    def client(self, token: GivenToken, url: str | None = None) -> HttpEngine:
        """A client that carries a token, at the engine's own URL or at a proxy's."""
        return HttpEngine(
            url or self.url,
            load_catalogue(),
            tokens=token,
            network=QUICK,
            notice=self.notices.append,
        )


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    """One reference engine for all tests of the client."""
    store = tmp_path_factory.mktemp("reference") / "engine.db"
    service = open_service(f"embedded:{store}", load_catalogue(), clock=lambda: datetime.now(UTC))
    with served(service) as address:
        yield Reference(service, address if "://" in address else f"http://{address}")
    service.close()


@pytest.fixture(params=["in the process", "over HTTP"])
def engine(request: pytest.FixtureRequest, reference: Reference) -> Iterator[Engine]:
    """The reference engine by either way; the caller holds every tenant."""
    if request.param == "in the process":
        yield in_process(reference)
        return
    client = reference.client(reference.token())
    yield client
    client.close()


def in_process(reference: Reference) -> EmbeddedEngine:
    """The reference engine without the network; the caller is anna, L4."""
    parts = RetrievalParts(clock=lambda: datetime.now(UTC))
    return EmbeddedEngine("embedded:", Services(reference.service, parts), actor="anna")


@pytest.fixture
def tenant(_names: Iterator[str]) -> str:
    """A tenant that no other test has."""
    return next(_names)


@pytest.fixture(scope="session")
def _names() -> Iterator[str]:
    return (f"tenant-{number:04}" for number in itertools.count())
