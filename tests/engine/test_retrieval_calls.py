"""The calls of retrieval: the same JSON in the process and over HTTP, and what refuses them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knobctl.engine.embedded import EmbeddedEngine
from knobctl.engine.evaluating import evaluated_under
from knobctl.engine.http import HttpEngine
from knobctl.engine.interface import EngineRefusedError, NotOfferedError, TenantNotFoundError
from knobctl.engine.tokens import GivenToken
from knobctl.errors import EngineError
from knobctl.knobs import load_catalogue
from knobctl.server.auth import Caller, local_caller
from knobctl.server.opening import RetrievalParts, Services, open_services
from knobctl.server.retrieval.model import Text
from knobctl.server.retrieval.stored_vectors import stored_vectors
from tests.engine.conftest import QUICK
from tests.given_engine import GivenEngine
from tests.server.doors import served

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from knobctl.engine.interface import Engine

TEXTS = {
    "gates": "Workflow approval gates stop a run until a person approves it.",
    "pause": "The pause endpoint of a workflow stops it at the next step.",
    "canteen": "The canteen serves soup on Mondays.",
}
CALLS: dict[str, dict[str, Any]] = {
    "search": {"query": "approval gates", "topK": 8, "minScore": 0.01},
    "assemble": {
        "task": "approval gates",
        "scope": {"sourceIds": ["default"]},
        "relevance": True,
    },
    "evaluate": {"config": {"rrfK": 10}, "queries": ["approval gates"], "includeText": True},
    "describe": {},
}


def new_services(folder: Any) -> Services:
    """Services over a store of their own."""
    return open_services(
        f"embedded:{folder / 'e.db'}", load_catalogue(), clock=lambda: datetime.now(UTC)
    )


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """An engine that holds three texts of acme."""
    opened = new_services(tmp_path_factory.mktemp("retrieval"))
    assert opened.ingest is not None
    texts = [
        Text(document_id=name, text=text, created_at=f"2026-03-0{at}T09:00:00Z")
        for at, (name, text) in enumerate(TEXTS.items(), 1)
    ]
    opened.ingest.upsert(local_caller("test"), "acme", texts)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def address(services: Services) -> Iterator[str]:
    """Where it is served."""
    with served(services) as found:
        yield found if "://" in found else f"http://{found}"


def over_http(url: str, token: str) -> HttpEngine:
    """A client with a token."""
    tokens = GivenToken(token, "the test")
    return HttpEngine(url, load_catalogue(), tokens=tokens, network=QUICK, notice=print)


@pytest.fixture(params=["in the process", "over HTTP"])
def engine(request: pytest.FixtureRequest, services: Services, address: str) -> Iterator[Engine]:
    """The engine by either way, for a caller of L4."""
    if request.param == "in the process":
        yield EmbeddedEngine("embedded:", services, actor="test")
        return
    token = services.knobs.new_token(Caller(subject="test", clearance=4, tenants=None))
    client = over_http(address, token)
    yield client
    client.close()


def timeless(value: Any) -> Any:
    """An answer without how long it took."""
    if isinstance(value, dict):
        return {name: timeless(one) for name, one in value.items() if name != "latencyMs"}
    return [timeless(one) for one in value] if isinstance(value, list) else value


RANKING = {"queries": ["approval gates", "soup", "zyzzyva"], "rankingOnly": True}
ASKED = [
    *CALLS.items(),
    ("evaluate", {"config": {}, **RANKING}),
    ("evaluate", {"config": {"gateMode": "ENABLED", "gateMinConfident": 1}, **RANKING, "topK": 1}),
    ("evaluate", {"furtherConfigs": [{"rrfK": 1}, {"vectorMinCosine": 0.9}], **RANKING}),
    ("evaluate", {"furtherConfigs": [{}], "rankingOnly": True}),
]


@pytest.mark.parametrize(("name", "request_"), ASKED, ids=str)
def test_both_ways_answer_in_the_same_json(
    services: Services, address: str, name: str, request_: dict[str, Any]
) -> None:
    """The wire's own, lowerCamelCase, whichever way it came."""
    token = services.knobs.new_token(Caller(subject="test", clearance=4, tenants=None))
    client = over_http(address, token)
    inside = getattr(EmbeddedEngine("embedded:", services, actor="test"), name)("acme", request_)
    outside = getattr(client, name)("acme", request_)
    client.close()
    assert timeless(inside) == timeless(outside)


def test_search_finds_and_states_its_floor(engine: Engine) -> None:
    """With a floor of one's own, or Search's 0.7."""
    answer = engine.search("acme", CALLS["search"])
    assert answer["outcome"] == "ok"
    assert {hit["chunkId"] for hit in answer["results"]} == set(TEXTS)
    assert engine.search("acme", {"query": "approval gates"})["effectiveMinScore"] == 0.7


def test_assemble_evaluate_and_describe_answer(engine: Engine) -> None:
    """A prompt, what a proposed set would answer, how much there is."""
    assembled = engine.assemble("acme", CALLS["assemble"])
    assert "approval gates" in assembled["prompt"]
    assert assembled["quality"]["relevance"]["tier"] == "not_measurable", "of three chunks"
    (evaluation,) = engine.evaluate("acme", CALLS["evaluate"])["evaluations"]
    assert len(evaluation["candidates"]) == len(TEXTS)
    assert engine.describe("acme", {})["chunks"] == len(TEXTS)


SETS: list[dict[str, Any]] = [{"retrieval_min_score": at / 20} for at in range(1, 11)]


def test_queries_are_evaluated_under_several_sets(engine: Engine) -> None:
    """Ten sets in the order in which they were given, each as by itself."""
    request = {"queries": ["approval gates", "soup"], "topK": 1}
    found = evaluated_under(engine, "acme", SETS, request)
    alone = [engine.evaluate("acme", {**request, "config": one})["evaluations"] for one in SETS]
    assert timeless(found) == timeless(alone)
    assert [one[0]["quality"]["effectiveMinScore"] for one in found] == [
        one["retrieval_min_score"] for one in SETS
    ]


def test_an_engine_that_knows_no_further_sets_is_asked_for_each(services: Services) -> None:
    """It answers under the first one alone."""

    class Older(EmbeddedEngine):
        def evaluate(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
            known = {name: one for name, one in request.items() if name != "furtherConfigs"}
            return super().evaluate(tenant, known)

    engine = EmbeddedEngine("embedded:", services, actor="test")
    older = Older("embedded:", services, actor="test")
    request = {"queries": ["approval gates"]}
    found = evaluated_under(older, "acme", SETS, request)
    assert timeless(found) == timeless(evaluated_under(engine, "acme", SETS, request))


@pytest.mark.parametrize(
    "request_",
    [{"query": ""}, {"query": "q", "topK": 501}, {"query": "q", "minScore": "NaN"}, {"query": 7}],
    ids=str,
)
def test_a_request_that_is_none_is_refused_by_both_ways(
    engine: Engine, request_: dict[str, Any]
) -> None:
    """The engine's own words, and nothing ran."""
    with pytest.raises(EngineRefusedError) as caught:
        engine.search("acme", request_)
    assert caught.value.code == "invalid_argument"


def test_a_tenant_that_the_token_does_not_hold_is_not_there(
    services: Services, address: str
) -> None:
    """Neither found nor denied."""
    token = services.knobs.new_token(
        Caller(subject="bolt", clearance=4, tenants=frozenset(["bolt"]))
    )
    client = over_http(address, token)
    for name, request in CALLS.items():
        with pytest.raises(TenantNotFoundError):
            getattr(client, name)("acme", request)
    client.close()


def test_search_needs_no_clearance_and_evaluate_does(services: Services, address: str) -> None:
    """What a token of L0 may do."""
    token = services.knobs.new_token(Caller(subject="low", clearance=0, tenants=None))
    client = over_http(address, token)
    assert client.search("acme", CALLS["search"])["results"]
    with pytest.raises(EngineRefusedError) as caught:
        client.evaluate("acme", CALLS["evaluate"])
    assert caught.value.code == "permission_denied"
    client.close()


def test_an_engine_without_retrieval_says_so() -> None:
    """Of the given contract's two methods alone, or of the base install."""
    with GivenEngine({"t": "acme"}) as given:
        client = over_http(given.url, "t")
        with pytest.raises(NotOfferedError, match="does not offer Search"):
            client.search("acme", CALLS["search"])
        client.close()


def test_the_base_install_says_what_to_install(services: Services) -> None:
    """Knobs are there all the same."""
    parts = RetrievalParts(clock=lambda: datetime.now(UTC))
    bare = Services(
        services.knobs, parts, missing="retrieval needs numpy: pip install 'knobctl[engine]'"
    )
    engine = EmbeddedEngine("embedded:", bare, actor="test")
    assert engine.read("acme").knobs == {}
    with pytest.raises(NotOfferedError, match=r"pip install 'knobctl\[engine\]'"):
        engine.search("acme", CALLS["search"])


def test_an_engine_that_cannot_be_reached_is_an_engine_error() -> None:
    """As for knobs."""
    client = over_http("http://127.0.0.1:1", "t")
    with pytest.raises(EngineError, match="could not be reached"):
        client.search("acme", CALLS["search"])
    client.close()


def test_the_store_in_the_process_gives_its_vectors_and_embeds(services: Services) -> None:
    """A row a chunk, by id, of unit length, and the same as its texts are embedded; nothing of a tenant without text."""
    engine = EmbeddedEngine("embedded:", services, actor="test")
    stored = engine.stored_vectors("acme")
    assert stored.chunk_ids == tuple(sorted(TEXTS))
    made = engine.embed([TEXTS[name] for name in stored.chunk_ids])
    assert np.allclose(stored.vectors, made, atol=1e-6)
    assert np.allclose(np.linalg.norm(stored.vectors, axis=1), 1, atol=1e-6)
    assert engine.stored_vectors("nobody").chunk_ids == ()


def test_vectors_are_those_of_the_newest_version_however_they_are_read(tmp_path: Path) -> None:
    """Page by page, with what was written again and what was removed since."""
    services = new_services(tmp_path)
    caller = local_caller("test")
    assert services.ingest is not None
    for text in ("one", "two", "three"):
        services.ingest.upsert(caller, "acme", [Text(document_id=text, text=text)])
    services.ingest.upsert(caller, "acme", [Text(document_id="one", text="another one")])
    services.ingest.delete_documents(caller, "acme", ["two"])
    whole, paged = (stored_vectors(services.knobs.store, "acme", at_once=n) for n in (100, 1))
    assert whole.chunk_ids == paged.chunk_ids == ("one", "three")
    assert (whole.vectors == paged.vectors).all()
    services.close()
