r"""Reads JSON that writes characters beyond U+FFFF as two escapes, `\ud83d\ude00`, as `json.dumps` does.

libyaml refuses such escapes. They are replaced by as many characters, so that no column moves: two
escapes of the private use area, which become the character meant once the text is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from knobctl.documents.tree import Spot, Tree, Value

_PAIR: Final = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)
_BASES: Final = {
    0xE000: re.compile(r"[\ue000-\ue7ff]|\\u[eE][0-7]"),
    0xE800: re.compile(r"[\ue800-\uefff]|\\u[eE][89a-fA-F]"),
    0xF000: re.compile(r"[\uf000-\uf7ff]|\\u[fF][0-7]"),
}
"""Stretches of the private use area for 1,024 first and 1,024 second halves; a text may use one itself."""


def stand_in_base(text: str) -> int | None:
    """Where the stand-ins of a text begin; None where it is no JSON with such escapes."""
    if "\\u" not in text or not _PAIR.search(text):
        return None
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return next((base for base, used in _BASES.items() if not used.search(text)), None)


def with_stand_ins(text: str, base: int) -> str:
    """Replace the pairs by stand-ins of the same length."""

    def stand_in(pair: re.Match[str]) -> str:
        high, low = (int(pair[group], 16) - 0xD800 + base for group in (2, 3))
        return f"{pair[1]}\\u{high:04x}\\u{low:04x}"

    while (replaced := _PAIR.sub(stand_in, text)) != text:
        text = replaced
    return text


def restore(tree: Tree, base: int) -> None:
    """Put the characters meant where their stand-ins were read."""
    halves = f"([{chr(base)}-{chr(base + 0x3FF)}])([{chr(base + 0x400)}-{chr(base + 0x7FF)}])"

    def meant(pair: re.Match[str]) -> str:
        return chr(((ord(pair[1]) - base) << 10) + (ord(pair[2]) - base - 0x400) + 0x10000)

    def text(value: str) -> str:
        return re.sub(halves, meant, value)

    tree.value = _restored(tree.value, text)
    tree.spot = _restored_spot(tree.spot, text)


def _restored(value: Value, text: Callable[[str], str]) -> Value:
    match value:
        case str():
            return text(value)
        case list():
            return [_restored(item, text) for item in value]
        case dict():
            return {text(key): _restored(item, text) for key, item in value.items()}
        case _:
            return value


def _restored_spot(spot: Spot, text: Callable[[str], str]) -> Spot:
    match spot.children:
        case dict() as children:
            named = {text(key): _restored_spot(child, text) for key, child in children.items()}
            return spot._replace(children=named)
        case list() as items:
            return spot._replace(children=[_restored_spot(item, text) for item in items])
        case _:
            return spot
