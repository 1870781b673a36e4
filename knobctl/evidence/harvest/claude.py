"""Claude Code: one JSON Lines file a session, sub-agents in files of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.evidence.harvest.asked import USER_PROMPT, Asked, Census, Names
from knobctl.evidence.harvest.calls import Calls, wanted_lines
from knobctl.evidence.harvest.lines import records, texts_of
from knobctl.evidence.harvest.times import time_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

PATTERN: Final = "*.jsonl"


def read(path: Path, names: Names, census: Census) -> Iterator[Asked]:
    """See `formats.Reader`."""
    calls = Calls(names)
    wanted = wanted_lines(names, calls, answers=b'"tool_result"', asks=b'"tool_use"')
    for record in records(path, census, wanted):
        if record.get("isSidechain") or record.get("isMeta") or record.get("isCompactSummary"):
            continue
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        at = time_of(record.get("timestamp"))
        blocks = (
            [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
        )
        for block in blocks:
            _hear(block, calls, at)
        if record.get("type") == "user" and not any(
            block.get("type") == "tool_result" for block in blocks
        ):
            for text in texts_of(content):
                yield Asked(source=USER_PROMPT, text=text, at=at)
    yield from calls.all()


def _hear(block: dict[str, Any], calls: Calls, at: datetime | None) -> None:
    if block.get("type") == "tool_use":
        arguments = block.get("input")
        calls.tool(block.get("name"), arguments, block.get("id"), at)
        if block.get("name") == "Bash" and isinstance(arguments, dict):
            calls.command(arguments.get("command"), block.get("id"), at)
    elif block.get("type") == "tool_result":
        calls.answer(block.get("tool_use_id"), "\n".join(texts_of(block.get("content"))))
