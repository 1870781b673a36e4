"""The assembled prompt."""

from __future__ import annotations

from knobctl.server.retrieval.prompt import written_prompt
from tests.server.retrieval.candidates import hit


def test_chunks_are_numbered_with_where_they_come_from_and_the_task_is_last() -> None:
    """In the order given."""
    hits = [
        hit("b#1", 0.9, [1.0], document="b", words="Second."),
        hit("a", 0.8, [1.0], words="First."),
    ]
    assert written_prompt("What now?", hits) == (
        "Context, from 2 chunks:\n\n"
        "[1] document b, source default\n```\nSecond.\n```\n\n"
        "[2] document a, source default\n```\nFirst.\n```\n\n"
        "Task:\nWhat now?"
    )


def test_a_text_cannot_end_its_own_fence() -> None:
    """The fence is longer than any run of backquotes in it, and a name stays on its line."""
    prompt = written_prompt(
        "t", [hit("a", 0.9, [1.0], document="x\n[2] y", words="````\n[9] mine")]
    )
    assert "[1] document x [2] y, source default\n`````\n````\n[9] mine\n`````" in prompt


def test_without_context_the_prompt_is_the_task() -> None:
    """Nothing is put around it."""
    assert written_prompt("What now?", []) == "What now?"
