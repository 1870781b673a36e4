"""The fields of what judges: what they hold, which are others now, and in which direction less passes."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from knobctl.documents.model import exact_number
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from knobctl.documents.model import Document


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a rule that is another now. Of a list, what went and what came."""

    field: str
    before: str | None
    after: str | None


class _Tighter(Enum):
    """In which direction a field lets less pass."""

    LESS = auto()
    MORE = auto()
    LONGER = auto()
    SHORTER = auto()
    STATED = auto()


class Leaf(NamedTuple):
    """A value that holds no further ones: its text, and what it is compared as."""

    text: str
    value: object


Leaves: TypeAlias = "dict[str, Leaf]"

_TIGHTER: Final[Mapping[str, _Tighter]] = {
    "waiver.expires": _Tighter.LESS,
    "waiver.up_to": _Tighter.LESS,
    "waiver.tenants": _Tighter.SHORTER,
    "waiver.labels": _Tighter.STATED,
    "fleet.limits.max_tenants": _Tighter.LESS,
    "fleet.limits.max_share": _Tighter.LESS,
    "fleet.limits.largest_step": _Tighter.LESS,
    "fleet.protected": _Tighter.LONGER,
    "fleet.freeze": _Tighter.STATED,
    "fleet.evidence.required_for": _Tighter.LONGER,
    "fleet.evidence.max_age_days": _Tighter.LESS,
    "fleet.evidence.min_questions": _Tighter.MORE,
    "fleet.evidence.encoder": _Tighter.STATED,
    "fleet.evidence.max_corpus_change": _Tighter.LESS,
    "fleet.evidence.sample_tenants": _Tighter.MORE,
    "fleet.reason_required": _Tighter.STATED,
    "fleet.ticket_pattern": _Tighter.STATED,
}
"""Where one direction lets less pass: such a change is not told. Of all other fields each change is."""
_SHARE: Final = re.compile(r"(\d{1,3}(?:\.\d{1,20})?)%")


def leaves(
    value: object,
    document: Document | None = None,
    path: str = "",
    steps: tuple[str | int, ...] = (),
) -> Iterator[tuple[str, Leaf]]:
    """The values that hold no further ones, by their paths; a list of plain values is one of them."""
    parts: Iterable[tuple[str, str | int, object]]
    if isinstance(value, dict):
        parts = ((str(key), key, part) for key, part in value.items())
    elif isinstance(value, list) and value and all(map(_name_in, value)):
        parts = ((_name_in(part), index, part) for index, part in enumerate(value))
    else:
        yield path, _leaf(value, document.literal(*steps) if document else "")
        return
    for name, step, part in parts:
        yield from leaves(part, document, f"{path}.{name}" if path else name, (*steps, step))


def _name_in(value: object) -> str:
    """The name by which one of several is told; empty where it has none."""
    return str(value.get("name", "")) if isinstance(value, dict) else ""


def _leaf(value: object, literal: str) -> Leaf:
    if isinstance(value, list):
        items = tuple(map(_text, value))
        return Leaf(", ".join(items), items)
    text = _text(value)
    if share := _SHARE.fullmatch(text):
        return Leaf(text, Fraction(share[1]))
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return Leaf(literal or text, exact_number(literal, value))
    return Leaf(text, text)


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, (dict, list)) else spelled(value)


def field_changes(then: Leaves, today: Leaves, kind: str) -> Iterator[FieldChange]:
    """The fields that are others now, without those in which only less passes."""
    for path in dict.fromkeys((*then, *today)):
        before, after = then.get(path), today.get(path)
        if before and after and before.value == after.value:
            continue
        if not _lets_less_pass(f"{kind}{path}", before, after):
            yield FieldChange(path, *_told(before, after))


def _told(before: Leaf | None, after: Leaf | None) -> tuple[str | None, str | None]:
    if before and after and isinstance(before.value, tuple) and isinstance(after.value, tuple):
        then, today = dict.fromkeys(before.value), dict.fromkeys(after.value)
        lost = [one for one in then if one not in today]
        gained = [one for one in today if one not in then]
        if lost or gained:
            return ", ".join(lost) or None, ", ".join(gained) or None
    return before and before.text, after and after.text


def _lets_less_pass(path: str, before: Leaf | None, after: Leaf | None) -> bool:
    tighter = next(
        (way for known, way in _TIGHTER.items() if f"{path}.".startswith(f"{known}.")), None
    )
    if tighter is None or after is None:
        return False
    if before is None:
        return tighter is not _Tighter.SHORTER
    then, today = before.value, after.value
    if isinstance(then, tuple) and isinstance(today, tuple):
        longer, shorter = set(then) <= set(today), set(then) >= set(today)
        return longer if tighter is _Tighter.LONGER else shorter and tighter is _Tighter.SHORTER
    for known in (Fraction, str):
        if isinstance(then, known) and isinstance(today, known):
            less, more = today < then, today > then  # type: ignore[operator]  # of one type
            return less if tighter is _Tighter.LESS else more and tighter is _Tighter.MORE
    return False
