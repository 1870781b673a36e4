"""The engine's JSON, read with suspicion: no answer makes a traceback."""

from __future__ import annotations

import base64
import contextlib
import json
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.engine.answers import NonsenseError, excerpt, parse_object, wire_error, without_token
from knobctl.engine.interface import LiveSet
from knobctl.engine.wire import audit_event, live_set, read_config, snake_case, wire_config
from knobctl.knobs import load_catalogue
from knobctl.text import INVISIBLE

CATALOGUE = load_catalogue()
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from([name for knob in CATALOGUE for name in (knob.name, knob.json_name)])


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"retrievalMinScore": 0.15}, {"retrieval_min_score": 0.15}),
        ({"retrieval_min_score": 0.15}, {"retrieval_min_score": 0.15}),
        ({"retrievalMinScore": 1}, {"retrieval_min_score": 1.0}),
        ({"retrievalMinScore": "0.15"}, {"retrieval_min_score": 0.15}),
        ({"retrievalMinScore": 0}, {}),
        ({"retrievalMinScore": -0.0}, {}),
        ({"retrievalMinScore": None}, {}),
        ({"rrfK": "30"}, {"rrf_k": 30}),
        ({"rrfK": 30.0}, {"rrf_k": 30}),
        ({"recencyRankerMode": "DISABLED"}, {"recency_ranker_mode": "DISABLED"}),
        ({"recencyRankerMode": 2}, {"recency_ranker_mode": "DISABLED"}),
        ({"recencyRankerMode": "KNOB_MODE_UNSPECIFIED"}, {}),
    ],
)
def test_values_come_as_the_json_mapping_allows(raw: dict[str, Any], value: dict[str, Any]) -> None:
    """Both spellings, numbers as text, enum values as numbers, zero as absent."""
    assert read_config(raw, CATALOGUE) == (value, {})


@pytest.mark.parametrize(
    ("raw", "unknown"),
    [
        ({"newKnob": 1}, {"newKnob": 1}),
        ({"retrievalMinScore": 1.7}, {"retrieval_min_score": 1.7}),
        ({"retrievalMinScore": True}, {"retrieval_min_score": True}),
        ({"retrievalMinScore": "NaN"}, {"retrieval_min_score": "NaN"}),
        ({"rrfK": 30.5}, {"rrf_k": 30.5}),
        ({"rrfK": False}, {"rrf_k": False}),
        ({"recencyRankerMode": "ADAPTIVE"}, {"recency_ranker_mode": "ADAPTIVE"}),
        ({"recencyRankerMode": 3}, {"recency_ranker_mode": 3}),
        ({"rrfK": 30, "rrf_k": 40}, {"rrf_k": 40}),
    ],
)
def test_what_the_schema_does_not_take_stays_visible(
    raw: dict[str, Any], unknown: dict[str, Any]
) -> None:
    """Nothing is dropped, nothing guessed: it stands in `unknown`, and blocks a push there."""
    assert read_config(raw, CATALOGUE) == ({}, unknown)


@settings(max_examples=300)
@given(
    answer=st.dictionaries(
        st.sampled_from(["config", "revision", "updatedAt", "tenantId", "x"]),
        ANY_JSON | st.dictionaries(NAMES, ANY_JSON, max_size=4),
    )
)
def test_any_object_is_a_set_or_nonsense(answer: dict[str, Any]) -> None:
    """Never another exception; and what is taken is what the knobs accept."""
    try:
        live = live_set(answer, CATALOGUE, tenant="acme", revision=None)
    except NonsenseError:
        return
    assert isinstance(live, LiveSet)
    assert all(CATALOGUE[name].accepts(value) for name, value in live.knobs.items())
    assert wire_config(live.knobs, CATALOGUE).keys() == {
        CATALOGUE[name].json_name for name in live.knobs
    }


@settings(max_examples=200)
@given(
    event=st.dictionaries(
        st.sampled_from(["eventId", "before", "after", "changedFieldPaths", "hash", "new"]),
        ANY_JSON,
    )
)
def test_any_event_is_read_or_nonsense(event: dict[str, Any]) -> None:
    """Missing fields are at their zero value, wrong ones nonsense."""
    try:
        read = audit_event(event, CATALOGUE)
    except NonsenseError:
        return
    assert isinstance(read["event_id"], str)
    assert isinstance(read["before"], dict)


@settings(max_examples=200)
@given(body=st.binary(max_size=60) | ANY_JSON.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_an_object_or_nonsense(body: bytes) -> None:
    """Bytes that are no JSON object never pass and never crash; nor do they as an error's body."""
    with contextlib.suppress(NonsenseError):
        assert isinstance(parse_object(body), dict)
    assert isinstance(wire_error(500, body).code, str)
    assert INVISIBLE.search(excerpt(body, "token")) is None


@pytest.mark.parametrize(
    "body",
    [b'{"a": 1, "a": 2}', b'{"a": Infinity}', b"[" * 200_000, b'{"a": ' + b"9" * 5000 + b"}"],
)
def test_traps_of_json_are_nonsense(body: bytes) -> None:
    """A key twice, words that are no JSON, depth that overflows, digits without end."""
    with pytest.raises(NonsenseError):
        parse_object(body)


@settings(max_examples=100)
@given(violations=st.lists(st.tuples(st.text(max_size=300), st.text(max_size=300)), max_size=4))
def test_violations_are_decoded_as_protobuf_has_them(violations: list[tuple[str, str]]) -> None:
    """What Google's own library serialises is what we read."""
    # Field for field the shape of BadRequest: a list of messages that begin with two texts.
    detail = FileDescriptorSet()
    for field, description in violations:
        detail.file.add(name=field, package=description, dependency=["more"])
    value = base64.b64encode(detail.SerializeToString()).decode().rstrip("=")
    body = {
        "code": "invalid_argument",
        "details": [{"type": "google.rpc.BadRequest", "value": value}],
    }

    error = wire_error(400, json.dumps(body).encode())

    assert [(one.field_path, one.description) for one in error.violations] == violations


@settings(max_examples=200)
@given(raw=st.binary(max_size=40))
def test_a_damaged_detail_gives_no_violations_and_no_crash(raw: bytes) -> None:
    """The message is still shown."""
    value = base64.b64encode(raw).decode()
    body = {
        "code": "invalid_argument",
        "message": "no",
        "details": [{"type": "google.rpc.BadRequest", "value": value}],
    }

    assert wire_error(400, json.dumps(body).encode()).message == "no"


def test_the_debug_form_of_a_detail_is_preferred() -> None:
    """Connect servers may send the detail as JSON beside its bytes."""
    detail = {
        "type": "google.rpc.BadRequest",
        "value": "!",
        "debug": {"fieldViolations": [{"field": "rrf_k", "description": "no"}]},
    }

    (violation,) = wire_error(
        400, json.dumps({"code": "invalid_argument", "details": [detail]}).encode()
    ).violations

    assert (violation.field_path, violation.description) == ("rrf_k", "no")


@pytest.mark.parametrize("wrap", ["{}", "Bearer {}!", "x{}x"])
def test_a_token_is_taken_out_in_every_spelling(wrap: str) -> None:
    """Plain, percent-encoded, base64 in both alphabets."""
    token = "s3cret/+~token?"
    spellings = [
        token,
        "s3cret%2F%2B~token%3F",
        base64.b64encode(token.encode()).decode(),
        base64.urlsafe_b64encode(token.encode()).decode(),
    ]
    for spelling in spellings:
        assert spelling.rstrip("=") not in without_token(wrap.format(spelling), token)


@pytest.mark.parametrize("knob", CATALOGUE, ids=lambda knob: knob.name)
def test_every_wire_name_gives_back_its_knob(knob: Any) -> None:
    """Unknown names of events are turned by the same rule that made ours."""
    assert snake_case(knob.json_name) == knob.name
