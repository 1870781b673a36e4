"""Reads plain scalars by the core schema of YAML 1.2, and notes what other readers take them for."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import yaml

from knobctl.documents.tree import Trouble

if TYPE_CHECKING:
    from knobctl.documents.tree import Value

CORE: Final = "tag:yaml.org,2002:"
NOT_CLEAN: Final = object()

_INT: Final = re.compile(r"[-+]?[0-9]+\Z").match
_BASED_INT: Final = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z").match
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z").match
_CONSTANTS: Final[dict[str, Value]] = (
    dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys(("true", "True", "TRUE"), True)
    | dict.fromkeys(("false", "False", "FALSE"), False)
    | dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf)
    | dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf)
    | dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan)
)
_TRUTH: Final = frozenset(
    ("yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF")
)
_OTHER_NUMBER: Final = re.compile(
    r"[-+]?0b[01_]+\Z"
    r"|[-+]?0x[0-9a-fA-F_]+\Z"
    r"|[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+][0-9]+)?\Z"
    r"|[-+]?\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?\Z"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z"  # base 60
).match
"""The numbers of YAML 1.1 that are none in YAML 1.2: asked where those of 1.2 have been ruled out."""
SHORT: Final = 40
_NONE_HINT: Final = "write 0.0001 for practically none"


@lru_cache(maxsize=8192)
def short_plain(text: str) -> object:
    """Read a plain scalar of at most `SHORT` characters that every reader reads alike.

    A fleet writes the same few scalars over and over; long ones are not worth their memory.

    Returns:
        Its value; `NOT_CLEAN` where `plain` must look at it, and find trouble.
    """
    troubles: list[Trouble] = []
    value = plain(text, 0, 0, troubles)
    return NOT_CLEAN if troubles else value


def plain(text: str, start: int, end: int, troubles: list[Trouble]) -> Value:  # noqa: PLR0911  one return a form of scalar
    """Read a plain scalar.

    Args:
        text: The scalar.
        start: Where it stands.
        end: Where it ends.
        troubles: What is wrong with it is added here.
    """
    if text in _CONSTANTS:
        value = _CONSTANTS[text]
        if isinstance(value, float):
            troubles.append(_not_finite(text, start, end))
        return value
    if text in _TRUTH:
        troubles.append(ambiguous(text, start, end, "a truth value"))
        return text
    if text[0].isalpha():
        return text
    if _INT(text):
        return _integer(text, start, end, troubles)
    if _FLOAT(text):
        return _float(text, start, end, troubles)
    if _BASED_INT(text):
        return _bounded(int(text, 0), text, start, end, troubles)
    if _OTHER_NUMBER(text):
        troubles.append(ambiguous(text, start, end, _reading_1_1(text)))
    return text


def key_trouble(name: str) -> str | None:
    """What is wrong with a plain key: `ambiguous-scalar`, or `unsupported-yaml` if it is no text."""
    if name in _CONSTANTS or _INT(name) or _BASED_INT(name) or _FLOAT(name):
        return "unsupported-yaml"
    return "ambiguous-scalar" if name in _TRUTH or _OTHER_NUMBER(name) else None


short_key_trouble: Final = lru_cache(maxsize=8192)(key_trouble)
"""The same for keys of at most `SHORT` characters, remembered."""


def tagged(tag: str, text: str, start: int, end: int, troubles: list[Trouble]) -> Value:
    """Read a scalar with one of the core schema's tags: `!!int`, `!!float`, `!!bool`, `!!null`."""
    value = plain(text, start, end, troubles)
    kinds: dict[str, tuple[type, ...]] = {
        "int": (int,),
        "float": (int, float),
        "bool": (bool,),
        "null": (type(None),),
    }
    if not isinstance(value, kinds[tag]) or (tag in {"int", "float"} and isinstance(value, bool)):
        troubles.append(Trouble("yaml-syntax", f"{clip(text)} is no !!{tag}", start, end))
        return value
    return float(value) if tag == "float" and isinstance(value, int) else value


def ambiguous(text: str, start: int, end: int, other: str, hint: str | None = None) -> Trouble:
    """Note a scalar that the two versions of YAML read differently."""
    here = str(int(text)) if _INT(text) else f'the text "{clip(text)}"'
    return Trouble(
        "ambiguous-scalar",
        f"{clip(text)} is read as {here} here (YAML 1.2) and as {other} by YAML 1.1 readers",
        start,
        end,
        hint or f"quote it if text is meant: '{clip(text)}'",
    )


def clip(text: str) -> str:
    """Shorten a text for a message."""
    return text if len(text) <= SHORT else f"{text[:12]}... ({len(text):,} characters)"


def _integer(text: str, start: int, end: int, troubles: list[Trouble]) -> Value:
    if len(text) > 400:
        troubles.append(_not_finite(text, start, end))
        return math.inf
    value = int(text)
    digits = text.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and value:
        octal = None if {"8", "9"} & set(digits) else int(digits, 8)
        other = f'the text "{clip(text)}"' if octal is None else f"the number {octal}"
        bare = digits.lstrip("0")
        hint = f"write {value}" if octal is None else f"write {value} or 0o{bare}"
        troubles.append(ambiguous(text, start, end, other, hint))
    if value == 0 and text[0] == "-":
        troubles.append(_negative_zero(text, start, end))
        return -0.0
    return _bounded(value, text, start, end, troubles)


def _bounded(value: int, text: str, start: int, end: int, troubles: list[Trouble]) -> Value:
    """Keep integers to what others can hold: beyond 64 bits they are doubles, beyond those no numbers."""
    if value.bit_length() <= 64:
        return value
    if value.bit_length() > 1023:
        troubles.append(_not_finite(text, start, end))
        return math.inf
    return float(value)


def _float(text: str, start: int, end: int, troubles: list[Trouble]) -> Value:
    value = float(text)
    if value == 0:
        if text.lower().split("e", 1)[0].strip("+-0."):
            message = f"{clip(text)} is too small for a double and becomes 0, which means the platform default"
            troubles.append(Trouble("underflow-to-zero", message, start, end, _NONE_HINT))
        elif text[0] == "-":
            troubles.append(_negative_zero(text, start, end))
    elif math.isinf(value):
        troubles.append(_not_finite(text, start, end))
    return value


def _negative_zero(text: str, start: int, end: int) -> Trouble:
    return Trouble(
        "negative-zero",
        f"{clip(text)} is a zero with a sign; a zero means the platform default",
        start,
        end,
        f"{_NONE_HINT}, or leave the line out to follow the default",
    )


def _not_finite(text: str, start: int, end: int) -> Trouble:
    return Trouble(
        "not-finite",
        f"{clip(text)} is no finite number",
        start,
        end,
        "write a number inside the range",
    )


def _reading_1_1(text: str) -> str:
    """What the most common reader of YAML 1.1 makes of a scalar."""
    if len(text) > SHORT:
        return "a number"
    try:
        return f"the number {yaml.safe_load(text)}"
    except ValueError:
        return "a number that is none"
