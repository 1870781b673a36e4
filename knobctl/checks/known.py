"""What was found out of values that come again."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

T = TypeVar("T")
MOST: Final = 2048
"""How many different values are remembered; where fewer than as many came again by then, none is any more."""


class Known(Generic[T]):
    """Remembers by what was read; gives up where nothing comes again, as looking it up takes time and room."""

    __slots__ = ("_again", "_found", "gave_up")

    def __init__(self) -> None:
        self._found: dict[object, T] = {}
        self._again = 0
        self.gave_up = False

    def get(self, key: object) -> T | None:
        """Give what was found out; None where nothing was."""
        found = self._found.get(key)
        if found is not None:
            self._again += 1
        return found

    def put(self, key: object, found: T) -> None:
        """Remember what was found out."""
        if len(self._found) < MOST:
            self._found[key] = found
        elif self._again < MOST:
            self.gave_up = True
            self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._found = {}
