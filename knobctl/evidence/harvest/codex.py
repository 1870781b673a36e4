"""Codex: one JSON Lines file a session, in folders by day and, before that, all in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.evidence.harvest.asked import USER_PROMPT, Asked, Census, Names
from knobctl.evidence.harvest.calls import Calls, arguments_of, asking_words
from knobctl.evidence.harvest.lines import Line, records, texts_of
from knobctl.evidence.harvest.times import time_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

PATTERN: Final = "rollout-*.jsonl"
_SHELLS: Final = ("shell", "exec_command", "local_shell", "container.exec", "shell_command")


def read(path: Path, names: Names, census: Census) -> Iterator[Asked]:
    """See `formats.Reader`."""
    calls = Calls(names)
    for record in records(path, census, _wanted(names, calls)):
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


def _wanted(names: Names, calls: Calls) -> Callable[[Line], bool]:
    asks = asking_words(names)

    def wanted(line: Line) -> bool:
        if line.holds(b'"function_call_output"'):
            return calls.may_answer(line)
        if line.holds(b'"function_call"'):
            return any(map(line.holds, asks))
        return line.holds(b'"user"')

    return wanted
