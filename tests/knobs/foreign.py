"""The knob schema of an engine that is not ours: other names, other rankers, the same roles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def foreign_schema() -> dict[str, Any]:
    """Two rankers, dense and sparse, one of them with a depth; a floor, a weight each, no rank constant."""
    number = {"type": "number", "minimum": 0, "maximum": 1}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Knobs of another engine",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "cutoff": {
                **number,
                "title": "Cut-off",
                "description": "Fused hits under this are dropped.",
                "x-knob": {"default": 0.4, "role": "floor.fused"},
            },
            "dense_share": {
                **number,
                "x-knob": {"default": 0.75, "role": "fusion.weight.dense"},
            },
            "sparse_share": {
                **number,
                "x-knob": {"default": 0.25, "role": "fusion.weight.sparse"},
            },
            "dense_rows": {
                "type": "integer",
                "minimum": 1,
                "maximum": 1000,
                "x-knob": {"default": 100, "role": "depth.dense"},
            },
            "sparse_mode": {
                "enum": ["UNSET", "ENABLED", "DISABLED"],
                "x-knob": {"default": "ENABLED", "role": "ranker.sparse"},
            },
            "retries": {"type": "integer", "default": 2},
        },
    }


def write_foreign_schema(folder: Path, **changes: Any) -> Path:
    """Write the schema, with some properties replaced (None takes one away), and give its path."""
    schema = foreign_schema()
    for name, prop in changes.items():
        schema["properties"][name] = prop
        if prop is None:
            del schema["properties"][name]
    path = folder / "other-engine.schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path
