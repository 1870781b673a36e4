"""What is said of a change: the base revision, the engine's state."""

from __future__ import annotations

from knobctl.finding import Severity
from tests.checks.documents import acme, by_rule, checked, place

CEILING = "floor-above-vector-ceiling"


def test_what_the_base_has_too_stands_last_and_fails_nothing() -> None:
    """Same rule, tenant, field path, and equal effective values of every knob that the rule reads."""
    report = checked(
        acme(retrieval_min_score=0.45, mmr_lambda=0), base=acme(retrieval_min_score=0.45)
    )
    found = by_rule(report)
    assert found[CEILING].standing
    assert not found["zero-means-default"].standing
    assert [one.standing for one in report.findings] == [False, True, True]
    assert (report.warnings, report.standing) == (1, 2)
    assert (
        checked(acme(retrieval_min_score=0.45), base=acme(retrieval_min_score=0.45)).exit_code(
            Severity.WARNING
        )
        == 0
    )


def test_another_spelling_of_the_same_values_is_still_standing() -> None:
    """What counts is what is in force: in a layer, as 0.450, at the default that is now written down."""
    layer = "layer: l\nknobs: {retrieval_min_score: 0.450}\n---\n"
    moved = checked(f"{layer}tenant: acme\nlayers: [l]\n", base=acme(retrieval_min_score=0.45))
    assert by_rule(moved)[CEILING].standing
    pinned = checked(
        acme(retrieval_min_score=0.45, rrf_weight_vector=1), base=acme(retrieval_min_score=0.45)
    )
    assert by_rule(pinned)[CEILING].standing


def test_a_knob_that_the_rule_reads_makes_it_new() -> None:
    """The floor is the same; the weight that lowers its ceiling is this branch's."""
    report = checked(
        acme(retrieval_min_score=0.45, rrf_weight_vector=0.5), base=acme(retrieval_min_score=0.45)
    )
    assert not by_rule(report)[CEILING].standing
    unread = checked(acme(retrieval_min_score=0.45, rrf_k=30), base=acme(retrieval_min_score=0.45))
    assert by_rule(unread)[CEILING].standing


def test_a_tenant_that_the_base_lacks_has_nothing_standing() -> None:
    """A new tenant answers for all of its values."""
    report = checked(
        acme(retrieval_min_score=0.45), base="tenant: bolt\nknobs: {retrieval_min_score: 0.45}\n"
    )
    assert report.standing == 0


def test_schema_faults_stand_too_where_they_are_the_same() -> None:
    """In the same file, at the same field, in the same words; another wrong value is new."""
    assert checked(acme(rrf_k=0.5), base=acme(rrf_k=0.5)).exit_code() == 0
    assert int(checked(acme(rrf_k=0.25), base=acme(rrf_k=0.5)).exit_code()) == 4
    assert int(checked(acme(rrf_k=0.5, mmr_lambda=7), base=acme(rrf_k=0.5)).exit_code()) == 4


def test_infos_speak_of_what_the_branch_changes() -> None:
    """With a base, a knob that is written as before is silent; one that is newly written is not."""
    same = checked(
        acme(retrieval_min_score=0.3, rrf_k=60), base=acme(retrieval_min_score=0.3, rrf_k=60)
    )
    assert same.findings == []
    pinned = checked(
        acme(retrieval_min_score=0.3, mmr_lambda=0.7), base=acme(retrieval_min_score=0.3)
    )
    assert [(one.rule, one.field_path) for one in pinned.findings] == [
        ("redundant-default", "mmr_lambda")
    ]


def test_a_new_rank_constant_says_what_it_moves() -> None:
    """k 60 to 10 at floor 0.3 cuts vector-only depth from 7 to 2; before and after, per ranker."""
    finding = by_rule(checked(acme(rrf_k=10), base=acme()))["rank-constant-moves-depth"]
    assert finding.message.splitlines()[1:] == [
        "before: alone each passes down to rank: vector 7, bm25 7, recency 7",
        "after: vector 2, bm25 2, recency 2",
    ]
    assert "rank-constant-moves-depth" not in by_rule(checked(acme(rrf_k=60), base=acme()))
    assert "rank-constant-moves-depth" not in by_rule(checked(acme(rrf_k=10)))


def test_switching_a_ranker_off_says_that_the_floor_means_something_else() -> None:
    """Ceilings go from 1/3 to 1/2, and depth from 7 to 41."""
    report = checked(acme(recency_ranker_mode="DISABLED"), base=acme())
    finding = by_rule(report)["rankers-changed"]
    assert "can score 1/2 at most, it was 1/3" in finding.message
    assert (
        "before: vector alone passes down to rank 7\nafter: vector alone passes down to rank 41"
        in finding.message
    )


def test_what_is_live_and_not_in_the_file_is_reset() -> None:
    """One warning for each knob; what the file writes, even as 0, is no omission."""
    report = checked(
        acme(retrieval_min_score=0.15, rrf_k=0),
        live={
            "retrieval_min_score": 0.2,
            "rrf_k": 30,
            "retrieval_vector_top_k": 32,
            "gate_mode": "DISABLED",
        },
    )
    resets = [one for one in report.findings if one.rule == "reset-by-omission"]
    assert [(one.field_path, one.value, place(one)) for one in resets] == [
        ("retrieval_vector_top_k", 32, "1:9"),
        ("gate_mode", "DISABLED", "1:9"),
    ]


def test_what_a_layer_writes_is_not_omitted() -> None:
    """The layers are part of the set that is pushed."""
    layer = "layer: l\nknobs: {retrieval_vector_top_k: 40}\n---\n"
    text = layer + "tenant: acme\nlayers: [l]\nknobs: {}\n"
    assert "reset-by-omission" not in by_rule(checked(text, live={"retrieval_vector_top_k": 32}))


def test_a_value_that_is_none_is_not_called_omitted() -> None:
    """It is written; that it is wrong is told."""
    report = checked(acme(rrf_k=0.5), live={"rrf_k": 30})
    assert [one.rule for one in report.findings] == ["wrong-type"]


def test_without_the_engine_nothing_is_said_of_it() -> None:
    """A tenant that was never written has nothing to lose."""
    assert "reset-by-omission" not in by_rule(checked(acme()))
    assert "reset-by-omission" not in by_rule(checked(acme(), live={}))


def test_a_change_is_measured_against_the_base_where_both_are_known() -> None:
    """The branch's change is what is reviewed; the engine adds what a push would reset."""
    report = checked(acme(rrf_k=10), base=acme(rrf_k=10), live={"rrf_k": 60, "mmr_lambda": 0.5})
    assert "rank-constant-moves-depth" not in by_rule(report)
    assert "reset-by-omission" in by_rule(report)
