"""One schema with all that it refers to inside it: editors resolve it without a folder or a network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from knobctl.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Callable

SUFFIX: Final = ".v1.schema.json"


def bundled_schema(name: str) -> dict[str, Any]:
    """Read a shipped schema and put the schemas that it refers to under its `$defs`.

    Args:
        name: Its short name, such as `knob-set`.
    """
    found: dict[str, Any] = {}
    waiting: list[str] = []

    def outward(reference: str) -> str:
        file, _, place = reference.partition("#")
        if not file:
            return reference
        other = file.removesuffix(SUFFIX)
        waiting.append(other)
        return f"#/$defs/{other}{place}" if other != name else f"#{place}"

    whole: dict[str, Any] = _rewritten(_read(name), outward)
    while waiting:
        other = waiting.pop()
        if other in found or other == name:
            continue

        def inward(reference: str, other: str = other) -> str:
            return outward(f"{other}{SUFFIX}{reference}" if reference[:1] == "#" else reference)

        found[other] = _rewritten(_read(other), inward)
        del found[other]["$schema"]
    if found:
        whole["$defs"] = {**whole.get("$defs", {}), **dict(sorted(found.items()))}
    return whole


def _read(name: str) -> Any:  # noqa: ANN401  a JSON value
    return json.loads((shipped("schemas") / f"{name}{SUFFIX}").read_bytes())


def _rewritten(node: Any, rewrite: Callable[[str], str]) -> Any:  # noqa: ANN401  a JSON value
    """A copy of a JSON value in which each `$ref` is another."""
    if isinstance(node, list):
        return [_rewritten(item, rewrite) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: rewrite(value)
        if key == "$ref" and isinstance(value, str)
        else _rewritten(value, rewrite)
        for key, value in node.items()
    }
