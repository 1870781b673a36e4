"""The variable `knob`: the one that a policy is asked for, where it is asked for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.knobs.knob import KnobType
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from knobctl.checks.subject import Subject
    from knobctl.documents.model import Written
    from knobctl.knobs import KnobValue
    from knobctl.knobs.knob import Knob


def asked_knob(subject: Subject, name: str, keys: Collection[str] | None) -> dict[str, object]:
    """The variable `knob` of an `each` policy.

    Args:
        subject: The tenant.
        name: The knob.
        keys: What is asked of it; None for all.
    """
    knob = subject.catalogue[name]
    origin = subject.effective.origin(name)
    value = origin.value if origin else subject.omitted.get(name, knob.default)
    asked = _Asked(subject, knob, origin, value)
    return {key: KNOB_FACTS[key](asked) for key in keys or KNOB_FACTS if key in KNOB_FACTS}


def decided_by(subject: Subject, name: str) -> object:
    """What decides the variable for a knob that is written: where it is equal, the variable is; None where it is not."""
    written = subject.as_written[name]
    return written and (name, written, subject.live is None)


class _Asked(NamedTuple):
    """The knob that an `each` policy is asked for."""

    subject: Subject
    knob: Knob
    origin: Written | None
    value: KnobValue


def _off_hint(off: str) -> str:
    """How to write "practically off", as an instruction: `write recency_ranker_mode: DISABLED`."""
    if not off:
        return ""
    off = off.removeprefix("not offered: ")
    mode, _, state = off.partition(" ")
    if state == "DISABLED":
        return f"write {mode}: DISABLED to switch it off"
    if off.startswith("cannot"):
        return f"it {off}"
    return off if off.startswith(("write ", "leave ")) else f"write {off}"


def _was_set(subject: Subject) -> str:
    """Where a knob that is omitted was set."""
    if subject.live is not None:
        return "on the engine"
    return f"at {subject.revision}" if subject.revision else "at the base"


def _literal(asked: _Asked) -> str:
    if asked.origin:
        return asked.origin.literal
    base = None if asked.subject.live is not None else asked.subject.base
    then = base.origin(asked.knob.name) if base else None
    return then.literal if then else spelled(asked.value)


KNOB_FACTS: Final[Mapping[str, Callable[[_Asked], object]]] = {
    "name": lambda asked: asked.knob.name,
    "value": lambda asked: asked.value,
    "literal": _literal,
    "was_set": lambda asked: _was_set(asked.subject),
    "default": lambda asked: asked.knob.default,
    "default_text": lambda asked: spelled(asked.knob.default),
    "unset": lambda asked: asked.value == asked.knob.unset,
    "surprises": lambda asked: asked.knob.zero_surprises,
    "hides": lambda asked: bool(asked.subject.effective.hidden(asked.knob.name)),
    "mode": lambda asked: asked.knob.type is KnobType.MODE,
    "off": lambda asked: asked.knob.off,
    "off_hint": lambda asked: _off_hint(asked.knob.off),
    "zero": lambda asked: asked.knob.zero,
    "role": lambda asked: asked.knob.role or "",
    "unit": lambda asked: asked.knob.unit,
}
"""By name, what is known of it."""
