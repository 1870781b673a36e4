"""Findings as the contract's JSON, section 3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knobctl.report.adopted import adopted_json
from knobctl.report.foreseen import guards_json
from knobctl.report.pieces import json_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knobctl.changes.comparing import TenantDiff
    from knobctl.report.formats import FindingsAnswer


def render(answer: FindingsAnswer) -> Iterator[str]:
    """Write the report in pieces."""
    head = answer.report.as_json(answer.code, shown=())
    if answer.changes is not None:
        head |= _changed(answer.changes, answer.removed)
        head["guards"] = guards_json(answer.guards)
    if answer.rules_changed is not None:
        from knobctl.report.rules_changed import rules_json

        head["rules_changed"] = rules_json(answer.rules_changed)
    if answer.adopted:
        head["adopted"] = adopted_json(answer.adopted)
    return json_pieces(head, "findings", (one.as_json() for one in answer.findings))


def _changed(changes: Sequence[TenantDiff], removed: Sequence[str]) -> dict[str, Any]:
    from knobctl.report.changes import changes_json

    return changes_json(changes, removed=removed)
