"""Reads JSON strictly: no key twice, no NaN, no lone surrogates."""

from __future__ import annotations

import json
from typing import Any

from knobctl.text import has_surrogates


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
