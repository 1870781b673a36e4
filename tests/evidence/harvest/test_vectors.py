"""The given transcripts give exactly the questions that they must give, and no planted secret."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from knobctl.evidence.harvest.asked import Census, Names, fingerprint, question_id
from knobctl.evidence.harvest.harvesting import (
    HeldOut,
    Wanted,
    by_source,
    harvest_file,
    transcripts,
)

DATA = Path(__file__).parent.parent.parent / "data"
HARVEST = DATA / "harvest"
KINDS = ("claude", "codex", "gemini", "aider")
EXPECTED: dict[str, Any] = json.loads((HARVEST / "expected.json").read_bytes())
FLOORS: dict[str, Any] = json.loads((DATA / "relevance_floor.json").read_bytes())


def names() -> Names:
    """What the given settings say."""
    given = EXPECTED["settings"]
    return Names(
        mcp_server=given["mcp_server"],
        mcp_query_tool=given["mcp_query_tool"],
        mcp_question_argument=given["mcp_question_argument"],
        cli_program=given["cli_program"],
        cli_verb=given["cli_verb"],
        other_store_markers=tuple(given["other_store_markers"]),
        refusal_phrase=given["refusal_phrase"],
        min_question_chars=given["min_chars"],
        max_question_chars=given["max_chars"],
        min_words=given["min_words"],
    )


@cache
def harvested(*, prompts: bool = True) -> tuple[HeldOut, Census]:
    """All given transcripts, in one set."""
    held, census = HeldOut(), Census()
    for kind in KINDS:
        for path in transcripts(kind, HARVEST / kind):
            wanted = Wanted(names=names(), prompts=prompts)
            for question in harvest_file(path, kind, wanted, census, modified_at=datetime.now(UTC)):
                held.add(question)
    return held, census


def plain(text: str) -> str:
    """A text with one mark for every place where a secret was, and single spaces."""
    marked = re.sub(r"\{\{secret:[^}]*\}\}|\[redacted [a-z-]+\]", "@", text)
    return re.sub(r"\s+", " ", marked)


def test_the_merged_set_is_the_expected_one() -> None:
    """Every expected question with its source and its verdict; beyond them only what either verdict allows."""
    held, _ = harvested()
    found = {(plain(q.question), q.source, q.historical_refused) for q in held.in_order()}
    expected = {
        (plain(one["template"]), one["source"], one["historical_refused"])
        for one in EXPECTED["merged"]["questions"]
    }
    either = {one["text"] for one in EXPECTED["not_harvested"] if one["verdict"] == "either"}
    assert expected <= found
    assert {text for text, _, _ in found - expected} <= either


def test_what_must_not_be_harvested_is_not() -> None:
    """No rejected text is a question, nor a part of one."""
    questions = [one.question for one in harvested()[0].in_order()]
    rejected = [one["text"] for one in EXPECTED["not_harvested"] if one["verdict"] == "reject"]
    assert not [text for text in rejected if any(text in question for question in questions)]


@pytest.mark.parametrize("name", sorted(EXPECTED["secrets"]))
def test_a_planted_secret_is_gone(name: str) -> None:
    """Where it stood, no eight characters of it are left."""
    secret = EXPECTED["secrets"][name]["value"]
    parts = [secret[at : at + 8] for at in range(len(secret) - 7)]
    templates = [plain(one["template"]) for one in EXPECTED["harvest"] if name in one["secrets"]]
    for question in harvested()[0].in_order():
        if plain(question.question) in templates or not templates:
            written = question.question
            assert not [part for part in parts if part in written and "://" not in part]


def test_calls_with_an_answer_are_counted() -> None:
    """As many as were recorded, and of them as many as were refused."""
    _, census = harvested()
    assert census.answered == EXPECTED["merged"]["explicit_calls_with_a_result"]
    assert census.refused == EXPECTED["merged"]["explicit_calls_refused"]


def test_without_prompts_only_explicit_questions_are_left() -> None:
    """`user_prompt` is the proxy; a reader can leave it out."""
    held, _ = harvested(prompts=False)
    assert set(by_source(held.in_order())) == {"mcp_query", "cli_query"}


def test_bad_lines_are_counted_by_why() -> None:
    """No line ends a run, and none goes without a word."""
    _, census = harvested()
    assert census.skipped["nested too deep"] == 1
    assert census.skipped["no JSON"] == 2


@pytest.mark.parametrize("case", FLOORS["question_id"])
def test_a_question_has_the_given_id(case: dict[str, str]) -> None:
    """Letter case and white space aside."""
    assert question_id(case["question"]) == case["id"]


def test_a_set_has_the_given_fingerprint() -> None:
    """Whatever the order of its questions."""
    held, _ = harvested()
    questions = held.in_order()
    assert fingerprint(questions) == fingerprint(reversed(questions))
    assert fingerprint([]) == next(
        case["fingerprint"] for case in FLOORS["fingerprint"] if not case["ids"]
    )
