"""Answers that pipelines leave in the repository are nobody's documents."""

from __future__ import annotations

import pytest

from tests.cli.inside import ENGINE, Inside

COMMANDS = [
    ("apply", ".", "--yes", *ENGINE),
    ("plan", ".", *ENGINE),
    ("drift", ".", *ENGINE),
    ("diff", ".", *ENGINE),
    ("set", "acme", "rrf_k=62", "--yes", *ENGINE),
    ("rollback", "acme", "--yes", "--no-file", *ENGINE),
    ("explain", "retrieval_min_score", "0.2", "--tenant", "acme"),
    ("reach", "--tenant", "acme"),
    ("policy", "show", "zero-means-default"),
    ("check", "."),
    ("get", "acme", *ENGINE),
    ("history", "acme", *ENGINE),
    ("runs",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[0]))
def test_an_answer_in_the_repository_is_passed_over(
    inside: Inside, command: tuple[str, ...]
) -> None:
    """Some answers say fleet or tenant: they limit nobody, and claim nobody."""
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 61}\n")
    inside("apply", ".", "--yes", *ENGINE)
    written = inside(*command, "--format", "json")
    assert written.out.startswith("{"), written.err
    inside.write("answers/answer.json", written.out)

    assert inside("validate", ".").out == "1 tenant in 2 files: no findings\n"
    assert inside("plan", ".", *ENGINE).code == 0


def test_an_answer_that_is_named_is_no_document(inside: Inside) -> None:
    """Named on the command line, a file is meant to be ours."""
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 61}\n")
    inside.write("drift.json", inside("drift", ".", "--format", "json", *ENGINE).out)

    result = inside("apply", "drift.json", "--yes", *ENGINE)
    assert result.code == 4
    assert "what a command answered" in result.out
