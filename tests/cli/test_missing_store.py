"""The embedded engine over a file that is not there."""

from __future__ import annotations

import pytest

from tests.cli.inside import ENGINE, Inside

NOTE = "note: there was no store e.db; an empty one was made\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("get",),
        ("history",),
        ("drift", "."),
        ("diff", "."),
        ("plan", "."),
        ("apply", ".", "--dry-run"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_reading_what_is_not_there_says_so(inside: Inside, arguments: tuple[str, ...]) -> None:
    """A mistyped name looks like an engine that holds nothing; said once, by whoever meets it first."""
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    first = inside(*arguments, *ENGINE)
    assert (NOTE in first.err, first.code in {0, 3}) == (True, True), first
    assert NOTE not in inside(*arguments, *ENGINE).err


def test_writing_makes_a_store_without_a_word(inside: Inside) -> None:
    """It is what was asked for."""
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    result = inside("apply", ".", "--yes", *ENGINE)
    assert (result.code, result.err) == (0, "")
