"""`knobctl reach --plot` and `--evidence`: the floor drawn, with what recorded scores say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.outputs import faults_of
from tests.evidence.recordings import SHIPPED, WITHOUT_RECENCY
from tests.knobs.foreign import write_foreign_schema

if TYPE_CHECKING:
    from tests.cli.inside import Inside
    from tests.running import Knobctl


def test_it_draws_bars_instead_of_the_table(inside: Inside) -> None:
    """A log gets them at 80 columns, ASCII where that is asked for."""
    drawn = inside("reach", "--plot", "--floor", "0.34")
    assert (drawn.code, drawn.err) == (0, "")
    first, _, title, *_ = drawn.out.splitlines()
    assert first.startswith("floor 0.34, k 60, weights vector 1 bm25 1 recency 1")
    assert title == "What passes at 0.34, by live rankers"
    assert "passes down to rank" not in drawn.out
    assert max(map(len, drawn.out.splitlines())) <= 80
    plain = inside("reach", "--ascii", "--floor", "0.34")
    assert plain.out.isascii()
    assert "vector never ! empty" in plain.out


def test_recorded_scores_say_what_a_floor_costs(inside: Inside) -> None:
    """In the text a curve and sentences, in the JSON the counts."""
    text = inside("reach", "--evidence", SHIPPED, "--floor", "0.65").out
    assert "At 0.65, 58 of 400 questions (14.5%) would get no context" in text
    answer = inside("reach", "--evidence", SHIPPED, "--floor", "0.65", "--format", "json").json
    found = answer["evidence"]
    assert found["refused"] == {"numerator": 58, "denominator": 400, "value": 0.145}
    assert found["refused_by_label"]["answerable"]["numerator"] == 17
    assert (found["refusals"], found["known_from"]) == ([], 0.0001)
    assert faults_of(answer, "output-reach.v1.schema.json") == []


def test_recorded_scores_of_another_fusion_are_refused(inside: Inside) -> None:
    """No counts, and the reason."""
    answer = inside("reach", "--evidence", WITHOUT_RECENCY, "--format", "json").json
    assert answer["evidence"]["refused"] is None
    assert answer["evidence"]["refused_by_label"] == {}
    assert "vector and bm25 taking part" in answer["evidence"]["refusals"][0]
    assert faults_of(answer, "output-reach.v1.schema.json") == []
    held = inside("reach", "--evidence", WITHOUT_RECENCY, "--weights", "1,1,off", "--floor", "0.9")
    assert "At 0.9, 12 of 400 questions (3.0%) would get no context" in held.out


def test_a_tenant_s_own_values_count(knobctl: Knobctl) -> None:
    """Its weights, its floor as the one in force, and whom it was measured for."""
    knobctl.write("a.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.5}\n")
    told = knobctl("reach", "a.yaml", "--tenant", "acme", "--evidence", SHIPPED, "--floor", "0.7")
    assert "at 0.5, in force now, it is 0." in " ".join(told.out.split())
    assert "! It was measured for squad2-dev." in told.out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gone.jsonl", "error: gone.jsonl: no such file or directory"),
        ("/dev/zero", "error: /dev/zero: no regular file"),
        ("bad.jsonl", "error: bad.jsonl:1: no heading of recorded scores"),
    ],
)
def test_what_cannot_be_read_is_told(inside: Inside, name: str, told: str) -> None:
    """With the line, and an exit code of its own."""
    inside.write("bad.jsonl", "{}\n")
    result = inside("reach", "--evidence", name)
    assert (result.code, result.out) == (4, "")
    assert result.err.startswith(told)


def test_another_engine_s_scale_is_drawn_as_its_own(inside: Inside) -> None:
    """A raw sum, ranks from 0: the bars end at the best sum; recorded scores of ours say nothing there."""
    schema = write_foreign_schema(
        inside.folder,
        cutoff={
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "x-knob": {"default": 0.01, "role": "floor.fused", "scale": "rrf_raw"},
        },
        constant={
            "type": "integer",
            "minimum": 0,
            "maximum": 1000,
            "x-knob": {"default": 60, "role": "fusion.k", "first_rank": 0},
        },
    )
    drawn = inside("reach", "--plot", "--schema", schema, "--evidence", SHIPPED)
    assert "dense sparse" in drawn.out
    assert "┊0.0125" in drawn.out
    assert "its scores are divided by the best reachable one, this engine's are a raw sum" in (
        " ".join(drawn.out.split())
    )
