"""Gemini CLI: one JSON document a session, under a folder named by the project's hash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.evidence.harvest.asked import USER_PROMPT, Asked, Census, Names
from knobctl.evidence.harvest.calls import Calls
from knobctl.evidence.harvest.lines import parsed, texts_of
from knobctl.evidence.harvest.times import time_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

PATTERN: Final = "session-*.json"
MAX_DOCUMENT_BYTES: Final = 32 << 20
"""A larger session is passed over: a document is read whole, and memory is bounded."""


def read(path: Path, names: Names, census: Census) -> Iterator[Asked]:
    """See `formats.Reader`."""
    with path.open("rb") as file:
        raw = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(raw) > MAX_DOCUMENT_BYTES:
        census.skipped["file too large"] += 1
        return
    document = parsed(raw.removeprefix(b"\xef\xbb\xbf"), census)
    messages = document.get("messages") if document else None
    calls = Calls(names)
    for message in messages if isinstance(messages, list) else []:
        census.lines += 1
        if not isinstance(message, dict):
            census.skipped["no object"] += 1
            continue
        at = time_of(message.get("timestamp"))
        if message.get("type") == "user":
            for text in texts_of(message.get("content")):
                yield Asked(source=USER_PROMPT, text=text, at=at)
        made = message.get("toolCalls")
        for call in made if isinstance(made, list) else []:
            if isinstance(call, dict):
                _hear(call, calls, at)
    yield from calls.all()


def _hear(call: dict[str, Any], calls: Calls, at: datetime | None) -> None:
    arguments, name, id_ = call.get("args"), call.get("name"), call.get("id")
    shown = call.get("displayName")
    calls.tool(name, arguments, id_, at, server=shown if isinstance(shown, str) else "")
    if name == "run_shell_command" and isinstance(arguments, dict):
        calls.command(arguments.get("command"), id_, at)
    answers = call.get("result")
    for answer in answers if isinstance(answers, list) else []:
        response = answer.get("functionResponse") if isinstance(answer, dict) else None
        if isinstance(response, dict):
            calls.answer(id_, str(response.get("response")))
