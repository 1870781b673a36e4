"""Random sets for the laws of diffs: every knob, bounds, tiny numbers, literal zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.knobs import Catalogue, Knob, KnobType, KnobValue

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random


def random_value(knob: Knob, random: Random) -> KnobValue:
    """An accepted value of a knob: inside, at a bound, tiny, integer-valued, or unset."""
    if knob.type is KnobType.MODE:
        return random.choice(knob.choices)
    assert knob.minimum is not None
    assert knob.maximum is not None
    low, high = knob.minimum, knob.maximum
    if knob.type is KnobType.INT32:
        value: KnobValue = random.choice(
            [0, int(low), int(high), random.randint(int(low), int(high))]
        )
        return float(value) if random.random() < 0.1 else value
    inside = random.uniform(low, high)
    tiny = 10.0 ** random.uniform(-320, -1)
    near = random.choice([0.3, 0.1 + 0.2, 0.30000000000000004, 1 / 3, 1e-07, 5e-324])
    drawn = random.choice([0.0, 0, low, high, inside, round(inside, 2), tiny, near])
    return drawn if drawn == 0 or low <= drawn <= high else inside


def random_set(catalogue: Catalogue, random: Random) -> dict[str, KnobValue]:
    """A set as somebody may write it: literal zeros and integer-valued floats included."""
    share = random.choice([0.0, 0.1, 0.5, 1.0])
    return {knob.name: random_value(knob, random) for knob in catalogue if random.random() < share}


def random_neighbour(
    catalogue: Catalogue, existing: Mapping[str, KnobValue], random: Random
) -> dict[str, KnobValue]:
    """A set that differs from another in a few knobs, in none, or in all."""
    kind = random.random()
    if kind < 0.1:
        return dict(existing)
    if kind < 0.3:
        return random_set(catalogue, random)
    desired = dict(existing)
    for knob in random.sample(list(catalogue), random.randint(1, 4)):
        if random.random() < 0.4:
            desired.pop(knob.name, None)
        else:
            desired[knob.name] = random_value(knob, random)
    return desired
