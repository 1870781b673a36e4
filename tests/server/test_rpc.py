"""The wire: JSON mapping, errors, headers, limits; what `curl` sees."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import sqlite3
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from http import client as http_client
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from knobctl.knobs import Catalogue, KnobType
from knobctl.server.auth import Caller
from knobctl.server.wire.bad_request_pb import BadRequest
from knobctl.server.wire.knobs_pb import ContextEngineKnobsConfig, KnobMode
from knobctl.server.wire.knobs_service_pb import (
    GetContextEngineKnobsConfigRequest,
    GetContextEngineKnobsConfigResponse,
    UpdateContextEngineKnobsConfigRequest,
)
from knobctl.server.wire.messages import config_message, config_values
from tests.server.doors import SERVICE, OverHttp, RefusedError, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from knobctl.server.knobs import KnobsService

ANNA = Caller(subject="anna", clearance=4, tenants=frozenset(["acme"]))
GET, UPDATE = "GetContextEngineKnobsConfig", "UpdateContextEngineKnobsConfig"


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue) -> Iterator[OverHttp]:
    """One engine over HTTP for this module; each test writes the set that it looks at."""
    from knobctl.server.knobs import open_service

    url = f"embedded:{tmp_path_factory.mktemp('rpc') / 'engine.db'}"
    service = open_service(url, catalogue, clock=lambda: datetime.now(UTC))
    with served(service) as address:
        yield OverHttp(service, address)
    service.close()


def _raw(http: OverHttp, method: str, body: str | bytes, **headers: str) -> tuple[int, Any]:
    sent = {"Authorization": f"Bearer {http.token(ANNA)}", "Content-Type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    return http.post(method, body if isinstance(body, bytes) else body.encode(), sent)


def _config(http: OverHttp, config: str) -> tuple[int, Any]:
    return _raw(http, UPDATE, f'{{"config": {config}}}')


class TestTheJsonMapping:
    """proto3 JSON in, lowerCamelCase out, and no fault of a config hidden by the mapping."""

    def test_the_given_calls_answer_as_printed(self, http: OverHttp) -> None:
        """The two calls of the given page, byte for byte."""
        body = '{"config": {"retrievalMinScore": 0.15, "retrievalVectorTopK": 32}}'
        status, answered = _raw(http, UPDATE, body)
        assert status == 200
        assert answered["changedFieldPaths"] == ["retrieval_min_score", "retrieval_vector_top_k"]
        status, answered = _raw(http, GET, "{}")
        assert status == 200
        assert answered["config"] == {"retrievalMinScore": 0.15, "retrievalVectorTopK": 32}
        assert answered.keys() == {"config", "revision", "updatedAt", "updatedBy", "tenantId"}

    @pytest.mark.parametrize(
        ("config", "stored"),
        [
            ('{"retrieval_min_score": 0.2}', {"retrievalMinScore": 0.2}),
            ('{"retrievalMinScore": "0.2"}', {"retrievalMinScore": 0.2}),
            ('{"retrievalMinScore": 2e-1}', {"retrievalMinScore": 0.2}),
            ('{"retrievalMinScore": 1}', {"retrievalMinScore": 1}),
            ('{"retrievalMinScore": 5e-324}', {"retrievalMinScore": 5e-324}),
            ('{"rrfK": "60"}', {"rrfK": 60}),
            ('{"rrfK": 60.0}', {"rrfK": 60}),
            ('{"rrfK": 6e1}', {"rrfK": 60}),
            ('{"rrfK": -0}', {}),
            ('{"gateMode": "DISABLED"}', {"gateMode": "DISABLED"}),
            ('{"gateMode": 1}', {"gateMode": "ENABLED"}),
            ('{"gateMode": "KNOB_MODE_UNSPECIFIED", "rrfK": 0, "mmrLambda": 0.0}', {}),
            ('{"gateMode": null, "rrfK": null, "mmrLambda": null}', {}),
            ('{"fieldOfTomorrow": {"x": [1]}, "rrfK": 7}', {"rrfK": 7}),
            ("null", {}),
            ("{}", {}),
        ],
    )
    def test_what_is_taken(self, http: OverHttp, config: str, stored: dict[str, Any]) -> None:
        """Both spellings, numbers as texts, unset in every form, unknown fields ignored."""
        status, answered = _config(http, config)
        assert status == 200, answered
        assert answered.get("config", {}) == stored
        assert _raw(http, GET, "{}")[1]["config"] == stored

    @pytest.mark.parametrize(
        ("config", "field"),
        [
            ('{"retrievalMinScore": 1.5}', "retrieval_min_score"),
            ('{"retrievalMinScore": "NaN"}', "retrieval_min_score"),
            ('{"retrievalMinScore": NaN}', "retrieval_min_score"),
            ('{"retrievalMinScore": "Infinity"}', "retrieval_min_score"),
            ('{"retrievalMinScore": "-Infinity"}', "retrieval_min_score"),
            ('{"retrievalMinScore": -0.0}', "retrieval_min_score"),
            ('{"retrievalMinScore": "-0.0"}', "retrieval_min_score"),
            ('{"retrievalMinScore": 1e-400}', "retrieval_min_score"),
            ('{"retrievalMinScore": "1e-400"}', "retrieval_min_score"),
            ('{"retrievalMinScore": 1e400}', "retrieval_min_score"),
            ('{"retrievalMinScore": true}', "retrieval_min_score"),
            ('{"retrievalMinScore": "0,3"}', "retrieval_min_score"),
            ('{"retrievalMinScore": ""}', "retrieval_min_score"),
            ('{"retrievalMinScore": " 0.3"}', "retrieval_min_score"),
            ('{"retrievalMinScore": "1_0"}', "retrieval_min_score"),
            ('{"retrievalMinScore": [0.3]}', "retrieval_min_score"),
            ('{"retrievalMinScore": {}}', "retrieval_min_score"),
            ('{"retrievalMinScore": 0.3, "retrieval_min_score": 0.3}', "retrieval_min_score"),
            ('{"retrievalMinScore": 0.3, "retrievalMinScore": 0.3}', "retrieval_min_score"),
            ('{"rrfK": 60.5}', "rrf_k"),
            ('{"rrfK": "9007199254740993"}', "rrf_k"),
            ('{"rrfK": 2147483648}', "rrf_k"),
            ('{"rrfK": -0.0}', "rrf_k"),
            ('{"rrfK": false}', "rrf_k"),
            ('{"gateMode": "OFF"}', "gate_mode"),
            ('{"gateMode": "enabled"}', "gate_mode"),
            ('{"gateMode": "1"}', "gate_mode"),
            ('{"gateMode": 7}', "gate_mode"),
            ('{"gateMode": -1}', "gate_mode"),
            ('{"gateMode": 1.0}', "gate_mode"),
            ('{"gateMode": true}', "gate_mode"),
        ],
    )
    def test_what_is_refused(self, http: OverHttp, config: str, field: str) -> None:
        """Each with a violation that names the knob; nothing is written."""
        _config(http, '{"rrfK": 33}')
        status, answered = _config(http, config)
        assert (status, answered["code"]) == (400, "invalid_argument")
        assert field in {violation["field"] for violation in _violations(answered)}
        assert _raw(http, GET, "{}")[1]["config"] == {"rrfK": 33}

    @pytest.mark.parametrize(
        "body",
        [
            "",
            "{",
            "[]",
            "null",
            '"x"',
            '{"config": []}',
            '{"config": 5}',
            '{"config": {}, "config": {}}',
            '{"config": {}, "reason": 5}',
            '{"config": {}, "reason": "\\ud800"}',
            b'{"config": {"rrfK": 7}}\xff',
            '{"config": {"rrfK": 7}}'.encode("utf-16"),
            '{"config": ' + "[" * 5000 + "]" * 5000 + "}",
            '{"config": {"x": ' + '{"x":' * 3000 + "1" + "}" * 3002,
            '{"config": {"rrfK": ' + "9" * 5000 + "}}",
        ],
    )
    def test_what_is_no_request_is_refused(self, http: OverHttp, body: str | bytes) -> None:
        """Syntax, shape, encoding, depth: 400, and nothing is written."""
        _config(http, '{"rrfK": 33}')
        status, answered = _raw(http, UPDATE, body)
        assert (status, answered["code"]) == (400, "invalid_argument")
        assert len(answered["message"]) < 400
        assert _raw(http, GET, "{}")[1]["config"] == {"rrfK": 33}

    def test_an_expected_revision_may_be_the_empty_text(self, http: OverHttp) -> None:
        """Left out and empty are two things: unguarded, and "never written"."""
        _config(http, "{}")
        assert _raw(http, UPDATE, '{"config": {}}')[0] == 200
        status, answered = _raw(http, UPDATE, '{"config": {}, "expectedRevision": ""}')
        assert (status, answered["code"]) == (409, "aborted")


def _violations(answered: dict[str, Any]) -> list[dict[str, str]]:
    (detail,) = answered["details"]
    assert detail["type"] == "google.rpc.BadRequest"
    packed = base64.b64decode(detail["value"] + "===")
    violations = [
        {"field": one.field, "description": one.description}
        for one in BadRequest.from_binary(packed).field_violations
    ]
    assert violations == detail["debug"]["fieldViolations"]
    return violations


class TestProtobuf:
    """The binary form of the same messages."""

    def test_a_set_survives_the_binary_form(self, http: OverHttp, catalogue: Catalogue) -> None:
        """Every knob at its largest, there and back."""
        values = {knob.name: _largest(knob) for knob in catalogue}
        request = UpdateContextEngineKnobsConfigRequest(config=config_message(catalogue, values))
        assert self._post(http, UPDATE, request.to_binary())[0] == 200
        body = GetContextEngineKnobsConfigRequest().to_binary()
        answer = GetContextEngineKnobsConfigResponse.from_binary(self._post(http, GET, body)[1])
        assert config_values(catalogue, answer.config) == values

    @pytest.mark.parametrize(
        "config",
        [
            ContextEngineKnobsConfig(retrieval_min_score=-0.0),
            ContextEngineKnobsConfig(retrieval_min_score=float("nan")),
            ContextEngineKnobsConfig(retrieval_min_score=float("inf")),
            ContextEngineKnobsConfig(rrf_k=-1),
            ContextEngineKnobsConfig(gate_mode=KnobMode(7)),
        ],
        ids=str,
    )
    def test_what_no_knob_takes_is_refused(
        self, http: OverHttp, config: ContextEngineKnobsConfig
    ) -> None:
        """Numbers of an enum that nobody knows, and numbers that are none."""
        request = UpdateContextEngineKnobsConfigRequest(config=config)
        status, answered = self._post(http, UPDATE, request.to_binary())
        assert status == 400
        assert _violations(json.loads(answered))

    def test_what_is_no_message_is_refused(self, http: OverHttp) -> None:
        """400, like JSON that is none."""
        status, answered = self._post(http, UPDATE, b"\xff\xff")
        assert (status, json.loads(answered)["code"]) == (400, "invalid_argument")

    def _post(self, http: OverHttp, method: str, body: bytes) -> tuple[int, bytes]:
        request = urllib.request.Request(
            f"{http.address}/{SERVICE}/{method}",
            data=body,
            headers={
                "Content-Type": "application/proto",
                "Authorization": f"Bearer {http.token(ANNA)}",
            },
        )
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()


def _largest(knob: Any) -> Any:
    return knob.choices[-1] if knob.type is KnobType.MODE else knob.canonical(knob.maximum)


class TestHeaders:
    """Who, for whom, how long."""

    @pytest.mark.parametrize(
        "sent", ["", "Bearer", "Bearer ", "Basic {}", "{}", "Bearer {} x", "Bearer x{}"]
    )
    def test_a_call_needs_a_bearer_token(self, http: OverHttp, sent: str) -> None:
        """401 before the body is looked at."""
        status, answered = _raw(http, GET, "{nonsense", Authorization=sent.format(http.token(ANNA)))
        assert (status, answered["code"]) == (401, "unauthenticated")
        assert http.token(ANNA) not in json.dumps(answered)

    def test_the_scheme_is_read_in_any_case(self, http: OverHttp) -> None:
        """As HTTP has it."""
        assert _raw(http, GET, "{}", Authorization=f"bearer {http.token(ANNA)}")[0] == 200

    def test_the_tenant_of_the_header_counts(self, http: OverHttp) -> None:
        """X-Tenant-Id; another's tenant is not found, whoever asks."""
        assert _raw(http, GET, "{}", X_Tenant_Id="acme")[1]["tenantId"] == "acme"
        status, answered = _raw(http, GET, "{}", X_Tenant_Id="other")
        assert (status, answered["code"]) == (404, "not_found")
        status, _ = _raw(http, UPDATE, "{nonsense", X_Tenant_Id="other")
        assert status == 404

    @pytest.mark.parametrize(
        ("tenants", "status"),
        [(["acme", "other"], 400), (["other", "acme"], 400), (["acme", "acme"], 200)],
    )
    def test_a_call_is_for_one_tenant(
        self, http: OverHttp, tenants: list[str], status: int
    ) -> None:
        """A second X-Tenant-Id is neither obeyed nor passed over."""
        connection = http_client.HTTPConnection(http.address.removeprefix("http://"), timeout=10)
        with closing(connection):
            connection.putrequest("POST", f"/{SERVICE}/{GET}")
            for name, value in [
                ("Content-Type", "application/json"),
                ("Content-Length", "2"),
                ("Authorization", f"Bearer {http.token(ANNA)}"),
                *(("X-Tenant-Id", tenant) for tenant in tenants),
            ]:
                connection.putheader(name, value)
            connection.endheaders(b"{}")
            answer = connection.getresponse()
            assert (answer.status, b"X-Tenant-Id" in answer.read()) == (status, status == 400)

    def test_events_take_the_tenant_of_header_or_body(self, http: OverHttp) -> None:
        """The body wins where both stand."""
        _config(http, "{}")
        for body, header in (("{}", "acme"), ('{"tenantId": "acme"}', "other")):
            status, answered = _raw(http, "ListConfigAuditEvents", body, X_Tenant_Id=header)
            assert status == 200
            assert {event["tenantId"] for event in answered["events"]} == {"acme"}

    @pytest.mark.parametrize("sent", ["x", "-1", "99999999999", "1.5"])
    def test_a_time_limit_must_be_one(self, http: OverHttp, sent: str) -> None:
        """Connect-Timeout-Ms holds up to ten digits."""
        assert _raw(http, GET, "{}", Connect_Timeout_Ms=sent)[0] == 400

    def test_only_version_1_of_the_protocol_is_spoken(self, http: OverHttp) -> None:
        """Connect-Protocol-Version is optional."""
        assert _raw(http, GET, "{}", Connect_Protocol_Version="1")[0] == 200
        assert _raw(http, GET, "{}", Connect_Protocol_Version="2")[0] == 400

    def test_unknown_methods_and_services_are_not_found(self, http: OverHttp) -> None:
        """404, from which a client learns that an extension is missing."""
        assert _raw(http, "SearchForTomorrow", "{}")[0] == 404
        request = urllib.request.Request(f"{http.address}/another.Service/Get", data=b"{}")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 404
        refused.value.close()

    def test_other_content_types_are_refused(self, http: OverHttp) -> None:
        """415."""
        assert _raw(http, GET, "{}", Content_Type="text/plain")[0] == 415
        assert _raw(http, GET, "{}", Content_Type="application/json; charset=utf-8")[0] == 200

    def test_a_body_has_a_limit(self, http: OverHttp) -> None:
        """One MiB is taken, one byte more is not."""
        empty = b'{"config": {}}'
        assert _raw(http, UPDATE, empty.ljust(1 << 20))[0] == 200
        large = empty.ljust((1 << 20) + 1)
        for body, packed in ((large, "identity"), (gzip.compress(large), "gzip")):
            status, answered = _raw(http, UPDATE, body, Content_Encoding=packed)
            assert (status, answered["code"]) == (429, "resource_exhausted")
            assert "larger than 1 MiB" in answered["message"]

    def test_packed_bodies_are_unpacked(self, http: OverHttp) -> None:
        """gzip alone; what is none, and other ways to pack, are refused."""
        body = gzip.compress(b'{"config": {"rrfK": 9}}')
        assert _raw(http, UPDATE, body, Content_Encoding="gzip")[0] == 200
        assert _raw(http, UPDATE, b"xx", Content_Encoding="gzip")[0] == 400
        assert _raw(http, UPDATE, b"xx", Content_Encoding="br")[0] == 501

    def test_a_header_that_is_no_text_is_refused(self, http: OverHttp) -> None:
        """400, in our words."""
        connection = http_client.HTTPConnection(http.address.removeprefix("http://"), timeout=10)
        sent: dict[str, str | bytes] = {
            "Content-Type": "application/json",
            "X-Tenant-Id": b"\xff",
        }
        connection.request("POST", f"/{SERVICE}/{GET}", b"{}", sent)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["message"]) == (
            400,
            "a header is no UTF-8",
        )
        connection.close()


def test_a_call_past_its_time_limit_says_so(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """504 while another writer holds the store; reads go on meanwhile."""
    path = tmp_path / "engine.db"
    service = open_at(path)
    with served(service) as address, closing(sqlite3.connect(path)) as other:
        http = OverHttp(service, address)
        http.token(ANNA)
        other.execute("BEGIN IMMEDIATE")
        status, answered = _raw(http, UPDATE, '{"config": {}}', Connect_Timeout_Ms="200")
        assert (status, answered["code"]) == (504, "deadline_exceeded")
        assert _raw(http, GET, "{}")[0] == 200
        other.rollback()


def test_waiting_writers_leave_room_for_readers(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """Forty writers wait for a store that somebody else holds; a reader is answered at once."""
    path = tmp_path / "engine.db"
    service = open_at(path)
    with served(service) as address, closing(sqlite3.connect(path)) as other:
        http = OverHttp(service, address)
        http.token(ANNA)
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(40) as pool:
            writers = [pool.submit(_config, http, '{"rrfK": 7}') for _ in range(40)]
            time.sleep(0.3)
            assert _raw(http, GET, "{}", Connect_Timeout_Ms="2000")[0] == 200
            assert not any(writer.done() for writer in writers)
            other.rollback()
            assert {writer.result()[0] for writer in writers} == {200}


def test_an_internal_error_keeps_its_text_to_itself(
    tmp_path: Path, open_at: Callable[..., KnobsService], caplog: pytest.LogCaptureFixture
) -> None:
    """The caller gets a request id, the log the cause under that id; neither gets the token."""
    caplog.set_level(logging.DEBUG)
    service = open_at(tmp_path / "engine.db")
    token = service.new_token(ANNA)
    broken = open_at(tmp_path / "engine.db", clock=lambda: datetime(2026, 11, 29))  # noqa: DTZ001  a clock without a zone is the defect
    with served(broken) as address:
        http = OverHttp(broken, address)
        sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        status, answered = http.post(UPDATE, b'{"config": {}}', sent)
    assert (status, answered["code"]) == (500, "internal")
    assert answered["message"].startswith("internal error; request ")
    request_id = answered["message"].rpartition(" ")[2]
    assert "zone" not in json.dumps(answered)
    assert request_id in caplog.text
    assert "a time without a zone" in caplog.text
    assert token not in caplog.text


def test_a_damaged_log_can_still_be_read(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """Whoever proves the chain over HTTP must get the broken link, not an error in its place."""
    path = tmp_path / "engine.db"
    service = open_at(path)
    service.update(ANNA, "acme", {"rrf_k": 7})
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER config_audit_events_keep")
        event = json.dumps({"tenant_id": "acme", "after": {"rrf_k": "x", "x": 1}, "before": 5})
        connection.execute("UPDATE config_audit_events SET event = ?", (event,))
    with served(service) as address:
        (event,) = OverHttp(service, address).call("ListConfigAuditEvents", {}, ANNA)["events"]
    assert event == {"tenantId": "acme", "before": {}, "after": {}}


def test_what_the_store_cannot_say_is_unavailable(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """503, without the words of the database; a set that was seen is answered, marked."""
    path = tmp_path / "engine.db"
    service = open_at(path)
    caller = Caller(subject="anna", clearance=4, tenants=None)
    service.update(caller, "acme", {"rrf_k": 7})
    with served(service) as address:
        http = OverHttp(service, address)
        assert http.get(caller, "acme").knobs == {"rrf_k": 7}
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DROP TABLE context_engine_knobs")
        answered = http.call(GET, {}, caller, "acme")
        assert (answered["config"], answered["lastGood"]) == ({"rrfK": 7}, True)
        with pytest.raises(RefusedError, match="cannot be asked") as refused:
            http.get(caller, "bolt")
    assert refused.value.code == "unavailable"


def test_the_same_port_speaks_grpc(http: OverHttp) -> None:
    """HTTP/2 without TLS on the port of the JSON calls: Google's own client gets set and refusal."""
    metadata = [("authorization", f"Bearer {http.token(ANNA)}")]
    with grpc.insecure_channel(http.address.removeprefix("http://")) as channel:
        call = channel.unary_unary(
            f"/{SERVICE}/{GET}",
            request_serializer=lambda message: message.to_binary(),
            response_deserializer=GetContextEngineKnobsConfigResponse.from_binary,
        )
        request = GetContextEngineKnobsConfigRequest()
        assert call(request, metadata=metadata).tenant_id == "acme"
        with pytest.raises(grpc.RpcError) as refused:
            call(request, metadata=[*metadata, ("x-tenant-id", "other")])
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
