"""Probes, metrics, request ids, log lines, limits and the way to stop."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import sqlite3
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.knobs import Catalogue
from knobctl.server.applications import Limits
from knobctl.server.auth import Caller
from knobctl.server.limits import Rate
from knobctl.server.opening import Services, open_services
from knobctl.server.request_id import begin_request
from knobctl.server.request_log import JsonFormatter, NamesItsCall, TextFormatter
from tests.server.doors import SERVICE, ask, served
from tests.server.services import own_milvus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from knobctl.server.knobs import KnobsService

CONTEXT, INGEST = "upsquad.context.v1.ContextEngine", "upsquad.context.v1.Ingest"
GET, UPDATE = f"{SERVICE}/GetContextEngineKnobsConfig", f"{SERVICE}/UpdateContextEngineKnobsConfig"
ANNA = Caller(subject="anna", clearance=4, tenants=frozenset(["acme"]))
ROOT = Caller(subject="root", clearance=5, tenants=None)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue) -> Iterator[Services]:
    """With retrieval, and a corpus of two chunks for acme."""
    url = f"embedded:{tmp_path_factory.mktemp('operability') / 'engine.db'}"
    services = open_services(url, catalogue, clock=lambda: datetime.now(UTC))
    with served(services) as address:
        token = services.knobs.new_token(ANNA)
        chunks = [{"documentId": one, "text": f"{one} is a word"} for one in ("rain", "snow")]
        assert ask(address, f"{INGEST}/UpsertChunks", {"chunks": chunks}, token).status == 200
    yield services
    services.close()


def counts(address: str) -> dict[str, float]:
    """What /metrics tells, by name and labels."""
    text = ask(address, "/metrics").body
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


class TestProbes:
    """/healthz and /readyz, open to everybody."""

    def test_a_live_engine_says_so(self, services: Services) -> None:
        """Both 200, in JSON; HEAD too; nothing but GET and HEAD."""
        with served(services) as address:
            assert ask(address, "/healthz").body == {"alive": True}
            ready = ask(address, "/readyz")
            assert (ready.status, ready.body) == (200, {"ready": True, "reasons": []})
            assert ask(address, "/healthz", {}).status == 405
            connection = http.client.HTTPConnection(address.removeprefix("http://"))
            connection.request("HEAD", "/readyz")
            assert connection.getresponse().status == 200
            connection.close()

    def test_a_broken_store_makes_it_unready_and_not_dead(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """503 with the reason in our words; /healthz stays."""
        path = tmp_path / "engine.db"
        with served(open_at(path)) as address:
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("DROP TABLE context_engine_knobs")
            ready = ask(address, "/readyz")
            assert ready.status == 503
            assert ready.body == {"ready": False, "reasons": ["the store cannot be asked"]}
            assert ask(address, "/healthz").status == 200

    @pytest.mark.parametrize(
        ("embedder", "candidates", "reason"),
        [
            ("openai:http://127.0.0.1:1/v1#m", None, "the embedder did not answer"),
            ("nonsense", None, "retrieval cannot be opened"),
            (None, "milvus:http://127.0.0.1:1", "the index cannot be asked"),
        ],
    )
    def test_what_retrieval_stands_on_is_asked(
        self,
        tmp_path: Path,
        catalogue: Catalogue,
        embedder: str | None,
        candidates: str | None,
        reason: str,
    ) -> None:
        """503 with the part that does not answer, and no text of its own; knobs are answered."""
        services = open_services(
            f"embedded:{tmp_path / 'engine.db'}",
            catalogue,
            clock=lambda: datetime.now(UTC),
            embedder=embedder,
            candidates_url=candidates,
        )
        with served(services) as address:
            ready = ask(address, "/readyz")
            assert (ready.status, ready.body["reasons"]) == (503, [reason])
            assert ask(address, GET, {}, services.knobs.new_token(ANNA)).status == 200
        services.close()

    def test_an_index_that_dies_is_noticed_within_seconds(
        self, tmp_path: Path, catalogue: Catalogue
    ) -> None:
        """It is asked again every second, unlike an embedder that may be paid by the call."""
        server = own_milvus()
        services = open_services(
            f"embedded:{tmp_path / 'engine.db'}",
            catalogue,
            clock=lambda: datetime.now(UTC),
            candidates_url=server.url,
        )
        with served(services) as address:
            assert ask(address, "/readyz").status == 200
            server.stop()
            deadline = time.monotonic() + 15
            while (ready := ask(address, "/readyz")).status == 200:
                assert time.monotonic() < deadline
                time.sleep(0.2)
            assert ready.body["reasons"] == ["the index cannot be asked"]
        services.close()


class TestMetrics:
    """/metrics, of this engine alone."""

    def test_calls_are_counted_by_method_and_code(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """With their times; what reached no method counts under the empty one."""
        service = open_at(tmp_path / "engine.db")
        token = service.new_token(ANNA)
        with served(service) as address:
            ask(address, UPDATE, {"config": {"rrfK": 7}}, token)
            ask(address, UPDATE, {"config": {"rrfK": -7}}, token)
            ask(address, GET, {})
            ask(address, "another.Service/Get", {})
            found = counts(address)
        update, get = (method.rpartition("/")[2] for method in (UPDATE, GET))
        assert found[f'knobctl_calls_total{{code="ok",method="{update}"}}'] == 1
        assert found[f'knobctl_calls_total{{code="invalid_argument",method="{update}"}}'] == 1
        assert found[f'knobctl_calls_total{{code="unauthenticated",method="{get}"}}'] == 1
        assert found['knobctl_calls_total{code="http_404",method=""}'] == 1
        assert found[f'knobctl_call_seconds_count{{method="{update}"}}'] == 2
        assert found['knobctl_knob_writes_total{tenant="acme"}'] == 1

    def test_what_retrieval_came_to_is_counted(self, services: Services) -> None:
        """Outcomes and removed candidates by tenant, rankers, cache, expansions."""
        token = services.knobs.new_token(ANNA)
        with served(services) as address:
            ask(address, f"{CONTEXT}/Search", {"query": "snow", "minScore": 1}, token)
            for _ in range(2):
                ask(address, f"{CONTEXT}/AssembleContext", {"task": "is snow a word?"}, token)
            found = counts(address)
        search = 'method="Search",outcome="below_threshold",tenant="acme"'
        assembly = 'method="AssembleContext",outcome="ok",tenant="acme"'
        assert found[f"knobctl_retrieval_outcomes_total{{{search}}}"] == 1
        assert found[f"knobctl_retrieval_outcomes_total{{{assembly}}}"] == 2
        assert found['knobctl_removed_by_floor_total{method="Search",tenant="acme"}'] >= 1
        assert found['knobctl_cache_lookups_total{result="hit"}'] == 1
        for ranker in ("vector", "bm25", "recency"):
            assert found[f'knobctl_ranker_seconds_count{{ranker="{ranker}"}}'] == 2

    def test_tenants_that_do_not_exist_share_one_label(self, services: Services) -> None:
        """A caller for all tenants can make names up; they do not become series."""
        token = services.knobs.new_token(ROOT)
        with served(services) as address:
            for number in range(3):
                named = {"X_Tenant_Id": f"made-up-{number}"}
                ask(address, f"{CONTEXT}/Search", {"query": "rain"}, token, **named)
                ask(address, GET, {}, token, **named)
            text = ask(address, "/metrics").body
            found = counts(address)
        assert "made-up" not in text
        outcome = 'method="Search",outcome="no_results",tenant=""'
        assert found[f"knobctl_retrieval_outcomes_total{{{outcome}}}"] == 3

    def test_a_store_out_of_reach_is_counted(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Refused calls, and those answered with the last good set."""
        path = tmp_path / "engine.db"
        service = open_at(path)
        service.update(ANNA, "acme", {"rrf_k": 7})
        token = service.new_token(ANNA)
        with served(service) as address:
            assert ask(address, GET, {}, token).status == 200
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("DROP TABLE context_engine_knobs")
            assert ask(address, GET, {}, token).body["lastGood"]
            assert ask(address, UPDATE, {"config": {}}, token).status == 503
            assert counts(address)["knobctl_store_failures_total"] == 2

    def test_a_failed_ranker_is_counted(self, tmp_path: Path, catalogue: Catalogue) -> None:
        """By its name; the others answer."""
        services = open_services(
            f"embedded:{tmp_path / 'engine.db'}",
            catalogue,
            clock=lambda: datetime.now(UTC),
            embedder="openai:http://127.0.0.1:1/v1#m",
        )
        token = services.knobs.new_token(ANNA)
        with served(services) as address:
            said = ask(address, f"{CONTEXT}/Search", {"query": "rain"}, token)
            assert said.body["rankers"]["vector"]["error"] == "the embedder did not answer"
            found = counts(address)
        assert found['knobctl_ranker_failures_total{kind="failed",ranker="vector"}'] == 1
        services.close()


class TestRequestIds:
    """One name for a call in its answer, its log lines and its errors."""

    @pytest.mark.parametrize(
        ("sent", "is_taken"),
        [("deploy-7/a.b:c", True), ("x" * 128, True), ("x" * 129, False), ("a b", False), ("", False), ("é", False)],
    )  # fmt: skip
    def test_a_well_formed_id_is_echoed(
        self, services: Services, sent: str, is_taken: bool
    ) -> None:
        """What could be taken for something else in a log is replaced."""
        with served(services) as address:
            got = ask(address, "/healthz", X_Request_Id=sent).headers["x-request-id"]
        assert (got == sent) is is_taken
        assert got

    def test_every_line_of_a_call_names_it(
        self, services: Services, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The warning of a fan-out, in the thread that makes it, and the line of the call; no token in either."""
        caplog.set_level(logging.DEBUG)
        caplog.handler.addFilter(NamesItsCall())
        token = services.knobs.new_token(ROOT)
        named = {"X_Request_Id": "id-1", "X_Tenant_Id": "empty"}
        with served(services) as address:
            said = ask(address, f"{CONTEXT}/Search", {"query": "rain"}, token, **named)
        assert said.headers["x-request-id"] == "id-1"
        lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
        of_call = {line["logger"]: line for line in lines if line.get("request_id") == "id-1"}
        warned = of_call["knobctl.server.retrieval"]
        assert warned["level"] == "warning"
        assert "fan-out produced zero rows" in warned["message"]
        assert warned["rows"] == {"vector": 0, "bm25": 0, "recency": 0}
        line = of_call["knobctl.server.applications"]
        assert (line["method"], line["tenant"], line["subject"]) == ("Search", "empty", "root")
        assert (line["code"], line["ms"] > 0) == ("ok", True)
        assert token not in json.dumps(lines)

    def test_an_internal_error_says_the_id_and_nothing_else(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """The caller's own id, so that it can be found."""
        broken = open_at(tmp_path / "engine.db", clock=lambda: datetime(2026, 11, 29))  # noqa: DTZ001  a clock without a zone is the defect
        token = open_at(tmp_path / "engine.db").new_token(ANNA)
        with served(broken) as address:
            said = ask(address, UPDATE, {"config": {}}, token, X_Request_Id="id-2")
        assert (said.status, said.body) == (
            500,
            {"code": "internal", "message": "internal error; request id-2"},
        )


class TestLogLines:
    """Text for people, one JSON object a line for machines."""

    def record(self, message: str, **facts: object) -> logging.LogRecord:
        record = logging.makeLogRecord({"name": "knobctl.x", "levelno": 30, "levelname": "WARNING"})
        record.msg, record.created = message, 1764446400.5
        record.__dict__ |= facts
        return record

    def test_json_holds_every_fact(self) -> None:
        """Time in UTC, level, logger, message, id, facts."""
        begin_request("id-3")
        record = self.record("rows\nand more", rows={"bm25": 0})
        assert NamesItsCall().filter(record)
        begin_request("")
        line = JsonFormatter().format(record)
        assert "\n" not in line
        assert json.loads(line) == {
            "time": "2025-11-29T20:00:00.500Z",
            "level": "warning",
            "logger": "knobctl.x",
            "message": "rows\nand more",
            "request_id": "id-3",
            "rows": {"bm25": 0},
        }

    def test_text_is_one_line_whatever_it_holds(self) -> None:
        """A line break of a caller's making does not begin a line."""
        line = TextFormatter().format(self.record("a\nb\x1b[31m", request_id="id-4"))
        assert "\n" not in line
        assert "\x1b" not in line
        assert line.startswith("2025-11-29T20:00:00.500Z WARNING knobctl.x: [id-4] a")

    @pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
    def test_a_stack_is_kept(self, formatter: logging.Formatter) -> None:
        """With either."""
        record = self.record("failed")
        try:
            int("inner")
        except ValueError:
            record.exc_info = sys.exc_info()
        assert "ValueError: invalid literal" in formatter.format(record)


class TestLimits:
    """Calls a second, bytes of headers, and time to send."""

    def test_a_bucket_refills_at_its_rate(self) -> None:
        """Two seconds' worth at once, then as time goes by; each caller has its own."""
        now = 0.0
        rate = Rate(5, monotonic=lambda: now)
        assert [rate.wait_s(ANNA) for _ in range(11)] == [0] * 10 + [1]
        assert rate.wait_s(ROOT) == 0
        now = 0.19
        assert rate.wait_s(ANNA) == 1
        now = 0.21
        assert [rate.wait_s(ANNA), rate.wait_s(ANNA)] == [0, 1]
        now = 1000.0
        assert [rate.wait_s(ANNA) for _ in range(11)] == [0] * 10 + [1]

    def test_a_slow_rate_lets_one_call_through(self) -> None:
        """One in a hundred seconds: the bucket holds one, and the wait is said in whole seconds."""
        rate = Rate(0.01, monotonic=lambda: 0.0)
        assert [rate.wait_s(ANNA), rate.wait_s(ANNA)] == [0, 100]

    def test_too_many_calls_are_told_when_to_come_back(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """429 with Retry-After, before the body is read; probes are free."""
        service = open_at(tmp_path / "engine.db")
        token = service.new_token(ANNA)
        limits = Limits(calls_per_s=1, monotonic=lambda: 0.0)
        with served(service, limits=limits) as address:
            assert [ask(address, GET, {}, token).status for _ in range(2)] == [200, 200]
            refused = ask(address, GET, b"{nonsense", token)
            assert (refused.status, refused.body["code"]) == (429, "resource_exhausted")
            assert refused.headers["retry-after"] == "1"
            assert "more than 1 calls a second" in refused.body["message"]
            assert ask(address, "/healthz").status == 200

    def test_headers_have_a_limit(self, services: Services) -> None:
        """Some 32 KiB; a client that goes on beyond is cut off."""
        with served(services) as address:
            assert ask(address, "/healthz", X_Large="x" * 8_000).status == 200
            host, _, port = address.removeprefix("http://").partition(":")
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Large: " + b"x" * 70_000)
                assert b" 4" in connection.recv(1000)[:14]

    def test_what_is_no_http_is_dropped_in_a_line(
        self, services: Services, caplog: pytest.LogCaptureFixture
    ) -> None:
        """HTTP/2 with a path that is no ASCII, from anybody: no stack, and none of the bytes that were sent."""
        caplog.set_level(logging.INFO)
        frame = b"\x00\x00\x10\x01\x05\x00\x00\x00\x01\x83\x86\x41\x08secret-x\x44\x02/\xff"
        with served(services) as address:
            host, _, port = address.removeprefix("http://").partition(":")
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
                connection.sendall(preface + frame)
                while connection.recv(1000):
                    pass
            assert ask(address, "/healthz").status == 200
        assert "a connection was dropped" in caplog.text
        assert "secret" not in caplog.text
        assert "Traceback" not in caplog.text

    def test_a_body_that_never_ends_does_not_hold_the_server(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Half a body when the server stops: the call is refused, and the end comes soon."""
        service = open_at(tmp_path / "engine.db")
        token = service.new_token(ANNA)
        with served(service) as address:
            host, _, port = address.removeprefix("http://").partition(":")
            connection = socket.create_connection((host, int(port)), timeout=10)
            connection.sendall(
                f"POST /{UPDATE} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                f"Authorization: Bearer {token}\r\nContent-Length: 100\r\n\r\n{{".encode()
            )
            time.sleep(0.2)
            started = time.monotonic()
        assert time.monotonic() - started < 5
        with connection, connection.makefile("rb") as reading:
            answer = reading.read()
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"the engine is stopping" in answer

    @pytest.mark.parametrize(
        ("path", "kind", "status"),
        [
            (GET, "application/json", 401),
            (GET, "text/plain", 415),
            (f"{SERVICE}/Nothing", "application/json", 404),
            ("no.such.Service/Nothing", "application/json", 404),
        ],
    )
    def test_an_answer_before_the_body_says_that_the_connection_ends(
        self, services: Services, path: str, kind: str, status: int
    ) -> None:
        """Else the client's next call on it would be lost."""
        with served(services) as address:
            connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=10)
            with closing(connection):
                connection.putrequest("POST", f"/{path}")
                connection.putheader("Content-Type", kind)
                connection.putheader("Content-Length", "2")
                connection.endheaders()
                answer = connection.getresponse()
                assert (answer.status, answer.headers["connection"]) == (status, "close")

    def test_a_call_that_was_read_whole_leaves_the_connection_open(
        self, services: Services
    ) -> None:
        """Answered or refused, and probes too."""
        token = services.knobs.new_token(ANNA)
        sent = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        with served(services) as address:
            connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=10)
            with closing(connection):
                for method, path, body in [
                    ("POST", f"/{GET}", "{}"),
                    ("POST", f"/{UPDATE}", '{"config": {"rrfK": -1}}'),
                    ("GET", "/healthz", None),
                ]:
                    connection.request(method, path, body, sent)
                    answer = connection.getresponse()
                    answer.read()
                    assert answer.headers["connection"] is None


class TestStopping:
    """First unready, then the calls in flight, then the end."""

    def test_while_draining_it_is_unready_and_answers(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """A balancer sees 503 at /readyz, and calls that still come are answered."""
        service = open_at(tmp_path / "engine.db")
        token = service.new_token(ANNA)
        seen: list[Any] = []

        def look(address: str) -> None:
            while not seen or seen[-1].status == 200:
                seen.append(ask(address, "/readyz"))
            seen.append(ask(address, GET, {}, token))

        with served(service, limits=Limits(drain_s=2.0)) as address:
            looking = threading.Thread(target=look, args=(address,))
            looking.start()
            time.sleep(0.2)
        looking.join()
        *_, unready, answered = seen
        assert unready.body == {"ready": False, "reasons": ["the engine is stopping"]}
        assert answered.status == 200

    def test_a_call_in_flight_is_finished(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """It waits for another writer when the stop comes, and is answered when that is done."""
        path = tmp_path / "engine.db"
        service = open_at(path)
        token = service.new_token(ANNA)
        answers: list[Any] = []
        with closing(sqlite3.connect(path, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            threading.Timer(1.0, other.rollback).start()
            with served(service) as address:
                calling = threading.Thread(
                    target=lambda: answers.append(ask(address, UPDATE, {"config": {}}, token))
                )
                calling.start()
                time.sleep(0.3)
            calling.join()
        assert [answer.status for answer in answers] == [200]

    def test_a_call_that_outlasts_the_grace_is_told_so(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """The store stays with another writer: 503, and that nobody knows what became of the call."""
        path = tmp_path / "engine.db"
        service = open_at(path)
        token = service.new_token(ANNA)
        answers: list[Any] = []
        with closing(sqlite3.connect(path, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            with served(service, limits=Limits(grace_s=0.5)) as address:
                calling = threading.Thread(
                    target=lambda: answers.append(ask(address, UPDATE, {"config": {}}, token))
                )
                calling.start()
                time.sleep(0.3)
            calling.join()
            other.rollback()
        (answer,) = answers
        assert (answer.status, answer.body["code"]) == (503, "unavailable")
        assert "what became of the call is not known" in answer.body["message"]
