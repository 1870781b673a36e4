"""A body of JSON that nests deeply is refused; it does not end the process."""

from __future__ import annotations

import json
import struct
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.knobs import load_catalogue
from knobctl.server.auth import Caller
from knobctl.server.opening import open_services
from knobctl.server.wire.bounded_json import DEEPEST, nests_too_deeply
from tests.server.engine_processes import CONTEXT, INGEST, KNOBS, EngineProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LISTS = "[" * 100_000
"""More than a stack of 8 MiB takes."""
JSON, WEB = "application/json", "application/grpc-web+json"
HEALTH = "grpc.health.v1.Health/Check"
REFLECTION = "grpc.reflection.v1.ServerReflection/ServerReflectionInfo"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    """A process of its own: it is what would end."""
    folder = tmp_path_factory.mktemp("bounded")
    engine = EngineProcess(folder, "one", f"embedded:{folder / 'engine.db'}", None, _token(folder))
    engine.launch()
    engine.wait()
    yield engine
    engine.kill()


def _token(folder: Path) -> str:
    url = f"embedded:{folder / 'engine.db'}"
    services = open_services(url, load_catalogue(), clock=lambda: datetime.now(UTC))
    token = services.knobs.new_token(Caller(subject="a", clearance=4, tenants=frozenset(["acme"])))
    services.close()
    return token


def _framed(body: str) -> bytes:
    return b"\0" + struct.pack(">I", len(body)) + body.encode()


@pytest.mark.parametrize(
    ("method", "kind", "body"),
    [
        (HEALTH, JSON, LISTS),
        (HEALTH, JSON, f'{{"service": {LISTS}'),
        (HEALTH, WEB, LISTS),
        (REFLECTION, "application/connect+json", LISTS),
        (f"{CONTEXT}/Search", JSON, LISTS),
        (f"{CONTEXT}/Search", WEB, LISTS),
        (f"{CONTEXT}/Search", JSON, '[{"a":' * 50_000),
        (f"{CONTEXT}/Evaluate", JSON, f'{{"queries": {LISTS}'),
        (f"{INGEST}/UpsertChunks", JSON, f'{{"chunks": [{{"metadata": {{"a": {LISTS}'),
        (f"{KNOBS}/UpdateContextEngineKnobsConfig", JSON, f'{{"config": {{"rrfK": {LISTS}'),
        (f"{KNOBS}/GetContextEngineKnobsConfig", JSON, LISTS),
    ],
)
def test_a_body_without_bottom_does_not_end_the_engine(
    engine: EngineProcess, method: str, kind: str, body: str
) -> None:
    """Whoever sends it, with a token or to what is open to everybody: `invalid_argument`."""
    with closing(engine.line()) as line:
        sent = body.encode() if kind == JSON else _framed(body)
        status, answered = line.post(method, kind, sent)
        assert status == (400 if kind == JSON else 200)
        assert b"invalid_argument" in answered or b"grpc-status: 3" in answered
        assert b"levels deep" in answered.replace(b"%20", b" ")
        assert line.get("acme")["config"] == {}, "it answers the next call"


@settings(deadline=None, max_examples=200)
@given(
    st.recursive(
        st.text('[]{}"\\x', max_size=5) | st.integers(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[{"\\'), inner),
    ),
    st.integers(0, DEEPEST + 3),
)
def test_levels_are_counted_outside_of_texts(value: object, around: int) -> None:
    """As many as may be and no more, whatever stands in the texts."""
    levels = around + _levels(value)
    body = "[" * around + json.dumps(value) + "]" * around
    assert nests_too_deeply(body.encode()) == (levels > DEEPEST)


def _levels(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_levels, value.values()), default=0)
    return 1 + max(map(_levels, value), default=0) if isinstance(value, list) else 0


@pytest.mark.parametrize("body", ["{", '"', '"\\', "]", "", '{"a": "[[[', "}{" * 10])
def test_what_is_no_json_at_all_is_left_to_the_parser(body: str) -> None:
    """It says where the fault is."""
    assert not nests_too_deeply(body.encode())


@pytest.mark.parametrize("part", [b"[", b"[]", b"][", b'"', b'\\"', b'"\\', b"[{}]", b'""', b"\\"])
def test_the_look_takes_little_time_whatever_the_body_is(part: bytes) -> None:
    """16 MiB, the most that a request may have."""
    body = part * ((16 << 20) // len(part))
    began = time.process_time()
    nests_too_deeply(body)
    assert time.process_time() - began < 5
