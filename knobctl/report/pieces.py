"""JSON with one long list, written in pieces: a fleet's answer is never held as a whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


def json_pieces(document: Mapping[str, Any], name: str, items: Iterable[Any]) -> Iterator[str]:
    """Write a document as `json.dumps` with an indent of 2 does, one of its lists item by item.

    Args:
        document: The document; its list is empty, and no other list in it has that name.
        name: The key of the list.
        items: What stands in the list, made when it is written.
    """
    # Within JSON texts a quote is escaped, so what looks like the key is the key.
    head, key, tail = json.dumps(document, indent=2).partition(f'"{name}": [')
    yield head + key
    between = ""
    for item in items:
        # Nor does a text hold a line break, so every one is layout.
        yield between + "\n    " + json.dumps(item, indent=2).replace("\n", "\n    ")
        between = ","
    yield ("\n  " if between else "") + tail
