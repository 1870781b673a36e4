"""A number one step up or down: `+` and `-`. Pure."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from knobctl.knobs import KnobType
from knobctl.text import spelled

if TYPE_CHECKING:
    from knobctl.knobs import Knob, KnobValue


def step_of(knob: Knob) -> Decimal:
    """A step: a power of ten under a tenth of the default, or of the range where that is 0; of whole numbers at least 1."""
    if knob.minimum is None or knob.maximum is None or isinstance(knob.default, str):
        return Decimal(1)
    size = abs(float(knob.default)) or (float(knob.maximum) - float(knob.minimum)) / 10
    power = math.floor(math.log10(size)) - 1 if 0 < size < 1e15 else 0
    step = Decimal(1).scaleb(power)
    return max(step, Decimal(1)) if knob.type is KnobType.INT32 else step


def stepped(knob: Knob, literal: str, value: KnobValue, by: int) -> str | None:
    """A number some steps further, inside the range; never onto a zero that means a default which is none.

    Args:
        knob: The knob; a mode has no steps.
        literal: What stands there now, as it is typed.
        value: What is in force, where what is typed is no number.
        by: How many steps.

    Returns:
        What to write; None where there is no further step.
    """
    if knob.type is KnobType.MODE:
        return None
    step = step_of(knob)
    least, most = Decimal(repr(knob.minimum)), Decimal(repr(knob.maximum))
    start = max(least, min(most, _number(knob, literal, value)))
    wanted = max(least, min(most, start + by * step))
    if wanted == start or (wanted == 0 and knob.unset == 0 and knob.zero_surprises):
        return None
    places = max(-int(step.as_tuple().exponent), -int(start.as_tuple().exponent), 0)
    text = f"{wanted:.{places}f}" if places < 20 else spelled(float(wanted))
    return str(int(wanted)) if knob.type is KnobType.INT32 else text


def _number(knob: Knob, literal: str, value: KnobValue) -> Decimal:
    for text in (literal, spelled(value)):
        try:
            number = Decimal(text)
        except InvalidOperation:
            continue
        if number.is_finite() and (number or not knob.zero_surprises):
            return number
    return Decimal(0)
