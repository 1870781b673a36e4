"""What judging came to: text and JSON."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from knobctl.errors import ExitCode
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.evidence.recording import Question


def judge_text(questions: Sequence[Question], path: str) -> str:
    """Tell people."""
    labels = Counter(one.label.value for one in questions if one.label)
    told = ", ".join(f"{number:,} {label}" for label, number in sorted(labels.items()))
    unlabelled = len(questions) - labels.total()
    return (
        f"{count(len(questions), 'question')}: {told}, {unlabelled:,} not labelled\n{visible(path)}"
    )


def judge_json(questions: Sequence[Question], path: str) -> str:
    """Tell machines."""
    labels = Counter(one.label.value for one in questions if one.label)
    excluded = Counter(one.excluded.value for one in questions if one.excluded)
    document: dict[str, Any] = {
        "version": 1,
        "command": "bench judge",
        "outcome": ExitCode.OK.outcome,
        "exit_code": int(ExitCode.OK),
        "output": path,
        "questions": len(questions),
        "answerable": labels["answerable"],
        "unanswerable": labels["unanswerable"],
        "declined": sum(one.declined for one in questions),
        "excluded": dict(sorted(excluded.items())),
    }
    return json.dumps(document, indent=2)
