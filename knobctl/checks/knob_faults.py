"""Says in words what is wrong with a knob's name or value, and what to write instead."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.knobs.knob import KnobType
from knobctl.text import spelled, visible

if TYPE_CHECKING:
    from knobctl.knobs import Catalogue, Knob

_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\Z").match
_NOT_FINITE: Final = re.compile(r"[-+]?\.?(?:nan|inf|infinity)\Z", re.IGNORECASE).match
"""How YAML, JSON writers and protobuf's JSON spell what is no finite number, in whatever case."""
_COMMA: Final = re.compile(r"[-+]?\d*,\d+\Z").match
_PERCENT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*%\Z").match


class Words(NamedTuple):
    """A rule with its message and hint, not yet at a place."""

    rule: str
    message: str
    hint: str


def name_fault(name: str, catalogue: Catalogue) -> Words:
    """Say that no knob has this name: with the nearest one, and letters that only look alike."""
    nearest = catalogue.nearest(name)
    message = f"{name} is no knob"
    if strange := [char for char in dict.fromkeys(name) if not char.isascii()]:
        letters = ", ".join(f"{char} is U+{ord(char):04X} {_called(char)}" for char in strange)
        message += f": {letters}"
    if nearest:
        return Words("unknown-knob", message, f"did you mean {nearest}?")
    return Words("unknown-knob", message, "the knobs are listed by: knobctl explain")


def _called(char: str) -> str:
    return unicodedata.name(char, "a character without a name")


def value_fault(knob: Knob, value: object, literal: str) -> Words | None:
    """Say why a knob does not take a value; None where it does.

    Args:
        knob: The knob.
        value: The value as it was read.
        literal: The value as it is written in the file.
    """
    if knob.accepts(value):
        return None
    if knob.type is KnobType.MODE:
        return _mode_fault(knob, value, literal)
    if isinstance(value, str) and _NOT_FINITE(value.strip()):
        return Words("not-finite", f"{knob.name} {_is(value)}; {_must(knob)}", _inside(knob))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Words(
            "wrong-type", f"{knob.name} {_is(value)}; {_must(knob)}", _retyped(knob, value)
        )
    if knob.type is KnobType.INT32 and isinstance(value, float) and not value.is_integer():
        whole = f"write a whole number; {_default(knob)}"
        return Words("wrong-type", f"{knob.name} is {literal}; {_must(knob)}", whole)
    message = f"{knob.name} is {literal or spelled(value)}; {_must(knob)}"
    return Words("out-of-range", message, f"{_moved(knob, value)}{_default(knob)}")


def _inside(knob: Knob) -> str:
    return f"write a number inside the range, and no NaN or infinity; {_default(knob)}"


def _mode_fault(knob: Knob, value: object, literal: str) -> Words:
    listed = " or ".join(knob.settable)
    if isinstance(value, str):
        meant = {choice.casefold(): choice for choice in knob.choices}.get(value.casefold())
        hint = f"write {meant}, in capitals" if meant else f"write {listed}; {_default(knob)}"
        return Words("out-of-range", f"{knob.name} is {literal}; it must be {listed}", hint)
    hint = f"write {listed}; {_default(knob)}"
    if value is None:
        hint = _inherit(knob)
    elif isinstance(value, bool) and {"ENABLED", "DISABLED"} <= set(knob.choices):
        hint = f"write {'ENABLED' if value else 'DISABLED'}"
    return Words("wrong-type", f"{knob.name} {_is(value)}; it must be {listed}", hint)


def _is(value: object) -> str:
    match value:
        case None:
            return "has no value"
        case bool():
            return f"is {spelled(value)}, a truth value"
        case str():
            return f'is the text "{visible(value)}"'
        case list():
            return "is a list"
        case dict():
            return "is a mapping"
        case _:
            return f"is the number {spelled(value)}"


def _must(knob: Knob) -> str:
    kind = "a whole number" if knob.type is KnobType.INT32 else "a number"
    plain = knob.unset is None or (knob.accepts(knob.minimum) and knob.minimum == 0)
    zero = "" if plain else ", or 0 for the default"
    unit = f" ({knob.unit})" if knob.unit else ""
    return f"it must be {kind} in {knob.range_text}{unit}{zero}"


def _default(knob: Knob) -> str:
    return f"the platform default is {spelled(knob.default)}; knobctl explain {knob.name}"


def _inherit(knob: Knob) -> str:
    return (
        "leave the key out to inherit (layers, then the platform default "
        f"{spelled(knob.default)}); write the value to pin it"
    )


def _retyped(knob: Knob, value: object) -> str:
    """What to write instead of a value that is no number."""
    if value is None:
        return _inherit(knob)
    if isinstance(value, list) and len(value) == 1:
        return f"remove the brackets: {spelled(value[0])}"
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER(text):
            return f"remove the quotes: {text}"
        if _COMMA(text):
            return f"write a decimal point, not a comma: {text.replace(',', '.')}"
        if (share := _PERCENT(text)) and knob.accepts(float(share[1]) / 100):
            return f"write {spelled(float(share[1]) / 100)}"
    return f"write a number without quotes; {_default(knob)}"


def _moved(knob: Knob, value: float) -> str:
    """What a number outside the range may have been meant to be."""
    if knob.maximum == 1 and 2 <= value <= 100:
        return f"if {spelled(value)} % is meant, write {spelled(round(value / 100, 12))}; "
    assert knob.minimum is not None
    if value < max(knob.minimum, 0) and knob.off and not knob.off.startswith("cannot"):
        return f"practically off: {knob.off.removeprefix('not offered: ')}; "
    return ""
