"""Evaluates the same queries under several sets: in one call where the engine can, else in one a set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.engine.interface import Engine
    from knobctl.knobs import KnobValue

MOST_SETS: Final = 8
"""In one call."""


def evaluated_under(
    engine: Engine,
    tenant: str,
    configs: Sequence[Mapping[str, KnobValue]],
    request: Mapping[str, Any],
) -> list[list[Any]]:
    """Evaluate queries under each of several sets.

    An engine that does not know further sets answers under the first alone; the others are then asked
    one by one, and cost as much each.

    Args:
        engine: Whom to ask.
        tenant: Whose corpus.
        configs: The sets.
        request: The queries, and whatever else Evaluate takes beside a set.

    Returns:
        One list a set, with an evaluation for each query.

    Raises:
        EngineError: As Evaluate does.
        KeyError: If an answer holds no evaluations.
    """
    found: list[list[Any]] = []
    while len(found) < len(configs):
        first, *further = configs[len(found) : len(found) + MOST_SETS]
        more = {"furtherConfigs": further} if further else {}
        answer = engine.evaluate(tenant, {**request, "config": first, **more})
        found.append(answer["evaluations"])
        found += [one["evaluations"] for one in answer.get("further", [])]
    return found
