"""A recommended floor, or why none can be named yet, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.evidence.recommending import caveats
from knobctl.report.markup import code, prose
from knobctl.report.recommend import answer, guarantee, markdown_rows, measured
from knobctl.report.sweep_markdown import table
from knobctl.text import stated_in_percent

if TYPE_CHECKING:
    from knobctl.evidence.recommending import Recommended


def recommend_markdown(found: Recommended, *, plan_with: str) -> str:
    """Tell people who read a page or a comment."""
    interval = f"{stated_in_percent(found.bound.confidence)} interval"
    heads = ["Floor", "Answerable lost", interval, "Unanswerable silenced", ""]
    parts = [
        "\n".join(f"- {prose(line)}" for line in answer(found)),
        *([prose(guarantee(found))] if found.chosen else []),
        table(heads, markdown_rows(found)),
        prose(measured(found)),
    ]
    if found.chosen:
        parts.append(f"Plan it: {code(plan_with)}")
    parts.append("\n".join(f"- {prose(caveat)}" for caveat in caveats(found)))
    return "\n\n".join(parts) + "\n"
