"""JSON in pieces reads as JSON in one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from knobctl.report.pieces import json_pieces


@pytest.mark.parametrize(
    "items", [[], [1], [{"a": [], "b": {"c": "x\ny"}}, [], {}, '"items": []', [[1, 2]]]]
)
def test_pieces_are_the_text_of_the_whole(items: list[Any]) -> None:
    """Byte for byte, whatever stands in the list and around it."""
    document = {"version": 1, "before": '"items": [', "items": items, "after": [{"x": "é"}]}
    pieces = json_pieces({**document, "items": []}, "items", iter(items))
    assert "".join(pieces) == json.dumps(document, indent=2)


def test_an_item_is_made_when_it_is_written() -> None:
    """So that none but one is held at a time."""
    items = iter(range(3))
    pieces = json_pieces({"items": []}, "items", items)
    next(pieces)
    next(pieces)
    assert list(items) == [1, 2]
