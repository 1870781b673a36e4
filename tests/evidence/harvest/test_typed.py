"""Sentences that ask, in what people typed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.evidence.harvest.asked import Names
from knobctl.evidence.harvest.typed import questions_typed, without_wrappers
from tests.evidence.harvest.test_vectors import FLOORS

BETTER = {
    # where the given heuristic is known to be wrong, what a person would take
    "\u691c\u7d22\u306e\u3057\u304d\u3044\u5024\u306f\u3069\u3053\u3067\u8a2d\u5b9a\u3057\u307e\u3059\u304b\uff1f": [
        "\u691c\u7d22\u306e\u3057\u304d\u3044\u5024\u306f\u3069\u3053\u3067\u8a2d\u5b9a\u3057\u307e\u3059\u304b\uff1f"
    ],
    "I use e.g. Redis here, is that all right?": ["I use e.g. Redis here, is that all right?"],
    "(Does a closing bracket hide the question?)": ["(Does a closing bracket hide the question?)"],
    "```\nis an open fence kept or not?": [],
    "Where is\nthe floor set these days?": ["Where is the floor set these days?"],
    "<a>one<a>two</a>is the nesting handled right?</a> Which part of this is kept?": [
        "<a>one<a>two</a>is the nesting handled right?</a> Which part of this is kept?"
    ],
}


def found_in(text: str, names: Names | None = None) -> list[str]:
    """The questions of a prompt."""
    return list(questions_typed(text, names or Names(), Counter()))


@pytest.mark.parametrize("case", FLOORS["prompt_questions"])
def test_a_prompt_gives_the_given_questions(case: dict[str, Any]) -> None:
    """As the given heuristic, but for the faults that are known of it."""
    names = Names(min_question_chars=case["min_chars"], max_question_chars=case["max_chars"])
    assert found_in(case["text"], names) == BETTER.get(case["text"], case["found"])


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("- What is the default page size?", ["What is the default page size?"]),
        ("3. **Where is the floor set today?**", ["**Where is the floor set today?**"]),
        ("/src/main.py fails. Why does it fail there?", ["Why does it fail there?"]),
        ("/compact what happens to the window now?", []),
        ("<x-note>Is this a real question?</x-note>Why is it not read here?", ["Why is it not read here?"]),
        ("What does <code>floor</code> mean over here?", ["What does <code>floor</code> mean over here?"]),
        ("Is a Vec<String> the right type here?", ["Is a Vec<String> the right type here?"]),
        ("Read 0.25 or 0.3? Which one is it now?", ["Read 0.25 or 0.3?", "Which one is it now?"]),
        ("I wonder.\n\nwhy does it fail so often?", ["why does it fail so often?"]),
    ],
)  # fmt: skip
def test_marks_paths_and_markup_are_read_as_people_mean_them(
    text: str, questions: list[str]
) -> None:
    """List marks go, paths are no commands, markup stays unless a program put it there."""
    assert found_in(text) == questions


def test_thousands_of_open_elements_are_looked_for_once() -> None:
    """Each name is searched to the end once, not once a tag."""
    text = "<a-b>" * 20_000 + " is this still read by anyone?"
    assert without_wrappers(text) == text


@given(text=st.text(max_size=300))
@settings(deadline=None, max_examples=150)
def test_a_question_stands_in_its_prompt(text: str) -> None:
    """Every one ends as a question does, within the bounds, its words in the prompt's order."""
    for question in found_in(text):
        assert "?" in question or "\uff1f" in question or "\u061f" in question
        assert 15 <= len(question) <= 300
        words = iter(text.split())
        assert all(any(part in word for word in words) for part in question.split()[:1])
