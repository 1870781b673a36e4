"""Findings as the contract's JSON, section 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.report.pieces import json_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.report.formats import FindingsAnswer


def render(answer: FindingsAnswer) -> Iterator[str]:
    """Write the report in pieces."""
    head = answer.report.as_json(answer.code, shown=())
    return json_pieces(head, "findings", (one.as_json() for one in answer.findings))
