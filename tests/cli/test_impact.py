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


DEFAULT = ("impact", "--default", "retrieval_min_score=0.25")


def test_a_default_counts_as_a_push_to_every_tenant_at_zero(inside: Inside) -> None:
    """P22: of 1,000 tenants 900 follow it; without that number said it is refused, answer and all."""
    texts = [
        f"tenant: t{number:04}\nknobs: {{retrieval_min_score: {0.2 if number < 100 else 0}}}\n"
        for number in range(1000)
    ]
    inside.write("t.yaml", "---\n".join(texts))
    inside.write("fleet.yaml", "fleet: default\nlimits: {max_tenants: 500, max_share: 50%}\n")
    result = inside(*DEFAULT, "--format", "json")
    assert (result.code, faults_of(result.json, SCHEMA)) == (6, [])
    assert (result.json["outcome"], result.json["fleet"]) == ("refused", "default")
    assert result.json["summary"] == {"tenants": 1000, "follow": 900, "change": 900, "pin": 100}
    assert [one["allow"] for one in result.json["refusals"]] == [
        "max_tenants=900",
        "max_share=90%",
    ]
    assert "900 tenants would change, the limit of fleet default is 500 (fleet.yaml:2)" in (
        result.err.replace("\n", " ")
    )
    both = ("--allow", "max_tenants=900", "--allow", "max_share=90%")
    for few in (both[:2], both[2:], ("--allow", "max_tenants=1000", *both[2:])):
        assert inside(*DEFAULT, *few).code == 6
    allowed = inside(*DEFAULT, *both, "--format", "json")
    assert (allowed.code, faults_of(allowed.json, SCHEMA)) == (0, [])
    assert allowed.json["allowed"] == ["max_tenants=900", "max_share=90%"]


def test_an_override_of_so_many_is_refused_as_the_default_is(inside: Inside) -> None:
    """P22: the same 900 changed one by one, by one run."""
    texts = [
        f"tenant: t{number:04}\nknobs: {{retrieval_min_score: 0.25}}\n" for number in range(900)
    ]
    inside.write("t.yaml", "---\n".join(texts))
    inside.write("fleet.yaml", "fleet: default\nlimits: {max_tenants: 500}\n")
    refused = inside("apply", "--yes", "--format", "json", *ENGINE)
    assert refused.out, refused.err
    assert [one["allow"] for one in refused.json["refusals"]] == ["max_tenants=900"]
    assert (refused.code, inside("get", "--format", "json", *ENGINE).json["tenants"]) == (6, [])


def test_a_default_is_bounded_by_steps_protection_and_the_live_fleet(fleet: Inside) -> None:
    """What the engine holds counts with --live; a reason that a push would need is not asked for."""
    fleet.write("knobctl.toml", "")
    fleet.write(
        "fleet.yaml",
        "fleet: default\nreason_required: true\nprotected: [z]\n"
        "limits: {max_tenants: 1, largest_step: {retrieval_min_score: 0.01}}\n",
    )
    live = (*DEFAULT, "--live", "--format", "json", *ENGINE)
    for tenant in ("y", "z"):
        given = ("--reason", "r", "--allow", f"protected={tenant}")
        assert fleet("set", tenant, "rrf_k=3", "--yes", *given, *ENGINE).code == 0
    result = fleet(*live)
    assert (result.code, faults_of(result.json, SCHEMA)) == (6, [])
    assert [one["allow"] for one in result.json["refusals"]] == [
        "protected=z",
        "max_tenants=2",
        "largest_step=retrieval_min_score:0.05",
    ]


def test_a_default_that_does_not_move_is_refused_nothing(fleet: Inside) -> None:
    """Nobody changes."""
    fleet.write("fleet.yaml", "fleet: default\nlimits: {max_tenants: 0}\n")
    assert fleet("impact", "--default", "retrieval_min_score=0.3").code == 0
    assert fleet(*DEFAULT).code == 6
