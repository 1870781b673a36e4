"""Field paths, as the audit event spells them or as JSON pointers."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Step: TypeAlias = str | int
"""A key of a mapping, or a position in a list from 0."""


class PathStyle(StrEnum):
    """How a path is spelled."""

    FIELD = "field"
    POINTER = "pointer"


def spell(steps: Sequence[Step], style: PathStyle = PathStyle.FIELD) -> str:
    """Spell the way from a root to a value.

    Args:
        steps: Keys and positions, outermost first.
        style: `fusion.weights[1]` or `/fusion/weights/1` (RFC 6901).

    Returns:
        The path. Keys that hold a dot or a bracket are quoted in the first style, so that
        `"a.b"` is one key and `a.b` is two.
    """
    if style is PathStyle.POINTER:
        return "".join(f"/{_pointer_token(step)}" for step in steps)
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{_key(step)}" if path else _key(step)
    return path


def _key(key: str) -> str:
    plain = key and not set(key) & set('.[]"') and key == key.strip()
    return key if plain else json.dumps(key, ensure_ascii=False)


def _pointer_token(step: Step) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")
