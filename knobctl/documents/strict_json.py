"""Reads JSON strictly: no key twice, no NaN, no lone surrogates."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from knobctl.text import has_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\n\r]*")


def read_json(raw: bytes) -> Any:  # noqa: ANN401  any JSON may come
    """Read a JSON text that may come from anybody.

    Raises:
        ValueError: Saying what is wrong with it; UnicodeDecodeError where it is no UTF-8.
    """
    try:
        value = json.loads(
            raw.decode("utf-8-sig"), parse_constant=_refuse_constant, object_pairs_hook=_unique
        )
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    # In UTF-8 half a character can stand as an escape alone; to look at every text takes as long as reading.
    if b"\\u" in raw and has_surrogates(json.dumps(value, ensure_ascii=False)):
        raise ValueError("a text in it holds half of a character")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has one key twice")
    return found


class JsonCursor:
    """Walks through a JSON text whose objects or arrays are too large to be held at once, as strictly.

    A text that holds half of a character is for the caller to refuse.
    """

    def __init__(self, text: str, at: int = 0) -> None:
        """Begin at a position."""
        self._text = text
        self.at = at
        """Where the next value begins, or what stands before it."""
        self._decoder = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_unique)

    def stands_at(self, mark: str) -> bool:
        """Whether something begins here, such as an object with `{`."""
        if space := _SPACE.match(self._text, self.at):
            self.at = space.end()
        return self._text.startswith(mark, self.at)

    def value(self) -> Any:  # noqa: ANN401  any JSON may come
        """Read the value that stands here, whole.

        Raises:
            ValueError: Saying what is wrong with it.
        """
        return self._read(self._decoder)

    def skip(self) -> None:
        """Go past the value that stands here, which `value` may refuse all the same.

        Raises:
            ValueError: If it is not whole.
        """
        self._read(_PLAIN)

    def _read(self, decoder: json.JSONDecoder) -> Any:  # noqa: ANN401  any JSON may come
        self.stands_at("")
        try:
            found, self.at = decoder.raw_decode(self._text, self.at)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        return found

    def members(self) -> Iterator[str]:
        """The keys of the object that begins here; the value of each is to be taken before the next.

        Raises:
            ValueError: Saying what is wrong with it.
        """
        seen = set()
        for _ in self._parts("{", "}"):
            self._need('"')
            key = self.value()
            if key in seen:
                raise ValueError("an object has one key twice")
            seen.add(key)
            self._take(":")
            yield key

    def elements(self) -> Iterator[None]:
        """One turn for each element of the array that begins here; each is to be taken.

        Raises:
            ValueError: Saying what is wrong with it.
        """
        return self._parts("[", "]")

    def end(self) -> None:
        """Make sure that nothing more stands here.

        Raises:
            ValueError: If something does.
        """
        self.stands_at("")
        if self.at != len(self._text):
            raise json.JSONDecodeError("Extra data", self._text, self.at)

    def _parts(self, opening: str, closing: str) -> Iterator[None]:
        self._take(opening)
        if not self.stands_at(closing):
            yield
            while self.stands_at(","):
                self.at += 1
                yield
        self._take(closing)

    def _take(self, mark: str) -> None:
        self._need(mark)
        self.at += 1

    def _need(self, mark: str) -> None:
        if not self.stands_at(mark):
            raise json.JSONDecodeError(f"Expecting {mark!r}", self._text, self.at)
