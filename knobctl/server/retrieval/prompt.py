"""The assembled prompt: chunks numbered and fenced, each with where it comes from, and the task at the end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.server.retrieval.model import Hit

_FENCE: Final = re.compile("`{3,}")


def written_prompt(task: str, hits: Sequence[Hit]) -> str:
    """Write the prompt; the task alone where there is no context.

    A chunk cannot end its own fence: each fence is longer than any run of backquotes in the text.
    """
    if not hits:
        return task
    context = "\n\n".join(_chunk(number, hit) for number, hit in enumerate(hits, start=1))
    return f"Context, from {count(len(hits), 'chunk')}:\n\n{context}\n\nTask:\n{task}"


def _chunk(number: int, hit: Hit) -> str:
    chunk = hit.chunk
    longest = max((len(run) for run in _FENCE.findall(chunk.text)), default=2)
    fence = "`" * (longest + 1)
    origin = f"document {_line(chunk.document_id)}, source {_line(chunk.source_id)}"
    return f"[{number}] {origin}\n{fence}\n{chunk.text}\n{fence}"


def _line(name: str) -> str:
    """A name on one line, whatever is in it."""
    return " ".join(name.split())
