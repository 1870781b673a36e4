"""Numbers of fusion: exact fractions in, short decimals out."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from decimal import Decimal

Number: TypeAlias = "int | float | Decimal | Fraction | str"
"""A number, or its text: a decimal such as "0.3" or a fraction such as "1/3"."""

MOST_DIGITS: Final = 300
MANY: Final = 10**9
"""A rank beyond this is told as "over" it: no list is as long."""
_LONG: Final = re.compile(r"[eE][-+]?[0-9_]{4,}").search


def exact(number: Number, what: str = "a number") -> Fraction:
    """Read a number exactly: a float by its shortest decimal text, a text as it stands.

    Raises:
        ValueError: If it is no finite number, or its exponent has more than three digits.
    """
    if isinstance(number, Fraction):
        return number
    text = (
        number
        if isinstance(number, str)
        else repr(number)
        if isinstance(number, float)
        else str(number)
    )
    if isinstance(number, bool) or _LONG(text):
        raise ValueError(f"{what} is {text[:40]}; it must be a number such as 0.3 or 1/3")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        message = f"{what} is {text[:40]!r}; it must be a finite number such as 0.3 or 1/3"
        raise ValueError(message) from error


def as_float(number: Number, what: str = "a number") -> float:
    """Give the double nearest to a number or its text.

    Raises:
        ValueError: If it is no finite number.
    """
    value = float(number) if isinstance(number, (int, float)) else float(exact(number, what))
    if isinstance(number, bool) or not math.isfinite(value):
        raise ValueError(f"{what} is {number!r}; it must be a finite number")
    return value


def fraction_text(value: Fraction) -> str:
    """Write a fraction as people read it: `1/3`, `1`, and a decimal where the fraction is unwieldy."""
    if value.denominator <= 1000:
        return str(value)
    return f"{float(value):.4g}"


def number_text(value: Fraction) -> str:
    """Write a number as a person would type it: all its decimals where they end, else the fraction."""
    if value.denominator > 10**18 or 10**18 % value.denominator:
        return fraction_text(value)
    whole = value.numerator * (10**18 // value.denominator)
    return _decimal(whole, 18)


def rank_text(rank: int) -> str:
    """Write a rank; a floor near 0 reaches to ranks of hundreds of digits, which nobody reads."""
    return str(rank) if rank <= MANY else f"over {MANY:,}"


def rounded_down(value: Fraction, digits: int = 4) -> str:
    """Write a number in [0, 1] with some decimals, never above it; with more where it would be 0."""
    above, below = value.as_integer_ratio()
    while above > 0 and above * 10**digits // below < 10 and digits < MOST_DIGITS:
        digits += 1
    return _decimal(above * 10**digits // below, digits)


def safely_below(limit: Fraction, gap: Fraction, digits: int = 2) -> str:
    """Give the largest number of some decimals (more for a small limit) that lies under a limit by a gap."""
    above, below = (limit - gap).as_integer_ratio()
    while above * 10**digits < below and digits < MOST_DIGITS:
        digits += 1
    return _decimal(above * 10**digits // below, digits)


def _decimal(scaled: int, digits: int) -> str:
    text = f"{scaled:0{digits + 1}d}"
    return f"{text[:-digits]}.{text[-digits:].rstrip('0')}".removesuffix(".")
