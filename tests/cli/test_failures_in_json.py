"""What stops a command before it has an answer, where JSON was asked for."""

from __future__ import annotations

import json

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of

SCHEMA = "output-failure.v1.schema.json"
JSON = ("--format", "json")
TENANT = "tenant: acme\nknobs: {rrf_k: 30}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "outcome"),
    [
        (("apply", "."), 6, "refused"),
        (("rollback", "acme"), 6, "refused"),
        (("set", "acme", "rrf_k=31"), 6, "refused"),
        (("pull",), 6, "refused"),
        (("pull", "acne", "--yes"), 2, "usage"),
        (("apply", "--resume", "nope"), 2, "usage"),
        (("rollback", "--run", "nope", "--yes"), 2, "usage"),
        (("diff", "nowhere"), 2, "usage"),
        (("apply", "torn.txt"), 4, "findings"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_what_stops_a_command_is_answered_in_json(
    inside: Inside, arguments: tuple[str, ...], code: int, outcome: str
) -> None:
    """The words are those of stderr; nothing is written."""
    inside.write("acme.yaml", TENANT)
    inside.write("torn.txt", '{"format": "knobctl-plan", ')
    result = inside(*arguments, *JSON, *ENGINE)
    assert (result.code, result.json["outcome"], result.json["exit_code"]) == (code, outcome, code)
    assert (faults_of(result.json, SCHEMA), result.json["command"]) == ([], arguments[0])
    assert result.json["message"].splitlines()[0].split()[0] in result.err
    assert inside.live() == {}


def test_an_engine_that_is_away_is_answered_in_json(inside: Inside) -> None:
    """Into the file of --output, where the answer is text."""
    inside.write("acme.yaml", TENANT)
    away = ("--engine", "http://127.0.0.1:9")
    result = inside("apply", ".", "--yes", "--output", "json=answer.json", *away)
    assert (result.code, result.out) == (8, "")
    answer = json.loads(inside.read("answer.json"))
    assert (faults_of(answer, SCHEMA), answer["outcome"]) == ([], "engine")


def test_an_answer_that_was_given_is_not_followed_by_another(inside: Inside) -> None:
    """A guard's refusal and a plan that moved have the command's own answer."""
    inside.write("acme.yaml", TENANT)
    refused = inside("apply", ".", "--yes", "--max-tenants", "0", *JSON, *ENGINE)
    assert (refused.code, refused.json["refusals"][0]["guard"]) == (6, "max_tenants")
    assert inside("plan", ".", "-o", "p.txt", *ENGINE).code == 0
    inside.hold(rrf_k=40)
    moved = inside("apply", "p.txt", *JSON, *ENGINE)
    assert (moved.code, moved.json["outcomes"]) == (7, {"conflict": 1})


def test_text_and_other_formats_stay_as_they_are(inside: Inside) -> None:
    """Words on stderr alone."""
    inside.write("acme.yaml", TENANT)
    assert inside("apply", ".", *ENGINE).out == ""
    assert inside("check", "nowhere", "--format", "sarif").out == ""
