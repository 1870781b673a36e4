"""Reading an answer, in every shape in which people have one at hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.diagnosis import Surface, TenantKnobs, diagnose, read_answer
from knobctl.diagnosis.answer import Outcome
from knobctl.diagnosis.reading import from_object
from knobctl.diagnosis.unwrapping import MAX_BYTES
from knobctl.errors import InputError
from knobctl.knobs import load_catalogue
from knobctl.text import INVISIBLE
from tests.diagnosis.answers import CASES, FIELD_REPORT, assembled, quality, search

SEARCHED = search(FIELD_REPORT)
TEXT = json.dumps(SEARCHED)


def snake(value: Any) -> Any:
    """The same JSON with its fields in snake_case."""
    if isinstance(value, dict):
        return {
            "".join(f"_{char.lower()}" if char.isupper() else char for char in name): snake(one)
            for name, one in value.items()
        }
    return [snake(one) for one in value] if isinstance(value, list) else value


def texts(value: Any) -> Any:
    """The same JSON with every number as a text."""
    if isinstance(value, dict):
        return {name: texts(one) for name, one in value.items()}
    if isinstance(value, list):
        return [texts(one) for one in value]
    return repr(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("spelling", [snake, texts])
def test_an_answer_is_the_same_in_every_spelling(name: str, spelling: Any) -> None:
    """lowerCamelCase and snake_case, numbers and their texts."""
    given_ = CASES[name].answer
    if name != "oddities":
        assert from_object(spelling(given_), "x") == from_object(given_, "x")


@pytest.mark.parametrize(
    "outcome",
    ["BELOW_THRESHOLD", "RETRIEVAL_OUTCOME_BELOW_THRESHOLD", "below_threshold", 3, "3"],
    ids=repr,
)
def test_an_outcome_is_read_in_every_spelling(outcome: object) -> None:
    """By name, by the long name of the enumeration, by number."""
    assert from_object({"results": [], "outcome": outcome}, "x").outcome == Outcome.BELOW_THRESHOLD


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        TEXT.encode("utf-16-le"),
        f"\n  {TEXT}\n\n".encode(),
        f"[{TEXT}]".encode(),
        json.dumps({"response": SEARCHED}).encode(),
        json.dumps(
            {"request": {"query": "q", "topK": 8}, "status": 200, "response": SEARCHED}
        ).encode(),
        json.dumps({"a": {"b": {"body": SEARCHED}}}).encode(),
        f"Resolved method descriptor:\nrpc Search ( .a ) returns ( .b );\n\nResponse contents:\n{TEXT}\n\n"
        "Response trailers received:\n(empty)\nSent 1 request and received 1 response\n".encode(),
        f"HTTP/1.1 200 \r\ncontent-type: application/json\r\n\r\n{TEXT}".encode(),
        f"HTTP/1.1 100 Continue\r\n\r\nHTTP/2 200\nx: y\n\n{TEXT}\n".encode(),
    ],
)
def test_an_answer_is_found_in_what_holds_it(content: bytes) -> None:
    """Byte-order marks, a list of one, a log's wrapping, what grpcurl and `curl -i` print."""
    assert read_answer(content, "x") == from_object(SEARCHED, "x")


def test_an_assembled_answer_and_its_quality_alone_say_the_same_of_the_floor() -> None:
    """Some keep the block without the prompt."""
    whole = assembled(FIELD_REPORT, 0.45)
    alone = from_object(whole["quality"], "x")
    read = from_object(whole, "x")
    assert read.surface is alone.surface is Surface.ASSEMBLE
    assert (read.floor, read.removed, read.outcome) == (alone.floor, alone.removed, alone.outcome)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "is empty"),
        (b"<html><body>502 Bad Gateway", "is no JSON; it begins with <html><body>502"),
        (b"\xff\xfe\xfd\xfc\xfb", "no"),
        (b'{"results": [', "is broken JSON"),
        (b'{"results": []} trailing', "after the JSON there is more: trailing"),
        (b'{"results": []}\n{"results": []}\n', "holds several JSON documents"),
        (b'[{"results": []}, {"results": []}]', "is a list of 2"),
        (b"[]", "is JSON, but no object"),
        (b"3", "is JSON, but no object"),
        (b'{"query": "q", "minScore": 0.3}', "is a request, not its answer"),
        (b'{"evaluations": []}', "is an Evaluate answer"),
        (b'{"config": {"rrfK": 60}}', "is about knobs"),
        (
            b'{"version": 1, "command": "get", "outcome": "ok", "exit_code": 0}',
            "is what knobctl get printed",
        ),
        (b'{"name": "x", "value": 1}', "is JSON of something else (name, value)"),
        (b'{"results": [], "results": []}', "the field results stands there twice"),
        (b'{"results": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"results": ' + b"9" * 10_000 + b"}", "a number that is too long"),
        (b" " * (MAX_BYTES + 1), "is larger than 64 MiB"),
    ],
)
def test_what_is_no_answer_is_said_to_be_what_it_is(content: bytes, words: str) -> None:
    """With what it must be, or a way on; never a traceback."""
    with pytest.raises(InputError, match=r".") as caught:
        read_answer(content, "file.json")
    assert words in caught.value.message
    assert caught.value.hint
    assert "\x1b" not in caught.value.message


def test_hostile_text_comes_out_visible() -> None:
    """Nothing in a message can drive a terminal."""
    for content in (b"\x1b[2Jboo", b'{"\x1b[2J": 1}', json.dumps({"\x1b[2J": 1}).encode()):
        with pytest.raises(InputError) as caught:
            read_answer(content, "a\x1b[2J.json")
        assert "\x1b" not in f"{caught.value.message}{caught.value.hint}"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": "unavailable", "message": "later"}, "unavailable"),
        ({"code": 5, "message": "no such tenant"}, "not_found"),
        ({"error": {"code": "internal", "message": "request abc"}}, "internal"),
        ({"code": 99}, "99"),
    ],
)
def test_an_error_that_came_instead_is_an_answer_of_its_own_kind(error: Any, code: str) -> None:
    """Of Connect, of gRPC by number, inside a stream's trailer."""
    read = from_object(error, "x").error
    assert read is not None
    assert read.code == code


def test_an_empty_object_is_an_answer_in_which_everything_is_zero() -> None:
    """proto3 leaves out what is zero."""
    read = from_object({}, "x")
    assert (read.outcome, read.floor, read.rows) == (None, None, ())


def test_two_spellings_of_one_field_with_two_values_are_noted() -> None:
    """The first counts."""
    read = from_object({"results": [], "effectiveMinScore": 0.3, "effective_min_score": 0.7}, "x")
    assert read.floor == 0.3
    assert "two spellings" in read.oddities[0]


def test_a_field_that_cannot_be_read_is_noted_and_left_out() -> None:
    """NaN, negative counts, wrong kinds; the rest is explained all the same."""
    read = from_object(
        quality(
            effectiveMinScore="NaN",
            resultsBelowThreshold=-1,
            retrievalOutcome=["ok"],
            rankers=3,
            scoreHistogram=[1, 2],
            fallbackUsed="yes",
            nearest=[5],
        ),
        "x",
    )
    assert (read.floor, read.removed, read.rankers, read.bands) == (None, 0, {}, None)
    assert len(read.oddities) >= 6


ANY_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELDS = (
    "results", "chunks", "quality", "outcome", "retrievalOutcome", "effectiveMinScore", "minScore",
    "resultsBelowThreshold", "rankers", "bestRemovedScore", "corpusVersion", "scoreHistogram", "fallbackUsed",
    "fallbackReason", "expanded", "rewrites", "removedByExpansionFloor", "bestCosine", "noMatch", "nearest",
    "omitted", "promptTokens", "lastGoodKnobs", "code", "message", "relevance",
)  # fmt: skip
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "chunkId": st.text(max_size=5),
            "score": st.floats(),
            "ranks": st.dictionaries(
                st.sampled_from(["vector", "bm25", "recency", "x"]), st.integers(-2, 9)
            ),
        },
    ),
    max_size=4,
)
PLAUSIBLE = st.one_of(
    ROWS,
    st.fixed_dictionaries(
        {"tier": st.sampled_from(["no_match", "strong", "not_measurable", "x\x1b[2J" * 9])},
        optional={
            "pValue": st.floats(),
            "z": st.floats(),
            "cosine": st.floats(),
            "cutOff": st.floats(),
            "probes": st.integers(-1, 99),
        },
    ),
    st.floats(0, 1),
    st.integers(-1, 60),
    st.booleans(),
    st.sampled_from(list(Outcome)),
    st.lists(st.integers(0, 5), min_size=20, max_size=20),
    st.dictionaries(
        st.sampled_from(["vector", "bm25", "recency", "x"]),
        st.fixed_dictionaries(
            {}, optional={"rows": st.integers(-1, 60), "timedOut": st.booleans()}
        ),
    ),
    ANY_JSON,
)


@settings(max_examples=120)
@given(st.dictionaries(st.sampled_from(FIELDS), PLAUSIBLE, max_size=9), st.booleans())
def test_whatever_stands_in_an_answer_there_is_a_verdict(
    value: dict[str, Any], inside: bool
) -> None:
    """Total: an InputError or a diagnosis, with nothing in it that could drive a terminal."""
    from knobctl.report.diagnosis import Drawing, diagnoses_json, diagnosis_text
    from tests.cli.outputs import faults_of

    answer = {"results": [], "quality": value} if inside else value
    try:
        read = read_answer(json.dumps(answer).encode(), "x")
    except InputError:
        return
    for floor in (None, load_catalogue().defaults["retrieval_min_score"]):
        one = diagnose(
            read,
            TenantKnobs.defaults(load_catalogue()),
            floor=None if floor is None else _exact(floor),
        )
        text = diagnosis_text(one, drawing=Drawing())
        assert not INVISIBLE.search(text)
        assert max(map(len, text.splitlines())) < 1000
        assert (
            faults_of(
                json.loads(json.dumps(diagnoses_json([one], None))),
                "output-diagnose.v1.schema.json",
            )
            == []
        )


def _exact(value: Any) -> Any:
    from knobctl.fusion import exact

    return exact(value)


@pytest.mark.parametrize("number", [1e308, -1e300, 2.0**60, "1e200"])
def test_a_number_that_can_be_no_score_is_noted_and_left_out(number: Any) -> None:
    """Its hundreds of digits fit no line."""
    read = from_object(SEARCHED | {"effectiveMinScore": number, "bestRemovedScore": number}, "x")
    assert (read.floor, read.best_removed, len(read.oddities)) == (None, None, 2)
