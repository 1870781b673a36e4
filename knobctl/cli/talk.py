"""How prose goes to stderr."""

from __future__ import annotations

import sys
import textwrap

WIDTH = 80


def folded(text: str) -> str:
    """Fold prose between words on a terminal; whole in a log, where it is searched for."""
    if not sys.stderr.isatty():
        return text
    lines = (
        textwrap.fill(
            line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        for line in text.split("\n")
    )
    return "\n".join(lines)
