"""What judging came to, and what it would cost: text and JSON."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.errors import ExitCode
    from knobctl.evidence.judging.cost import Projection
    from knobctl.evidence.recording import Heading, Question


def projection_text(projection: Projection, known: int) -> str:
    """What the calls would cost at most."""
    tokens = projection.answer + projection.judge
    cost = (
        "no price is known of a model"
        if projection.cost_usd is None
        else f"at most ${projection.cost_usd:.2f}"
    )
    before = f"; {known:,} more are paid for already" if known else ""
    return (
        f"{count(projection.questions, 'question')} to judge, {count(projection.calls, 'call')}, "
        f"{tokens.input:,} tokens read and {tokens.output:,} written: {cost}{before}"
    )


def judge_text(heading: Heading, questions: Sequence[Question], path: str) -> str:
    """Tell people."""
    labels = Counter(one.label.value for one in questions if one.label)
    excluded = Counter(one.excluded.value for one in questions if one.excluded)
    told = [f"{number:,} {label}" for label, number in sorted(labels.items())]
    if declined := sum(one.declined for one in questions):
        told.append(f"{declined:,} of them declined by the answer step")
    told += [
        f"{number:,} excluded: {why.replace('_', ' ')}" for why, number in sorted(excluded.items())
    ]
    unlabelled = len(questions) - labels.total() - excluded.total()
    told.append(f"{unlabelled:,} not labelled")
    lines = [f"{count(len(questions), 'question')}: {', '.join(told)}"]
    judging = heading.judging
    if judging and judging.calls is not None:
        cost = "" if judging.cost_usd is None else f", ${judging.cost_usd:.2f}"
        lines.append(
            f"{count(judging.calls, 'call')}, {judging.input_tokens or 0:,} tokens read, {judging.output_tokens or 0:,} written{cost}"
        )
    if judging and judging.agreement:
        lines.append("both judges agree on {:,} of {:,}".format(*judging.agreement))
    return "\n".join([*lines, visible(path)])


def judge_json(heading: Heading, questions: Sequence[Question], path: str, code: ExitCode) -> str:
    """Tell machines."""
    labels = Counter(one.label.value for one in questions if one.label)
    excluded = Counter(one.excluded.value for one in questions if one.excluded)
    judging = heading.judging
    document: dict[str, Any] = {
        "version": 1,
        "command": "bench judge",
        "outcome": code.outcome,
        "exit_code": int(code),
        "output": path,
        "questions": len(questions),
        "answerable": labels["answerable"],
        "unanswerable": labels["unanswerable"],
        "declined": sum(one.declined for one in questions),
        "excluded": dict(sorted(excluded.items())),
        "calls": judging.calls if judging else None,
        "input_tokens": judging.input_tokens if judging else None,
        "output_tokens": judging.output_tokens if judging else None,
        "cost_usd": judging.cost_usd if judging else None,
        "agreement": list(judging.agreement) if judging and judging.agreement else None,
    }
    return json.dumps(document, indent=2)
