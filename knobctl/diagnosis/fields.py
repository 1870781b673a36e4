"""Reads fields of JSON in both spellings and forgivingly: what is odd is noted, and never stops the rest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_ODDITIES: Final = 10
_LARGEST: Final = 2**53


def folded(name: str) -> str:
    """A field's name without what differs between `minScore`, `min_score` and `MinScore`."""
    return name.replace("_", "").lower()


class Fields:
    """One JSON object. Absent and null are the same; a value of the wrong kind is noted and left out."""

    def __init__(self, value: Mapping[str, Any], place: str, oddities: list[str]) -> None:
        self._place = place
        self._oddities = oddities
        self._values: dict[str, Any] = {}
        for name, one in value.items():
            if one is not None and self._values.setdefault(folded(name), one) != one:
                self.odd(name, "stands there in two spellings with two values; the first counts")

    def __contains__(self, name: str) -> bool:
        return folded(name) in self._values

    def odd(self, name: str, what: str) -> None:
        """Note what could not be read."""
        if len(self._oddities) < MOST_ODDITIES:
            place = visible(f"{self._place}{name}"[:80])
            self._oddities.append(f"{place} {what}")

    def number(self, name: str) -> float | None:
        """A number that can be a score or a count, as a number or as its text."""
        value = self._values.get(folded(name))
        if value is None:
            return None
        try:
            if isinstance(value, bool) or not isinstance(value, (int, float, str)):
                raise TypeError  # noqa: TRY301  one way out for every kind of wrong
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            self.odd(name, "is no number; left out")
            return None
        if not math.isfinite(number) or abs(number) > _LARGEST:
            self.odd(name, f"is {number:g}; left out")
            return None
        return number

    def count(self, name: str) -> int | None:
        """A whole number from 0."""
        number = self.number(name)
        if number is None:
            return None
        if number < 0 or number != int(number) or number > _LARGEST:
            self.odd(name, f"is {number:g}, which counts nothing; left out")
            return None
        return int(number)

    def text(self, name: str) -> str:
        """A text; empty where there is none."""
        value = self._values.get(folded(name), "")
        if isinstance(value, str):
            return value
        self.odd(name, "is no text; left out")
        return ""

    def word(self, name: str, numbered: tuple[str, ...], prefix: str) -> str | None:
        """A word of an enumeration: its name in any case, with the enumeration's own name before it or not, or its number."""
        value = self._values.get(folded(name))
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return numbered[value] if 0 <= value < len(numbered) else str(value)
        if not isinstance(value, str):
            self.odd(name, "is no word; left out")
            return None
        if value.isdigit() and len(value) < 3:
            return numbered[int(value)] if int(value) < len(numbered) else value
        return value.lower().removeprefix(prefix)

    def flag(self, name: str) -> bool:
        """True or false; false where there is none."""
        value = self._values.get(folded(name), False)
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            return value.lower() == "true"
        if not isinstance(value, bool):
            self.odd(name, "is neither true nor false; left out")
            return False
        return value

    def object(self, name: str) -> Fields:
        """An object inside; an empty one where there is none."""
        return Fields(self.mapping(name), f"{self._place}{name}.", self._oddities)

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An object inside as it stands, for objects whose names are no fields."""
        value = self._values.get(folded(name), {})
        if isinstance(value, dict):
            return value
        self.odd(name, "is no object; left out")
        return {}

    def items(self, name: str) -> list[Any]:
        """A list; empty where there is none."""
        value = self._values.get(folded(name), [])
        if isinstance(value, list):
            return value
        self.odd(name, "is no list; left out")
        return []

    def objects(self, name: str) -> list[Fields]:
        """A list of objects."""
        found = []
        for at, item in enumerate(self.items(name)):
            if isinstance(item, dict):
                found.append(Fields(item, f"{self._place}{name}[{at}].", self._oddities))
            else:
                self.odd(f"{name}[{at}]", "is no object; left out")
        return found
