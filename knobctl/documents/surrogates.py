r"""Reads JSON that writes characters beyond U+FFFF as two escapes, `\ud83d\ude00`, as `json.dumps` does.

libyaml refuses such escapes. They are replaced by as many characters, so that no column moves: two
escapes of the private use area, which become the character meant once the text is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from knobctl.documents.tree import Spot, Tree, Value

_PAIR: Final = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)
_PRIVATE: Final = re.compile(r"[\ue000-\ue7ff]|\\u[eE][0-7]")
_STAND_INS: Final = re.compile("([\ue000-\ue3ff])([\ue400-\ue7ff])")
_SHIFT: Final = 0xE000 - 0xD800


def has_pairs(text: str) -> bool:
    """Whether a text is JSON with such escapes, and can be read this way."""
    if "\\u" not in text or not _PAIR.search(text) or _PRIVATE.search(text):
        return False
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def with_stand_ins(text: str) -> str:
    """Replace the pairs by stand-ins of the same length."""
    while (replaced := _PAIR.sub(_stand_in, text)) != text:
        text = replaced
    return text


def _stand_in(pair: re.Match[str]) -> str:
    high, low = (int(pair[group], 16) + _SHIFT for group in (2, 3))
    return f"{pair[1]}\\u{high:04x}\\u{low:04x}"


def restore(tree: Tree) -> None:
    """Put the characters meant where their stand-ins were read."""
    tree.value = _restored(tree.value)
    tree.spot = _restored_spot(tree.spot)


def _restored(value: Value) -> Value:
    match value:
        case str():
            return _restored_text(value)
        case list():
            return [_restored(item) for item in value]
        case dict():
            return {_restored_text(key): _restored(item) for key, item in value.items()}
        case _:
            return value


def _restored_spot(spot: Spot) -> Spot:
    match spot.children:
        case dict() as children:
            named = {_restored_text(key): _restored_spot(child) for key, child in children.items()}
            return spot._replace(children=named)
        case list() as items:
            return spot._replace(children=[_restored_spot(item) for item in items])
        case _:
            return spot


def _restored_text(text: str) -> str:
    return _STAND_INS.sub(
        lambda pair: chr(((ord(pair[1]) - 0xE000) << 10) + (ord(pair[2]) - 0xE400) + 0x10000), text
    )
