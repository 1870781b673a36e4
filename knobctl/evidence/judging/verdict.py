"""What models said: whether one declined, and what the judge's reply means. Pure."""

from __future__ import annotations

import re
from typing import Final

from knobctl.evidence.judging.prompts import DECLINES

_VERDICT: Final = re.compile(
    r"[\s\"'`*_(<\[]*(yes|no|true|false|correct|incorrect)\b(?![\w'])", re.IGNORECASE
)
_TAG: Final = re.compile(r"\s*<verdict>\s*(.*?)\s*</verdict>", re.IGNORECASE | re.DOTALL)
_BOTH: Final = re.compile(
    r"(?:yes|true|correct)[\s\W]*(?:(?:or|and)\W+)?(?:no|false|incorrect)\b"
    r"|(?:no|false|incorrect)[\s\W]*(?:(?:or|and)\W+)?(?:yes|true|correct)\b",
    re.IGNORECASE,
)
_YES: Final = frozenset({"yes", "true", "correct"})


def declines(answer: str) -> bool:
    """Whether an answer begins with the mark of declining."""
    return answer.lstrip().startswith(DECLINES)


def verdict_of(reply: str) -> bool | None:
    """Read a judge's reply: its first word, whatever is put around it or goes on behind it.

    Returns:
        None where it does not begin with a verdict, or with both: it is excluded then, and no "no".
    """
    tagged = _TAG.match(reply)
    text = tagged[1] if tagged else reply
    found = _VERDICT.match(text)
    if found is None or _BOTH.match(text[found.start(1) :]):
        return None
    return found[1].lower() in _YES
