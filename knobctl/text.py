"""Makes text from outside safe for a terminal, a CI log and markup."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\ufffe\uffff]"
)
"""Control, bidirectional and zero-width characters, and what is none; tab and line feed are not among them."""
_COMMAND: Final = re.compile(r"(?:^|(?<=\s)):(?=:)|(?<=##)\[|(?<=##vso)\[|(?<=##teamcity)\[")
"""What makes a line of a log a command to the runner behind it: `::name` where it begins, `##[name` anywhere."""


def visible(text: str, *, keep: str = "") -> str:
    r"""Replace what could drive a terminal, or the runner that reads a log, by visible escapes.

    Args:
        text: Text from outside: a value, a name, an engine's message.
        keep: Characters that stay as they are although they are controls, such as a line feed.

    Returns:
        The same text with every control, bidirectional or zero-width character as `\xNN` or `\uNNNN`,
        and so the first character that makes a word a runner's command.
    """
    if "::" in text or "##" in text:
        text = _COMMAND.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    return printable(text, keep=keep)


def printable(text: str, *, keep: str = "") -> str:
    """Replace what cannot be seen as `visible` does; for formats in which nothing begins a line of its own."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(char) if char not in keep else char for char in text)


def _escaped(char: str) -> str:
    if char in "\t\n" or INVISIBLE.match(char):
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char) or (
            f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"
        )
    return char


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Find the known name most like a mistyped one, for "did you mean".

    Args:
        name: What was typed.
        known: The names that exist.
        cutoff: How alike the two must be, from 0 to 1 (alike).

    Returns:
        None where nothing is near.
    """
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return close[0] if close else None


def has_surrogates(text: str) -> bool:
    """Whether a text holds lone surrogates, which JSON can carry and UTF-8 cannot."""
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)


def count(number: int, noun: str) -> str:
    """Write a number with its noun: `1 tenant`, `2 tenants`, `12,345 tenants`, `3 policies`."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{number:,} {plural}"


_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def number_word(number: int) -> str:
    """Write a small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def all_of(number: int) -> str:
    """Say that all of so many are meant: `it`, `both`, `all three`."""
    return {1: "it", 2: "both"}.get(number, f"all {number_word(number)}")


def joined(names: Iterable[str], last: str = "and") -> str:
    """Write names as a list: `vector`, `vector and bm25`, `vector, bm25 and recency`."""
    *front, end = map(visible, names)
    return f"{', '.join(front)} {last} {end}" if front else end


def ends_in_percent(low: float, high: float, digits: int = 1) -> tuple[str, str]:
    """Write the ends of an interval in percent, rounded outwards.

    So no end says more than is known, nor reads as if it kept to a bound beyond which it lies.
    """
    # Of 0.29 a hundredth part is 28.999999999999996: what lies so close is that number.
    scale = 10**digits
    down, up = (round(100 * scale * end, 6) for end in (low, high))
    return f"{math.floor(down) / scale:.{digits}f}", f"{math.ceil(up) / scale:.{digits}f}"


def stated_in_percent(share: float) -> str:
    """Write a share that somebody chose, as it was chosen: `97.5%`; rounded, 99.99% would promise more."""
    from decimal import Decimal

    return f"{decimal_text(float(Decimal(repr(share)) * 100))}%"


def spelled(value: object) -> str:
    """Write a knob's value as YAML and JSON readers of both dialects read it: no `1e-05`, no `True`."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return decimal_text(value)
        case None:
            return "null"
        case str():
            return value
        case _:
            return str(value)


def decimal_text(value: float) -> str:
    """Write a double with the fewest digits that read back to it, in plain decimals where they fit."""
    text = repr(value)
    if "e" not in text or value != value or abs(value) >= 1e16:  # noqa: PLR0124  NaN is the one value unequal to itself
        return text.removesuffix(".0")
    from decimal import Decimal

    plain = format(Decimal(text), "f")
    return plain if len(plain) <= 32 else text


def rfc3339(moment: datetime) -> str:
    """Write a moment as documents have it: RFC 3339, and `Z` for UTC."""
    return moment.isoformat().replace("+00:00", "Z")
