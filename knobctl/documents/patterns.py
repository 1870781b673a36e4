"""Regular expressions that people write into documents: matched whole, and in time that grows with the text alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

_MOST_BYTES: Final = 1_000_000
"""What a compiled pattern may take."""


def pattern_fault(pattern: str) -> str | None:
    """What is wrong with a pattern; None where nothing is."""
    # By itself too: `a)|(b` fits into the brackets that make it whole, and would match a part.
    for text in (pattern, _whole(pattern)):
        try:
            _compiled(text)
        except ValueError:
            return f"{pattern!r} is no regular expression"
    return None


def matches_whole(pattern: str, text: str) -> bool:
    """Whether a pattern without a fault matches the whole of a text."""
    return _compiled(_whole(pattern)).is_valid(text)


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"


def _compiled(pattern: str) -> Draft202012Validator:
    # Rust's regular expressions never go back: no pattern of a repository makes a push hang.
    from jsonschema_rs import Draft202012Validator, RegexOptions

    return Draft202012Validator(
        {"pattern": pattern}, pattern_options=RegexOptions(size_limit=_MOST_BYTES)
    )
