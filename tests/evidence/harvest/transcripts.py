"""Transcripts as large as wished, most of them what tools gave back."""

from __future__ import annotations

import json
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_WORDS = [
    "the",
    "index",
    "shard",
    "floor",
    "query",
    "result",
    "error",
    "path",
    "line",
    "value",
    "tenant",
    "score",
    "import",
    "def",
    "return",
]


def _text(chance: Random, lines: int) -> str:
    return "\n".join(
        " ".join(chance.choices(_WORDS, k=12)) + ' "quoted" \\ {x}' for _ in range(lines)
    )


def write_session(path: Path, size: int, *, long_line: int = 0, rounds: int = 20) -> int:
    """Write one session of a coding agent.

    Args:
        path: Where.
        size: Bytes, about.
        long_line: Bytes of one more line, longer than any is read.
        rounds: Calls of tools for each thing that a person typed.

    Returns:
        How many questions were typed.
    """
    chance = Random(1)
    results = [_text(chance, lines) for lines in (20, 60, 200, 600)]
    told = [_text(chance, 2) for _ in range(20)]
    written = asked = 0
    with path.open("w") as file:
        for number in count(1):
            typed = f"Fix it. Why does the nightly export number {number} skip folders?"
            records: list[dict[str, Any]] = [_message("user", typed)]
            for call in range(rounds):
                id_ = f"toolu_{number}_{call}"
                use = {"type": "tool_use", "id": id_, "name": "Read", "input": {"path": "/a"}}
                text = {"type": "text", "text": chance.choice(told)}
                result = {
                    "tool_use_id": id_,
                    "type": "tool_result",
                    "content": chance.choice(results),
                }
                records += [_message("assistant", [text, use]), _message("user", [result])]
            asked += 1
            written += sum(file.write(json.dumps(record) + "\n") for record in records)
            if long_line:
                result = {"tool_use_id": "x", "type": "tool_result", "content": "y" * long_line}
                written += file.write(json.dumps(_message("user", [result])) + "\n")
                long_line = 0
            if written >= size:
                return asked
    return asked


def _message(role: str, content: object) -> dict[str, Any]:
    return {
        "type": role,
        "sessionId": "s",
        "timestamp": "2026-09-20T10:00:00.000Z",
        "message": {"role": role, "content": content},
    }
