"""Files of one JSON object a line: a heading, then a question each."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from knobctl.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Mapping

    import jsonschema_rs

KINDS: Final = ("heading", "question")


def json_line(value: Mapping[str, Any]) -> str:
    """Lay out one line, with its line feed; what ends a line elsewhere is escaped."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


@lru_cache(maxsize=4)
def line_validators(schema: str) -> dict[str, jsonschema_rs.Draft202012Validator]:
    """Compile what judges a line, by its kind.

    Args:
        schema: The file under `schemas/`, which defines each of the kinds.
    """
    import jsonschema_rs  # who only writes lines does without

    defined = json.loads((shipped("schemas") / schema).read_bytes())["$defs"]
    return {
        kind: jsonschema_rs.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": defined})
        for kind in KINDS
    }
