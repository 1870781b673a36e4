"""What a set says to the pipeline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from knobctl.knobs import load_catalogue
from knobctl.server.retrieval.settings import settings_of
from tests.server.retrieval.candidates import under

if TYPE_CHECKING:
    from pathlib import Path


def test_the_shipped_defaults() -> None:
    """What the page says: floor 0.3, k 60, equal weights, gate at 0.5 and 0.3."""
    shipped = under()
    assert (shipped.floor, shipped.fusion.k, set(shipped.fusion.weights.values())) == (
        0.3,
        60,
        {1.0},
    )
    assert list(shipped.fusion.weights) == ["vector", "bm25", "recency"]
    assert (shipped.expansion.min_confident, shipped.expansion.floor) == (0.5, 0.3)
    assert shipped.timeout_s == 0.8


def test_a_ranker_that_is_off_has_neither_weight_nor_depth() -> None:
    """recency_ranker_mode DISABLED takes it out of fusion altogether."""
    settings = under(recency_ranker_mode="DISABLED")
    assert list(settings.fusion.weights) == list(settings.depths) == ["vector", "bm25"]


def test_widening_keeps_whole_rows() -> None:
    """50, 50 and 20 rows, one and a half times."""
    assert under(expansion_top_k_multiplier=1.5).widened() == {
        "vector": 75,
        "bm25": 75,
        "recency": 30,
    }


def test_knobs_are_found_by_role(tmp_path: Path) -> None:
    """Under other names with the same roles, the same set says the same."""
    schema = dict(load_catalogue().schema)
    renamed = {
        f"other_{name}" if prop["x-knob"].get("role") else name: prop
        for name, prop in schema["properties"].items()
    }
    for name, prop in renamed.items():
        proto = {**prop["x-knob"]["proto"], "json_name": name}
        renamed[name] = {**prop, "x-knob": {**prop["x-knob"], "proto": proto}}
    path = tmp_path / "other.schema.json"
    path.write_text(json.dumps({**schema, "properties": renamed}))
    other = settings_of(load_catalogue(path), {"other_rrf_k": 10, "mmr_lambda": 0.5})
    assert other == under(rrf_k=10, mmr_lambda=0.5)
