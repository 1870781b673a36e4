"""Two ways into one service, asked in the same words: in the process, and over HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from knobctl.server.knobs import KnobsService
from knobctl.server.opening import RetrievalParts, Services
from knobctl.server.refusal import ServiceError
from knobctl.server.serving import answer_calls, listen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from email.message import Message

    from knobctl.server.applications import Limits
    from knobctl.server.auth import Caller
    from knobctl.server.stored import Stored, Updated

SERVICE = "upsquad.contextengine.v1.ContextEngineKnobsConfigService"


class RefusedError(Exception):
    """A call was refused, whichever way it came in."""

    def __init__(self, code: str, message: str, fields: list[str]) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.fields = fields


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call of Get, Update or Revert gave, in snake_case; a set as one of List too."""

    tenant: str
    knobs: dict[str, Any]
    revision: str
    changed: list[str]
    updated_by: str


class Door(Protocol):
    """A way into the service."""

    def get(self, caller: Caller, tenant: str | None = None) -> Answer: ...

    def update(
        self,
        caller: Caller,
        tenant: str | None,
        config: Mapping[str, Any],
        *,
        expected_revision: str | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Answer: ...

    def revert(
        self,
        caller: Caller,
        tenant: str | None,
        to_revision: str,
        *,
        expected_revision: str | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Answer: ...

    def sets(
        self, caller: Caller, *, page_size: int = 0, page_token: str = ""
    ) -> tuple[list[Answer], str]: ...

    def events(
        self,
        caller: Caller,
        tenant: str | None = None,
        *,
        since: str = "",
        page_size: int = 0,
        page_token: str = "",
    ) -> tuple[list[dict[str, Any]], str]: ...


def every_event(
    service: KnobsService, caller: Caller, tenant: str | None = None
) -> list[dict[str, Any]]:
    """All audit events that a caller may see, however many pages they take."""
    found: list[dict[str, Any]] = []
    token = ""
    while True:
        page = service.audit_events(caller, tenant=tenant, page_size=1000, page_token=token)
        found += page.items
        token = page.next_page_token
        if not token:
            return found


class InProcess:
    """The service itself."""

    def __init__(self, service: KnobsService) -> None:
        self._service = service

    def get(self, caller: Caller, tenant: str | None = None) -> Answer:
        with _refusals():
            return _answer(self._service.get(caller, tenant))

    def update(
        self,
        caller: Caller,
        tenant: str | None,
        config: Mapping[str, Any],
        *,
        expected_revision: str | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Answer:
        with _refusals():
            return _updated(
                self._service.update(
                    caller,
                    tenant,
                    config,
                    expected_revision=expected_revision,
                    reason=reason,
                    idempotency_key=key,
                )
            )

    def revert(
        self,
        caller: Caller,
        tenant: str | None,
        to_revision: str,
        *,
        expected_revision: str | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Answer:
        with _refusals():
            return _updated(
                self._service.revert(
                    caller,
                    tenant,
                    to_revision,
                    expected_revision=expected_revision,
                    reason=reason,
                    idempotency_key=key,
                )
            )

    def sets(
        self, caller: Caller, *, page_size: int = 0, page_token: str = ""
    ) -> tuple[list[Answer], str]:
        with _refusals():
            page = self._service.list(caller, page_size=page_size, page_token=page_token)
        return [_answer(stored) for stored in page.items], page.next_page_token

    def events(
        self,
        caller: Caller,
        tenant: str | None = None,
        *,
        since: str = "",
        page_size: int = 0,
        page_token: str = "",
    ) -> tuple[list[dict[str, Any]], str]:
        with _refusals():
            page = self._service.audit_events(
                caller, tenant=tenant, since=since, page_size=page_size, page_token=page_token
            )
        return [*page.items], page.next_page_token


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except ServiceError as error:
        fields = [violation.field for violation in error.violations]
        raise RefusedError(error.code.value, error.message, fields) from error


def _answer(stored: Stored) -> Answer:
    return Answer(stored.tenant, {**stored.knobs}, stored.revision, [], stored.updated_by or "")


def _updated(updated: Updated) -> Answer:
    stored = updated.stored
    changed = [*updated.changed_field_paths]
    return Answer(
        stored.tenant, {**stored.knobs}, stored.revision, changed, stored.updated_by or ""
    )


class OverHttp:
    """Connect JSON, spelled here by hand: nothing of the server's own code writes or reads it."""

    def __init__(self, service: KnobsService, address: str) -> None:
        self._service = service
        self.address = address
        self._names = {knob.name: knob.json_name for knob in service.catalogue}
        self._tokens: dict[Caller, str] = {}

    def get(self, caller: Caller, tenant: str | None = None) -> Answer:
        return self._set(self.call("GetContextEngineKnobsConfig", {}, caller, tenant))

    def update(
        self,
        caller: Caller,
        tenant: str | None,
        config: Mapping[str, Any],
        *,
        expected_revision: str | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Answer:
        spelled = {self._names.get(name, name): _wire(value) for name, value in config.items()}
        body = {"config": spelled, "reason": reason, **_expected(expected_revision)}
        return self._set(self.call("UpdateContextEngineKnobsConfig", body, caller, tenant, key))

    def revert(
        self,
        caller: Caller,
        tenant: str | None,
        to_revision: str,
        *,
        expected_revision: str | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Answer:
        body = {"toRevision": to_revision, "reason": reason, **_expected(expected_revision)}
        return self._set(self.call("RevertContextEngineKnobsConfig", body, caller, tenant, key))

    def sets(
        self, caller: Caller, *, page_size: int = 0, page_token: str = ""
    ) -> tuple[list[Answer], str]:
        body = {"pageSize": page_size, "pageToken": page_token}
        page = self.call("ListContextEngineKnobsConfigs", body, caller)
        return [self._set(one) for one in page.get("configs", [])], page.get("nextPageToken", "")

    def events(
        self,
        caller: Caller,
        tenant: str | None = None,
        *,
        since: str = "",
        page_size: int = 0,
        page_token: str = "",
    ) -> tuple[list[dict[str, Any]], str]:
        body = {"pageSize": page_size, "pageToken": page_token, "since": since}
        named = {} if tenant is None else {"tenantId": tenant}
        page = self.call("ListConfigAuditEvents", body | named, caller)
        return [self._event(one) for one in page.get("events", [])], page.get("nextPageToken", "")

    def token(self, caller: Caller) -> str:
        if caller not in self._tokens:
            self._tokens[caller] = self._service.new_token(caller)
        return self._tokens[caller]

    def call(
        self,
        method: str,
        body: object,
        caller: Caller | None,
        tenant: str | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        sent = {"Content-Type": "application/json", **(headers or {})}
        if caller is not None:
            sent["Authorization"] = f"Bearer {self.token(caller)}"
        if tenant is not None:
            sent["X-Tenant-Id"] = tenant
        if key is not None:
            sent["Idempotency-Key"] = key
        status, answered = self.post(method, json.dumps(body).encode(), sent)
        if status == 200:
            return answered
        details = answered.get("details", [])
        fields = [one["field"] for detail in details for one in detail["debug"]["fieldViolations"]]
        raise RefusedError(answered["code"], answered["message"], fields)

    def post(self, method: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, Any]:
        """Send bytes, and give the status and the JSON that came back."""
        request = urllib.request.Request(
            f"{self.address}/{SERVICE}/{method}", data=body, headers={**headers}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raw = error.read()
            error.close()
            return error.code, json.loads(raw or b"{}")

    def _set(self, answered: Mapping[str, Any]) -> Answer:
        return Answer(
            answered["tenantId"],
            self._knobs(answered["config"]),
            answered.get("revision", ""),
            answered.get("changedFieldPaths", []),
            answered.get("updatedBy", ""),
        )

    def _knobs(self, config: Mapping[str, Any]) -> dict[str, Any]:
        plain = {json_name: name for name, json_name in self._names.items()}
        return {plain[json_name]: value for json_name, value in config.items()}

    def _event(self, event: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "event_id": event["eventId"],
            "type": event["type"],
            "tenant_id": event["tenantId"],
            "actor": event["actor"],
            "reason": event.get("reason", ""),
            "occurred_at": event["occurredAt"],
            "revision": event["revision"],
            "changed_field_paths": event.get("changedFieldPaths", []),
            "before": self._knobs(event["before"]),
            "after": self._knobs(event["after"]),
            "previous_hash": event["previousHash"],
            "hash": event["hash"],
        }


def _expected(revision: str | None) -> dict[str, str]:
    return {} if revision is None else {"expectedRevision": revision}


def _wire(value: Any) -> Any:
    """Spell what JSON has no number for as the proto3 mapping does."""
    if isinstance(value, float) and (not math.isfinite(value)):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value


@contextmanager
def served(services: KnobsService | Services, *, limits: Limits | None = None) -> Iterator[str]:
    """Serve services, or knobs alone, on a free port, in a thread, and give the address."""
    if isinstance(services, KnobsService):
        services = knobs_alone(services)
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    ready, stop = threading.Event(), threading.Event()

    async def until_stopped() -> None:
        ready.set()
        await asyncio.to_thread(stop.wait)

    calls = answer_calls(services, [listening], until=until_stopped, limits=limits)
    thread = threading.Thread(target=lambda: asyncio.run(calls))
    thread.start()
    try:
        assert ready.wait(10)
        yield f"http://127.0.0.1:{port}"
    finally:
        stop.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class Said:
    """What came back over HTTP."""

    status: int
    body: Any
    headers: Mapping[str, str]
    """By name in lower case."""

    @property
    def fields(self) -> list[str]:
        """The fields that a refusal names."""
        details = self.body.get("details", [])
        return [one["field"] for detail in details for one in detail["debug"]["fieldViolations"]]


def ask(
    address: str,
    path: str,
    body: object = None,
    token: str | None = None,
    **headers: str,
) -> Said:
    """Call a method, `package.Service/Method`, with JSON or with bytes; or GET a path that begins with a slash."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    if data is not None:
        sent.setdefault("Content-Type", "application/json")
    url = f"{address}/{path.removeprefix('/')}"
    request = urllib.request.Request(url, data=data, headers=sent)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return _said(answer.status, answer.read(), answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return _said(error.code, error.read(), error.headers)


def _said(status: int, raw: bytes, headers: Message) -> Said:
    named = {name.lower(): value for name, value in headers.items()}
    is_json = named.get("content-type", "").startswith("application/json")
    if named.get("content-encoding") == "gzip":
        raw = gzip.decompress(raw)
    return Said(status, json.loads(raw) if is_json and raw else raw.decode(), named)


def knobs_alone(service: KnobsService) -> Services:
    """The services of a base install: knobs, and words about what is missing."""
    parts = RetrievalParts(clock=lambda: datetime.now(UTC))
    return Services(service, parts, missing="retrieval needs more: pip install 'knobctl[engine]'")
