"""`knobctl impact`: who follows a platform default and would change, who pins it."""

from __future__ import annotations

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of

SCHEMA = "output-impact.v1.schema.json"


@pytest.fixture
def fleet(inside: Inside) -> Inside:
    """Three tenants in files: one follows, one pins, one follows by a literal 0."""
    inside.write("a.yaml", "tenant: a\nknobs: {rrf_k: 30}\n")
    inside.write("layer.yaml", "layer: gold\nknobs:\n  retrieval_min_score: 0.2\n")
    inside.write("b.yaml", "tenant: b\nlayers: [gold]\nknobs: {}\n")
    inside.write("c.yaml", "tenant: c\nknobs: {retrieval_min_score: 0}\n")
    return inside


def test_followers_and_pinners_from_files(fleet: Inside) -> None:
    """A literal 0 follows; a layer's value pins, with its place; what the floor lets through is told."""
    result = fleet("impact", "--default", "retrieval_min_score=0.35", "--format", "json")
    assert result.code == 0
    assert faults_of(result.json, SCHEMA) == []
    assert result.json["summary"] == {"tenants": 3, "follow": 2, "change": 2, "pin": 1}
    assert [one["tenant"] for one in result.json["follow"]] == ["a", "c"]
    assert result.json["pin"] == [{"tenant": "b", "value": 0.2, "place": "layer.yaml:3"}]
    found = {one["found_by"]: one for one in result.json["follow"][1]["reach"]}
    assert (found["vector"]["deepest_rank_before"], found["vector"]["deepest_rank_after"]) == (7, 0)


def test_text_counts_first_and_says_what_a_floor_does(fleet: Inside) -> None:
    """Two groups: k differs."""
    lines = fleet("impact", "--default", "retrieval_min_score=0.35").out.splitlines()
    assert lines[0] == (
        "retrieval_min_score default 0.3 -> 0.35: 2 of 3 tenants of the files follow it and would change, 1 pins it"
    )
    assert "  pins     b  0.2   layer.yaml:3" in lines
    assert any(
        "found by vector or bm25 or recency alone never passes, was down to rank 7" in line
        for line in lines
    )


def test_from_the_engine(fleet: Inside) -> None:
    """What it holds, not what the files want; PATHs choose whose."""
    fleet.hold("a", retrieval_min_score=0.1)
    fleet.hold("z", rrf_k=3)
    result = fleet(
        "impact", "--default", "retrieval_min_score=0.35", "--live", "--format", "json", *ENGINE
    )
    assert [one["tenant"] for one in result.json["pin"]] == ["a"]
    assert [one["tenant"] for one in result.json["follow"]] == ["z"]
    assert faults_of(result.json, SCHEMA) == []
    result = fleet(
        "impact",
        "a.yaml",
        "--default",
        "retrieval_min_score=0.35",
        "--live",
        "--format",
        "json",
        *ENGINE,
    )
    assert result.json["summary"] == {"tenants": 1, "follow": 0, "change": 0, "pin": 1}


def test_a_default_that_does_not_move_changes_nobody(fleet: Inside) -> None:
    """It says so."""
    result = fleet("impact", "--default", "retrieval_min_score=0.30")
    assert "nobody changes" in result.out
    assert (
        fleet("impact", "--default", "retrieval_min_score=0.30", "--format", "json").json[
            "summary"
        ]["change"]
        == 0
    )


def test_a_knob_that_is_no_number(fleet: Inside) -> None:
    """A mode has a default too; with one ranker fewer the floor means something else."""
    result = fleet("impact", "--default", "recency_ranker_mode=DISABLED", "--format", "json")
    assert result.json["summary"]["change"] == 3
    found = {
        one["found_by"]: one["deepest_rank_after"] for one in result.json["follow"][2]["reach"]
    }
    assert found == {"vector": 41, "bm25": 41, "recency": 0}


@pytest.mark.parametrize(
    ("default", "code"),
    [
        ("retrieval_min_score=7", 4),
        ("retrieval_min_score=0,3", 4),
        ("retrieval_min_scor=0.3", 2),
        ("retrieval_min_score", 2),
        ("rrf_k=0", 2),
        ("gate_mode=KNOB_MODE_UNSPECIFIED", 2),
    ],
)
def test_a_default_obeys_the_rules_of_values(fleet: Inside, default: str, code: int) -> None:
    """Range, number rules, names."""
    assert fleet("impact", "--default", default).code == code


def test_without_a_default_there_is_no_question(fleet: Inside) -> None:
    """A usage error."""
    assert fleet("impact").code == 2
    assert fleet("impact", "--default", "rrf_k=3", "nowhere").code == 2


def test_errors_in_the_files_are_the_answer(fleet: Inside) -> None:
    """Exit 4."""
    fleet.write("d.yaml", "tenant: d\nknobs: {rrf_k: 0.5}\n")
    result = fleet("impact", "--default", "rrf_k=3", "--format", "json")
    assert (result.code, faults_of(result.json, SCHEMA)) == (4, [])
