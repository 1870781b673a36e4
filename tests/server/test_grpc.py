"""gRPC beside Connect, as clients that are not ours see it: buf, and Google's own library."""

from __future__ import annotations

import base64
import json
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from knobctl.knobs import Catalogue
from knobctl.server.auth import Caller
from knobctl.server.opening import open_services
from knobctl.server.wire.bad_request_pb import BadRequest
from knobctl.server.wire.context_pb import SearchRequest, SearchResponse
from knobctl.server.wire.health_pb import (
    HealthCheckRequest,
    HealthCheckResponse,
    HealthListRequest,
    HealthListResponse,
)
from knobctl.server.wire.knobs_pb import ContextEngineKnobsConfig
from knobctl.server.wire.knobs_service_pb import (
    GetContextEngineKnobsConfigRequest,
    GetContextEngineKnobsConfigResponse,
    ListConfigAuditEventsRequest,
    ListConfigAuditEventsResponse,
    UpdateContextEngineKnobsConfigRequest,
    UpdateContextEngineKnobsConfigResponse,
)
from tests.server.doors import SERVICE, ask, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knobctl.server.knobs import KnobsService

CONTEXT, HEALTH = "upsquad.context.v1.ContextEngine", "grpc.health.v1.Health"
ANNA = Caller(subject="anna", clearance=4, tenants=frozenset(["acme"]))
BUF = Path(sys.executable).parent / "buf"
SERVING = HealthCheckResponse.ServingStatus.SERVING
NOT_SERVING = HealthCheckResponse.ServingStatus.NOT_SERVING


class Engine:
    """An engine with a chunk, its address and a token."""

    def __init__(self, address: str, token: str) -> None:
        self.address = address
        self.token = token
        self.target = address.removeprefix("http://")

    @property
    def metadata(self) -> list[tuple[str, str]]:
        return [("authorization", f"Bearer {self.token}")]

    def buf(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(BUF), "curl", "--http2-prior-knowledge", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue) -> Iterator[Engine]:
    """One for this module."""
    url = f"embedded:{tmp_path_factory.mktemp('grpc') / 'engine.db'}"
    services = open_services(url, catalogue, clock=lambda: datetime.now(UTC))
    with served(services) as address:
        engine = Engine(address, services.knobs.new_token(ANNA))
        chunks = [{"documentId": "rain", "text": "Rain falls when moist air cools."}]
        method = "upsquad.context.v1.Ingest/UpsertChunks"
        assert ask(address, method, {"chunks": chunks}, engine.token).status == 200
        yield engine
    services.close()


def unary(channel: grpc.Channel, method: str, answer: Any) -> Any:
    """A call of Google's client, with our messages' bytes."""
    return channel.unary_unary(
        f"/{method}",
        request_serializer=lambda message: message.to_binary(),
        response_deserializer=answer.from_binary,
    )


def watch(channel: grpc.Channel, service: str) -> Any:
    """A running Watch."""
    call = channel.unary_stream(
        f"/{HEALTH}/Watch",
        request_serializer=lambda message: message.to_binary(),
        response_deserializer=HealthCheckResponse.from_binary,
    )
    return call(HealthCheckRequest(service=service))


class TestBuf:
    """Reflection alone, no .proto at hand: the page's grpcurl call."""

    @pytest.mark.parametrize("protocol", ["grpc", "grpcweb", "connect"])
    @pytest.mark.parametrize("reflection", ["grpc-v1", "grpc-v1alpha"])
    def test_search_answers(self, engine: Engine, protocol: str, reflection: str) -> None:
        """The body of the page, over each protocol, with each version of reflection."""
        done = engine.buf(
            *("--protocol", protocol, "--reflect", "--reflect-protocol", reflection),
            *("-H", f"Authorization: Bearer {engine.token}"),
            *("-d", '{"query":"why does rain fall?","topK":10,"minScore":0.01}'),
            f"{engine.address}/{CONTEXT}/Search",
        )
        assert done.returncode == 0, done.stderr
        answered = json.loads(done.stdout)
        assert answered["results"][0]["documentId"] == "rain"
        assert answered["effectiveMinScore"] == 0.01

    def test_every_service_is_listed(self, engine: Engine) -> None:
        """Ours, health, and reflection itself."""
        listed = engine.buf("--protocol", "grpc", "--list-services", engine.address)
        assert set(listed.stdout.split()) == {
            SERVICE,
            CONTEXT,
            "upsquad.context.v1.Ingest",
            HEALTH,
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        }

    def test_a_refusal_comes_with_its_details(self, engine: Engine) -> None:
        """Code, words, and the field."""
        done = engine.buf(
            *("--protocol", "grpc", "-H", f"Authorization: Bearer {engine.token}"),
            *("-d", '{"config": {"retrievalMinScore": 1.5}}'),
            f"{engine.address}/{SERVICE}/UpdateContextEngineKnobsConfig",
        )
        assert done.returncode != 0
        refused = json.loads(done.stderr)
        assert refused["code"] == "invalid_argument"
        (detail,) = refused["details"]
        assert detail["type"] == "google.rpc.BadRequest"
        violations = BadRequest.from_binary(
            base64.b64decode(detail["value"] + "===")
        ).field_violations
        assert [violation.field for violation in violations] == ["retrieval_min_score"]


class TestGooglesClient:
    """grpcio over HTTP/2 without TLS."""

    def test_search_answers(self, engine: Engine) -> None:
        """Compressed or not."""
        with grpc.insecure_channel(engine.target) as channel:
            call = unary(channel, f"{CONTEXT}/Search", SearchResponse)
            request = SearchRequest(query="rain", min_score=0.01)
            for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
                answered = call(request, metadata=engine.metadata, compression=compression)
                assert [hit.document_id for hit in answered.results] == ["rain"]

    def test_a_refusal_comes_with_its_details(self, engine: Engine) -> None:
        """The status of gRPC, and google.rpc.BadRequest in the trailers."""
        with grpc.insecure_channel(engine.target) as channel:
            call = unary(channel, f"{CONTEXT}/Search", SearchResponse)
            with pytest.raises(grpc.RpcError) as refused:
                call(SearchRequest(query="x", top_k=501), metadata=engine.metadata)
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            trailers = dict(refused.value.trailing_metadata())
            assert b"google.rpc.BadRequest" in trailers["grpc-status-details-bin"]
            assert b"top_k" in trailers["grpc-status-details-bin"]
            with pytest.raises(grpc.RpcError) as refused:
                call(SearchRequest(query="x"))
            assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED

    def test_an_unknown_method_is_unimplemented(self, engine: Engine) -> None:
        """So that a client learns that an extension is missing."""
        with grpc.insecure_channel(engine.target) as channel:
            for method in (f"{CONTEXT}/SearchForTomorrow", "another.Service/Get"):
                with pytest.raises(grpc.RpcError) as refused:
                    unary(channel, method, SearchResponse)(SearchRequest())
                assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED

    def test_http_1_carries_no_grpc(self, engine: Engine) -> None:
        """It has no trailers here; the answer says what is needed."""
        said = ask(engine.address, f"{CONTEXT}/Search", b"", Content_Type="application/grpc")
        assert said.status == 505
        assert "HTTP/2" in said.body["message"]


def test_a_large_answer_arrives_whole(tmp_path: Path, open_at: Callable[..., KnobsService]) -> None:
    """More than a megabyte, many times the window of HTTP/2: over gRPC, over HTTP, and compressed."""
    service = open_at(tmp_path / "engine.db")
    token = service.new_token(ANNA)
    for number in range(300):
        service.update(ANNA, "acme", {"rrf_k": 1 + number}, reason="r" * 4000)
    list_events = f"{SERVICE}/ListConfigAuditEvents"
    with served(service) as address:
        with grpc.insecure_channel(address.removeprefix("http://")) as channel:
            call = unary(channel, list_events, ListConfigAuditEventsResponse)
            metadata = [("authorization", f"Bearer {token}")]
            answered = call(ListConfigAuditEventsRequest(page_size=1000), metadata=metadata)
        assert [event.revision for event in answered.events] == [f"r{n}" for n in range(1, 301)]
        for encoding in ("identity", "gzip"):
            said = ask(address, list_events, {"pageSize": 1000}, token, Accept_Encoding=encoding)
            assert len(said.body["events"]) == 300
            assert said.headers["content-encoding"] == encoding


def test_a_deadline_is_kept(tmp_path: Path, open_at: Callable[..., KnobsService]) -> None:
    """grpc-timeout, while another writer holds the store."""
    path = tmp_path / "engine.db"
    service = open_at(path)
    metadata = [("authorization", f"Bearer {service.new_token(ANNA)}")]
    with served(service) as address, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with grpc.insecure_channel(address.removeprefix("http://")) as channel:
            call = unary(
                channel,
                f"{SERVICE}/UpdateContextEngineKnobsConfig",
                UpdateContextEngineKnobsConfigResponse,
            )
            request = UpdateContextEngineKnobsConfigRequest(config=ContextEngineKnobsConfig())
            started = time.monotonic()
            with pytest.raises(grpc.RpcError) as late:
                call(request, metadata=metadata, timeout=0.3)
            assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            assert time.monotonic() - started < 3
        other.rollback()


class TestHealth:
    """grpc.health.v1, open to everybody."""

    def test_check_answers_for_each_service(self, engine: Engine) -> None:
        """And for the whole server; another service is not found."""
        with grpc.insecure_channel(engine.target) as channel:
            check = unary(channel, f"{HEALTH}/Check", HealthCheckResponse)
            for service in ("", SERVICE, CONTEXT, "upsquad.context.v1.Ingest", HEALTH):
                assert check(HealthCheckRequest(service=service)).status is SERVING
            with pytest.raises(grpc.RpcError) as refused:
                check(HealthCheckRequest(service="another.Service"))
            assert refused.value.code() is grpc.StatusCode.NOT_FOUND

    def test_list_answers_for_all(self, engine: Engine) -> None:
        """By name, the empty one for the whole server."""
        with grpc.insecure_channel(engine.target) as channel:
            listed = unary(channel, f"{HEALTH}/List", HealthListResponse)(HealthListRequest())
        assert {one.status for one in listed.statuses.values()} == {SERVING}
        assert {"", SERVICE, CONTEXT} <= listed.statuses.keys()

    def test_retrieval_that_is_not_installed_does_not_serve(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Knobs do, and so does the server as a whole."""
        with (
            served(open_at(tmp_path / "engine.db")) as address,
            grpc.insecure_channel(address.removeprefix("http://")) as channel,
        ):
            check = unary(channel, f"{HEALTH}/Check", HealthCheckResponse)
            found = [
                check(HealthCheckRequest(service=one)).status for one in ("", SERVICE, CONTEXT)
            ]
        assert found == [SERVING, SERVING, NOT_SERVING]

    def test_watch_tells_changes_until_the_server_stops(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Serving, then not where the store is broken, then the end of the stream; an unknown service is said."""
        path = tmp_path / "engine.db"
        told: list[Any] = []
        with served(open_at(path)) as address:
            channel = grpc.insecure_channel(address.removeprefix("http://"))
            unknown = watch(channel, "another.Service")
            assert next(unknown).status is HealthCheckResponse.ServingStatus.SERVICE_UNKNOWN
            watching = watch(channel, "")
            told.append(next(watching).status)
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("DROP TABLE context_engine_knobs")
            told.append(next(watching).status)
            started = time.monotonic()
        assert time.monotonic() - started < 5
        assert told == [SERVING, NOT_SERVING]
        assert list(watching) == []
        channel.close()


class TestStopping:
    """Whatever a client holds open, the server comes to its end."""

    def test_an_open_reflection_stream_ends(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """A client that says nothing more keeps nobody waiting."""
        silent = threading.Event()

        def nothing() -> Iterator[bytes]:
            silent.wait(20)
            yield from ()

        with served(open_at(tmp_path / "engine.db")) as address:
            channel = grpc.insecure_channel(address.removeprefix("http://"))
            reflect = channel.stream_stream(
                "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
            )
            answers = reflect(nothing())
            time.sleep(0.2)
            started = time.monotonic()
        assert time.monotonic() - started < 5
        with pytest.raises(grpc.RpcError) as ended:
            next(answers)
        assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
        silent.set()
        channel.close()

    def test_a_client_that_went_away_is_let_go(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Streams that were cancelled leave nothing behind: the next call is answered, and the end comes at once."""
        with served(open_at(tmp_path / "engine.db")) as address:
            target = address.removeprefix("http://")
            for _ in range(3):
                with grpc.insecure_channel(target) as channel:
                    watching = watch(channel, "")
                    next(watching)
                    watching.cancel()
            with grpc.insecure_channel(target) as channel:
                check = unary(channel, f"{HEALTH}/Check", HealthCheckResponse)
                assert check(HealthCheckRequest()).status is SERVING
            started = time.monotonic()
        assert time.monotonic() - started < 3


def test_an_early_refusal_leaves_the_other_calls_of_a_connection_alone(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """A refused call whose body is still on its way breaks neither its connection nor the server's stop."""
    service = open_at(tmp_path / "engine.db")
    token = service.new_token(ANNA)
    with (
        served(service) as address,
        grpc.insecure_channel(address.removeprefix("http://")) as channel,
    ):
        get = f"{SERVICE}/GetContextEngineKnobsConfig"
        known = [("authorization", f"Bearer {token}"), ("x-tenant-id", "acme")]
        for _ in range(30):
            waiting = unary(channel, get, GetContextEngineKnobsConfigResponse).future(
                GetContextEngineKnobsConfigRequest(), metadata=known
            )
            with pytest.raises(grpc.RpcError) as refused:
                unary(channel, "another.Service/Get", SearchResponse)(
                    SearchRequest(query="x" * 20_000)
                )
            assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
            assert waiting.result().tenant_id == "acme"
