"""Codex: one JSON Lines file a session, in folders by day and, before that, all in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.evidence.harvest.asked import USER_PROMPT, Asked, Census, Names
from knobctl.evidence.harvest.calls import Calls, arguments_of, wanted_lines
from knobctl.evidence.harvest.lines import records, texts_of
from knobctl.evidence.harvest.times import time_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

PATTERN: Final = "rollout-*.jsonl"
_SHELLS: Final = ("shell", "exec_command", "local_shell", "container.exec", "shell_command")


def read(path: Path, names: Names, census: Census) -> Iterator[Asked]:
    """See `formats.Reader`."""
    calls = Calls(names)
    wanted = wanted_lines(names, calls, answers=b'"function_call_output"', asks=b'"function_call"')
    for record in records(path, census, wanted):
        at = time_of(record.get("timestamp"))
        payload = record.get("payload")
        item = payload if isinstance(payload, dict) else record
        if record.get("type") in ("event_msg", "compacted", "session_meta", "turn_context"):
            continue  # an event repeats what stands in an item
        if item.get("type") == "message" and item.get("role") == "user":
            for text in texts_of(item.get("content")):
                yield Asked(source=USER_PROMPT, text=text, at=at)
        _hear(item, calls, at)
    yield from calls.all()


def _hear(item: dict[str, Any], calls: Calls, at: datetime | None) -> None:
    call = item.get("call_id")
    if item.get("type") == "function_call":
        arguments = arguments_of(item.get("arguments"))
        calls.tool(item.get("name"), arguments, call, at)
        if item.get("name") in _SHELLS:
            calls.command(arguments.get("command") or arguments.get("cmd"), call, at)
    elif item.get("type") == "function_call_output":
        output = item.get("output")
        calls.answer(call, output if isinstance(output, str) else str(output))
