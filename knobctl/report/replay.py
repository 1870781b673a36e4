"""What a replay came to: text and JSON. No question stands in either."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from knobctl.evidence.recording import Why
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.errors import ExitCode
    from knobctl.evidence.recording import Heading, Question

_WORDS = {
    Why.EMPTY: "found nothing at all",
    Why.FAILED: "could not be asked",
    Why.BELOW_FLOOR: "scored below the floor",
}


def replay_text(heading: Heading, questions: Sequence[Question], path: str) -> str:
    """Tell people."""
    scored = [one for one in questions if one.fused is not None]
    left = Counter(one.why for one in questions if one.why)
    lines = [
        f"{count(len(questions), 'question')} asked of {heading.tenant}: {count(heading.corpus.chunks, 'chunk')}, {heading.encoder}, top {heading.top_k}",
        f"{len(scored):,} scored"
        + "".join(f", {number:,} {_WORDS[why]}" for why, number in sorted(left.items())),
        visible(path),
    ]
    return "\n".join(lines)


def replay_json(heading: Heading, questions: Sequence[Question], path: str, code: ExitCode) -> str:
    """Tell machines."""
    left = Counter(one.why.value for one in questions if one.why)
    document: dict[str, Any] = {
        "version": 1,
        "command": "bench replay",
        "outcome": code.outcome,
        "exit_code": int(code),
        "output": path,
        "tenant": heading.tenant,
        "encoder": heading.encoder,
        "chunks": heading.corpus.chunks,
        "top_k": heading.top_k,
        "questions": len(questions),
        "scored": sum(one.fused is not None for one in questions),
        "unscored": dict(sorted(left.items())),
        "by_source": dict(sorted(Counter(one.source for one in questions).items())),
    }
    return json.dumps(document, indent=2)
