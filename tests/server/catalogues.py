"""Knob schemas that differ from the shipped one by something: what a later version may bring."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from knobctl.knobs import Catalogue, load_catalogue

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NEW_KNOB = {
    "title": "New",
    "description": "A knob of a later version.",
    "type": "integer",
    "anyOf": [{"const": 0}, {"minimum": 1, "maximum": 9}],
    "x-knob": {"default": 5, "proto": {"type": "int32", "number": 99}},
}


def changed_catalogue(folder: Path, change: Callable[[dict[str, Any]], object]) -> Catalogue:
    """The shipped catalogue after a change of its properties."""
    schema = copy.deepcopy(dict(load_catalogue().schema))
    change(schema["properties"])
    path = folder / f"schema-{len(list(folder.iterdir()))}.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return load_catalogue(path)
