"""Recorded score files are read strictly: what is wrong is told with its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from knobctl.errors import InputError
from knobctl.evidence.reading import MOST_LINE, SCHEMA, is_recording
from knobctl.evidence.recording import Label, Question, Why
from knobctl.shipped import shipped
from tests.evidence.recordings import (
    EXAMPLES,
    RANKERS,
    SHIPPED,
    WITHOUT_RECENCY,
    file_of,
    lines,
    question,
    read,
    read_text,
    recording,
    text_of,
)

SCORES = st.floats(0, 1, allow_nan=False)
QUESTIONS = st.builds(
    Question,
    id=st.uuids().map(lambda one: one.hex),
    source=st.sampled_from(("mcp_query", "user_prompt")),
    fused=SCORES,
    label=st.sampled_from((None, *Label)),
    live=st.just(RANKERS),
    expanded=st.booleans(),
    max_cosine=st.none() | st.floats(-1, 1),
    nearest_cosine=st.none() | st.floats(-1, 1),
    margin=st.none() | st.floats(0, 2),
    hits=st.integers(0, 40),
)


@pytest.mark.parametrize("path", [SHIPPED, WITHOUT_RECENCY], ids=lambda path: path.name)
def test_the_shipped_recordings_are_sound_and_hold_no_text(path: Any) -> None:
    """Each line fits the schema and arithmetic; every value is a number, a name of ours or an id of the data set."""
    made = read(path)
    assert len(made.questions) == made.heading.questions == 400
    oracle = Draft202012Validator(json.loads((shipped("schemas") / SCHEMA).read_bytes()))
    assert [error.message for line in lines(path) for error in oracle.iter_errors(line)] == []
    asked = [json.loads(line) for line in (EXAMPLES / "queries.jsonl").read_text().splitlines()]
    ids = {one["id"] for one in asked}
    for line in lines(path)[1:]:
        assert line.keys() <= {*Question.__dataclass_fields__}
        assert line["id"] in ids
    raw = path.read_text(encoding="utf-8")
    assert not any(one["text"][:30] in raw for one in asked)


@given(st.lists(QUESTIONS, max_size=20, unique_by=lambda one: one.id))
@settings(deadline=None, max_examples=50)
def test_what_is_written_is_read_again(questions: list[Question]) -> None:
    """Every field of every question, and the heading."""
    made = recording(questions)
    found = read_text(file_of(made))
    assert (found.heading, found.questions) == (made.heading, made.questions)


def changed(at: int, **values: Any) -> str:
    """The shipped file with something else in one line; None takes a key away."""
    found = lines()
    found[at] |= values
    found[at] = {key: one for key, one in found[at].items() if one != "-"}
    return text_of(found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "scores.jsonl:1: the file is empty"),
        (b"{}\n", "scores.jsonl:1: no heading"),
        (b"[1]\n", "scores.jsonl:1: no heading"),
        (b"\xff\n", "scores.jsonl:1: no UTF-8 at byte 0"),
        (b"\xef\xbb\xbf{}\n", "byte-order mark"),
        (b'{"a":1,"a":2}\n', "one key twice"),
        (b'{"a":NaN}\n', "NaN is no JSON"),
        (b"[" * 60_000 + b"\n", "nested too deeply"),
        (b"x" * (MOST_LINE + 1), f"more than {MOST_LINE:,} bytes"),
        (changed(0, format_version=2), "format_version: 2; this knobctl reads 1"),
        (changed(0, made_at="yesterday"), "scores.jsonl:1: made_at"),
        (changed(0, made_at="2026-02-30T00:00:00Z"), "scores.jsonl:1: day is out of range"),
        (changed(0, floor=0), "scores.jsonl:1: floor"),
        (changed(0, extra="x"), "scores.jsonl:1: "),
        (changed(1, fused=1.5), "scores.jsonl:2: fused: 1.5 is not what these ranks score"),
        (changed(2, fused=None), "scores.jsonl:3: "),
        (changed(2, question="Which?"), "scores.jsonl:3: "),
        (changed(2, ranks={"vector": 0}), "scores.jsonl:3: ranks.vector"),
        (changed(2, live=["vector", "dense"]), "scores.jsonl:3: live: dense took no part"),
        (changed(2, live=["vector"], ranks={"bm25": 1}), "bm25 is not among the live rankers"),
        (changed(3, id=lines()[2]["id"]), "scores.jsonl:4: id: "),
        (text_of(lines()[:200]), "scores.jsonl:201: it ends after 199 of 400 questions"),
        (text_of([*lines(), lines()[1]]), "scores.jsonl:402: one more than the 400"),
        (text_of(lines()) + "\n", "scores.jsonl:402: one more than the 400"),
        (text_of(lines())[:-40], "scores.jsonl:401: no JSON"),
    ],
)  # fmt: skip
def test_the_first_bad_line_is_told_with_its_place(text: str | bytes, told: str) -> None:
    """Never a traceback, never half a recording."""
    with pytest.raises(InputError) as caught:
        read_text(text)
    assert told in caught.value.message
    assert caught.value.hint == "what a line must hold: knobctl schema replay-scores"


@given(st.binary(max_size=200), st.integers(0, 3))
@settings(deadline=None, max_examples=100)
def test_no_bytes_end_it_otherwise(junk: bytes, at: int) -> None:
    """Whatever stands in a line: it is read, or it is told."""
    raw = text_of(lines()[:4]).encode().split(b"\n")
    raw[at] = junk
    with pytest.raises(InputError):
        read_text(b"\n".join(raw))


def test_what_is_told_is_escaped() -> None:
    """A key that would drive the terminal is shown, not sent."""
    with pytest.raises(InputError) as caught:
        read_text(changed(1, **{"\x1b]0;owned\x07": 1}))
    assert "\x1b" not in caught.value.message


def test_another_scale_is_read_by_its_own_arithmetic() -> None:
    """A raw sum of ranks from 0: what is no such sum is told."""
    found = lines()
    found[0]["fusion"] |= {"scale": "rrf_raw", "first_rank": 0}
    found[0]["questions"] = 1
    one = {"id": "a", "source": "x", "label": None, "live": ["vector"], "ranks": {"vector": 1}}
    assert read_text(text_of([found[0], {**one, "fused": 1 / 60}])).questions[0].fused == 1 / 60
    with pytest.raises(InputError, match=r"0\.0166667"):
        read_text(text_of([found[0], {**one, "fused": 1 / 61}]))


def test_a_question_without_a_score_says_why() -> None:
    """Three reasons, and no score without one."""
    made = recording([question(at, None, why=why) for at, why in enumerate(Why)])
    assert [one.why for one in read_text(file_of(made)).questions] == list(Why)


def test_a_first_line_tells_what_a_file_is() -> None:
    """Whether it is sound or not; a summary of evidence is another thing."""
    assert is_recording(SHIPPED.read_bytes().split(b"\n")[0])
    assert not is_recording(b'{"format": "knobctl-evidence"}')
