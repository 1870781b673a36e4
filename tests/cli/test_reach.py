"""`knobctl reach`: what a floor reaches, for every set of live rankers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from knobctl.fusion import Setup, exact, reach
from knobctl.report.reach import reach_text
from tests.cli.outputs import faults_of
from tests.knobs.foreign import write_foreign_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.cli.inside import Inside
    from tests.running import Knobctl

GOLDEN: Final = Path(__file__).parent / "golden"
ALL: Final = ["vector", "bm25", "recency"]


def setup_of(*, floor: str, k: int, weights: Mapping[str, str], depths: Mapping[str, int]) -> Setup:
    """A setup from texts, rankers in summation order."""
    shares = {name: exact(weight, name) for name, weight in weights.items()}
    return Setup(floor=exact(floor, "the floor"), k=k, weights=shares, depths=depths)


def row(answer: Any, live: list[str], found_by: list[str]) -> Any:
    """One row of a JSON answer."""
    (found,) = [one for one in answer["rows"] if (one["live"], one["found_by"]) == (live, found_by)]
    return found


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("reach", []),
        ("reach-third", ["--floor", "1/3"]),
        ("reach-seven-tenths", ["--floor", "0.7"]),
        ("reach-order-matters", ["--weights", ".5,.3,.2"]),
        ("reach-removes-nothing", ["--floor", "0.15", "--depths", "32,32,32"]),
        ("reach-one-ranker", ["--weights", "1,off,off", "--k", "10"]),
    ],
)
def test_the_screen_reads_as_agreed(inside: Inside, name: str, arguments: list[str]) -> None:
    """First the setup, then the table, then what an operator does not expect; 80 columns."""
    result = inside("reach", *arguments)
    assert (result.code, result.err) == (0, "")
    assert result.out == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert max(map(len, result.out.splitlines())) <= 80


def test_vector_hits_pass_to_rank_7_41_or_143(inside: Inside) -> None:
    """At floor 0.3 with three, two and one live rankers; plain from the JSON."""
    answer = inside("reach", "--floor", "0.3", "--format", "json").json
    deepest = [row(answer, ALL[:live], ["vector"])["deepest_rank"] for live in (3, 2, 1)]
    assert deepest == [7, 41, 143]
    first = row(answer, ALL, ["vector"])
    assert (first["ceiling"], first["depth"], first["verdict"]) == ("1/3", 50, "selective")
    assert (answer["never_empty"], answer["rankers"][0]["dropped_alone"]) == (True, 43)
    assert faults_of(answer, "output-reach.v1.schema.json") == []


def test_every_live_set_is_in_the_data(inside: Inside) -> None:
    """Seven live sets, nineteen rows, whatever the text merges."""
    answer = inside("reach", "--format", "json").json
    assert (len(answer["live_sets"]), len(answer["rows"])) == (7, 19)
    assert (answer["version"], answer["command"], answer["outcome"], answer["exit_code"]) == (
        1,
        "reach",
        "ok",
        0,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--floor", "0.3", "--weights", ".5,.3,.2"],
        ["--floor", "1"],
        ["--floor", "0.0001", "--k", "1000"],
    ],
)
def test_every_answer_fits_its_schema(inside: Inside, arguments: list[str]) -> None:
    """Edges, ceilings of 1, and depths far beyond the lists."""
    answer = inside("reach", *arguments, "--format", "json").json
    assert faults_of(answer, "output-reach.v1.schema.json") == []


def test_an_edge_is_an_edge_in_the_data_too(inside: Inside) -> None:
    """With weights .5 .3 .2 the engine's own order drops what four of six orders keep."""
    answer = inside("reach", "--weights", "0.5,0.3,0.2", "--format", "json").json
    edge = row(answer, ALL, ["bm25"])
    assert edge["verdict"] == "on_edge"
    assert edge["edge"] == {
        "score": 0.29999999999999993,
        "passes": False,
        "orders": 6,
        "orders_passing": 4,
    }


@pytest.mark.parametrize("floor", ["0.3", "3e-1", "3/10", " 0.30", "+.3"])
def test_a_floor_is_read_in_every_spelling(inside: Inside, floor: str) -> None:
    """Decimal, exponent, fraction: one number."""
    assert inside("reach", "--floor", floor, "--format", "json").json["floor_exact"] == "3/10"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--floor", "nan"], "--floor nan is no number"),
        (["--floor", "inf"], "--floor inf is no number"),
        (["--floor", "0,3"], "write 0.3"),
        (["--floor", "30%"], "write 0.3"),
        (["--floor", "30"], "if 30 % is meant, write 0.3"),
        (["--floor", "1.0001"], "above 1, the best score there is"),
        (["--floor", "0"], '0 is the platform default 0.3, not "no floor"; practically none is 0.0001'),
        (["--floor", "-0.1"], "is no floor above 0"),
        (["--floor", "1e-400"], "is no floor above 0"),
        (["--floor", "1e-999999999"], "is no number"),
        (["--floor", "1/0"], "is no number"),
        (["--floor", ""], "is no number"),
        (["--k", "0"], "0 is the platform default 60"),
        (["--k", "60.5"], "--k 60.5 is no whole number from 1"),
        (["--weights", "1,1"], "--weights has 2 values for 3 rankers"),
        (["--weights", "0,5,0,3,0,2"], "--weights has 6 values for 3 rankers"),
        (["--weights", "1,1,0"], "to leave recency out of fusion write off"),
        (["--weights", "off,off,off"], "--weights leaves no ranker"),
        (["--weights", "1,much,1"], "much is no weight of bm25"),
        (["--depths", "50,50,0"], "the number of rows of recency counts from 1"),
        (["--depths", "50,50"], "--depths VECTOR,BM25,RECENCY"),
        (["tenants"], "tenants is read for a tenant only"),
        (["--tenant", "acme"], "no *.yaml, *.yml or *.json file"),
    ],
)  # fmt: skip
def test_what_is_no_question_is_a_usage_error_that_says_what_to_write(
    inside: Inside, arguments: list[str], words: str
) -> None:
    """Exit 2, nothing on stdout, and never a traceback."""
    result = inside("reach", *arguments)
    assert (result.code, result.out) == (2, "")
    assert words in result.err


def test_a_tenant_s_documents_are_the_start(inside: Inside) -> None:
    """Its layers, its disabled ranker, its weights; flags win over them."""
    inside.write("knobctl.toml", "")
    inside.write("layers/eu.yaml", "layer: eu\nknobs: {rrf_weight_vector: 2, rrf_k: 30}\n")
    inside.write(
        "tenants/acme.yaml",
        "tenant: acme\nlayers: [eu]\nknobs:\n  retrieval_min_score: 1e-1\n  recency_ranker_mode: DISABLED\n",
    )
    answer = inside("reach", "--tenant", "acme", "--format", "json").json
    assert (answer["tenant"], answer["floor_exact"], answer["k"]) == ("acme", "1/10", 30)
    assert answer["weights"] == {"vector": 2, "bm25": 1}
    assert answer["depths"] == {"vector": 50, "bm25": 50}
    assert faults_of(answer, "output-reach.v1.schema.json") == []

    flagged = inside(
        "reach",
        "--tenant",
        "acme",
        "--floor",
        "0.4",
        "--weights",
        "1,1,1",
        "tenants",
        "--format",
        "json",
    ).json
    assert (flagged["floor"], flagged["k"], flagged["depths"]["recency"]) == (0.4, 30, 20)
    assert inside("reach", "--tenant", "acme").out.startswith(
        "acme: floor 0.1, k 30, weights vector 2 bm25 1, depths 50 50\n"
    )


def test_a_value_that_is_wrong_in_the_tenant_s_file_is_left_out_and_said(inside: Inside) -> None:
    """The answer is about what would be in force; the fault has its own command."""
    inside.write(
        "acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 7, rrf_weigth_vector: 2}\n"
    )
    result = inside("reach", "--tenant", "acme", "acme.yaml", "--format", "json")
    assert (result.code, result.json["floor"]) == (0, 0.3)
    assert "retrieval_min_score is left out" in result.err
    assert "rrf_weigth_vector is left out" in result.err
    inside.write("acme.yaml", "tenant: acme\nlayers: [nowhere]\nknobs: {}\n")
    missing = inside("reach", "--tenant", "acme", "acme.yaml")
    assert (missing.code, "nowhere" in missing.err) == (0, True)


def test_an_unknown_or_twice_claimed_tenant_is_a_usage_error(inside: Inside) -> None:
    """With the nearest name, or the places that claim it."""
    inside.write("a.yaml", "tenant: acme\nknobs: {}\n")
    inside.write("b.yaml", "tenant: acme\nknobs: {}\n")
    unknown = inside("reach", "--tenant", "acne")
    assert (unknown.code, "did you mean acme?" in unknown.err) == (2, True)
    twice = inside("reach", "--tenant", "acme")
    assert (twice.code, "acme stands in a.yaml, b.yaml" in twice.err) == (2, True)
    assert inside("reach", "--tenant", "acme", "b.yaml").code == 0


def test_another_engine_s_rankers_are_found_by_role(knobctl: Knobctl) -> None:
    """dense and sparse, weights 3/4 and 1/4, floor 0.4, and a list whose length the schema does not say."""
    schema = write_foreign_schema(knobctl.folder)
    answer = knobctl("reach", "--schema", schema, "--format", "json").json
    assert (answer["floor"], answer["depths"]) == (0.4, {"dense": 100, "sparse": None})
    assert row(answer, ["dense", "sparse"], ["sparse"])["verdict"] == "unreachable"
    assert faults_of(answer, "output-reach.v1.schema.json") == []
    text = knobctl("reach", "--schema", schema)
    assert (text.code, "sparse alone" in text.out) == (0, True)
    bare = write_foreign_schema(knobctl.folder, cutoff=None)
    result = knobctl("reach", "--schema", bare)
    assert (result.code, "no knob of the schema has the role floor.fused" in result.err) == (
        2,
        True,
    )
    none = write_foreign_schema(
        knobctl.folder, dense_share=None, sparse_share=None, dense_rows=None
    )
    assert "the schema names no ranker" in knobctl("reach", "--schema", none, "--floor", "0.3").err


def test_the_answer_can_go_to_a_file_as_well(inside: Inside) -> None:
    """Text for the person, JSON for the next step."""
    result = inside("reach", "--output", "json=reach.json")
    assert result.out.startswith("floor 0.3")
    assert '"deepest_rank": 41' in (inside.folder / "reach.json").read_text(encoding="utf-8")


def test_equal_cells_are_merged_and_others_are_not() -> None:
    """Weights 2, 1, 1: the three pairs differ, so each has a line; one live ranker is like another."""
    weighted = setup_of(
        floor="0.3",
        k=60,
        weights={"vector": "2", "bm25": "1", "recency": "1"},
        depths=dict.fromkeys(ALL, 50),
    )
    text = reach_text(reach(weighted))
    assert "any two, same rank" not in text
    assert "vector + bm25, same rank" in text
    assert text.count("any one of them") == 1


def test_a_ranker_s_name_cannot_drive_the_terminal() -> None:
    """Names come from a schema that somebody else wrote."""
    hostile = setup_of(floor="0.3", k=60, weights={"\x1b[31mred": "1", "b": "2"}, depths={})
    assert "\x1b" not in reach_text(reach(hostile))


@pytest.mark.parametrize("zero", ["0e999999999", "0", "0.0"])
def test_a_zero_in_any_spelling_is_the_default_at_once(inside: Inside, zero: str) -> None:
    """A huge exponent behind a zero costs nothing."""
    inside.write(
        "a.yaml",
        f"tenant: acme\nknobs: {{retrieval_min_score: {zero}, rrf_weight_vector: {zero}}}\n",
    )
    answer = inside("reach", "--tenant", "acme", "--format", "json").json
    assert (answer["floor_exact"], answer["weights"]["vector"]) == ("3/10", 1)
