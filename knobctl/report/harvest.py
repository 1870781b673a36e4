"""What a harvest met, in numbers: text and JSON. No question stands in either."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from knobctl.errors import ExitCode
from knobctl.evidence.harvest.asked import fingerprint
from knobctl.evidence.harvest.harvesting import by_source
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections import Counter

    from knobctl.evidence.harvest.asked import Census
    from knobctl.evidence.harvest.harvesting import HeldOut


def harvest_text(census: Census, held: HeldOut, path: str) -> str:
    """Tell people."""
    questions = held.questions.values()
    unchanged = f"; {census.unchanged:,} not touched since the last harvest" * bool(
        census.unchanged
    )
    lines = [
        f"{count(census.files, 'file')} read, {count(census.lines, 'line')}{unchanged}",
        f"{count(len(questions), 'question')} in the set: {_told(by_source(questions)) or 'none'}",
        f"explicit questions with a recorded answer: {census.answered:,}, of which refused then: {census.refused:,}",
    ]
    if census.redacted:
        lines.append(
            f"{count(census.redacted.total(), 'secret')} taken out: {_told(census.redacted)}"
        )
    if census.skipped:
        lines.append(f"passed over: {_told(census.skipped)}")
    lines.append(f"fingerprint {fingerprint(questions)}  {visible(path)}")
    return "\n".join(lines)


def _told(counted: Counter[str] | dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counted.items())


def harvest_json(census: Census, held: HeldOut, path: str) -> str:
    """Tell machines."""
    questions = held.questions.values()
    document: dict[str, Any] = {
        "version": 1,
        "command": "bench harvest",
        "outcome": ExitCode.OK.outcome,
        "exit_code": int(ExitCode.OK),
        "output": path,
        "fingerprint": fingerprint(questions),
        "questions": len(questions),
        "by_source": by_source(questions),
        "files": census.files,
        "files_unchanged": census.unchanged,
        "lines": census.lines,
        "explicit_answered": census.answered,
        "explicit_refused": census.refused,
        "redacted": dict(sorted(census.redacted.items())),
        "skipped": dict(sorted(census.skipped.items())),
    }
    return json.dumps(document, indent=2)
