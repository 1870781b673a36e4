"""Lists of an engine that is not ours, or not well."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.engine.http import HttpEngine
from knobctl.engine.interface import NotOfferedError
from knobctl.engine.network import Network
from knobctl.engine.tokens import TokenCommand
from knobctl.errors import EngineError
from knobctl.knobs import load_catalogue
from tests.engine.answering import client_of_handler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextmanager
def engine_with(pages: Sequence[Any], notices: list[str] | None = None) -> Iterator[HttpEngine]:
    """A client of an engine that answers each call with the next page, the last one for ever."""
    left = list(pages)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            page = left.pop(0) if len(left) > 1 else left[0]
            body = json.dumps(page).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    told = notices if notices is not None else []
    with client_of_handler(Handler, notice=told.append) as client:
        yield client


def test_a_name_that_no_document_can_carry_is_left_out_and_said() -> None:
    """It could be a path or drive a terminal; the others are still there."""
    names = ["acme", "../../etc/passwd", "\x1b[2J", "Bolt Corp"]
    notices: list[str] = []
    page = {"configs": [{"tenantId": name, "config": {}} for name in names]}
    with engine_with([page], notices) as engine:
        assert [live.tenant for live in engine.list()] == ["acme"]

    assert len(notices) == 3
    assert not any("\x1b" in notice for notice in notices)


@pytest.mark.parametrize(
    "pages",
    [
        [{"configs": [{"config": {}}]}],
        [{"configs": ["acme"]}],
        [{"configs": {}}],
        [{"configs": [{"tenantId": 7, "config": {}}]}],
        [{"configs": [{"tenantId": "acme"}]}],
        [{"configs": [], "nextPageToken": 5}],
        [{"configs": [], "nextPageToken": "again"}],
    ],
)
def test_a_senseless_list_is_an_engine_error(pages: list[Any]) -> None:
    """Among them one that never ends."""
    with engine_with(pages) as engine, pytest.raises(EngineError, match="answered nonsense"):
        list(engine.list())


@pytest.mark.parametrize(
    "event",
    [
        "x",
        {"tenantId": "bolt"},
        {"tenantId": "acme", "before": 3},
        {"tenantId": "acme", "changedFieldPaths": [1]},
    ],
)
def test_a_senseless_event_is_an_engine_error(event: Any) -> None:
    """Somebody else's among them: tenants never see each other."""
    with engine_with([{"events": [event]}]) as engine, pytest.raises(EngineError, match="nonsense"):
        list(engine.audit_events("acme"))


def test_fields_of_a_newer_engine_stay_in_the_event() -> None:
    """They are part of what its hash was made over."""
    with engine_with(
        [{"events": [{"tenantId": "acme", "approvedBy": "bea", "after": {"newKnob": 1}}]}]
    ) as engine:
        (event,) = engine.audit_events("acme")

    assert event["approved_by"] == "bea"
    assert event["after"] == {"new_knob": 1}


def test_tokens_of_one_tenant_each_cannot_list() -> None:
    """No token stands for all, and that is said instead of asked."""
    engine = HttpEngine(
        "https://engine.invalid",
        load_catalogue(),
        tokens=TokenCommand(("echo", "{tenant}")),
        network=Network(),
        notice=lambda _: None,
    )
    with pytest.raises(NotOfferedError, match="a token of its own"):
        next(engine.list())
