"""`knobctl set`, `unset` and `reset`: one tenant, live, in its file, or both."""

from __future__ import annotations

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of
from tests.cli.terminal import on_terminal

YES = ("--yes", "--reason", "r")


def test_set_changes_what_is_named_and_keeps_the_rest(inside: Inside) -> None:
    """Read, change, replace, read back; either spelling of a name."""
    inside.hold(retrieval_min_score=0.3, rrf_k=30)
    result = inside("set", "acme", "rrfK=40", "recency_ranker_mode=DISABLED", *YES, *ENGINE)
    assert result.code == 0
    assert inside.live() == {
        "retrieval_min_score": 0.3,
        "rrf_k": 40,
        "recency_ranker_mode": "DISABLED",
    }
    assert inside.events()[-1]["changed_field_paths"] == ["recency_ranker_mode", "rrf_k"]


def test_setting_what_is_set_writes_nothing(inside: Inside) -> None:
    """No write, no event; 30.0 is 30."""
    inside.hold(rrf_k=30)
    result = inside("set", "acme", "rrf_k=30.0", *YES, "--format", "json", *ENGINE)
    assert (result.code, result.json["outcomes"]) == (0, {"unchanged": 1})
    assert faults_of(result.json, "output-apply.v1.schema.json") == []
    assert len(inside.events()) == 1


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("0,3", "point"),
        ("nan", "number"),
        (".nan", "finite"),
        ("inf", "number"),
        ("1e400", "finite"),
        ("1e-400", "0.0001"),
        ("-0.0", "default"),
        ("true", "number"),
        ("null", "leave"),
        ("'0.3'", "quotes"),
        ("30%", ""),
        ("1.5", "0 .. 1"),
        ("1_0", ""),
        ("0x10", "0 .. 1"),
    ],
)
def test_a_value_obeys_the_number_rules_of_documents(inside: Inside, value: str, word: str) -> None:
    """Refused with words, wherever a document refuses it; nothing is written."""
    result = inside("set", "acme", f"retrieval_min_score={value}", *YES, *ENGINE)
    assert result.code in {2, 4}, result
    assert word in result.out + result.err
    assert inside.events() == []


@pytest.mark.parametrize(
    "assignment",
    [
        "rrf_k",
        "=3",
        "rrf_k=",
        "rrf_k=1\nmmr_lambda: 0.5",
        "rrf_k=3 # x",
        "rrf_k={a: 1}",
        "rrf_k=&a 3",
        "rrf_k=*a",
        "rrf_kk=3",
        "rrf_k=!!int 3",
    ],
)
def test_an_assignment_is_one_word_for_one_knob(inside: Inside, assignment: str) -> None:
    """Nothing can be smuggled past it into a document; a near name is offered."""
    result = inside("set", "acme", assignment, *YES, *ENGINE)
    assert result.code == 2
    if assignment.startswith("rrf_kk"):
        assert "did you mean rrf_k?" in result.err


def test_a_knob_twice_and_an_impossible_tenant_are_usage_errors(inside: Inside) -> None:
    """Neither guesses."""
    assert inside("set", "acme", "rrf_k=1", "rrfK=2", *YES, *ENGINE).code == 2
    assert inside("set", "../acme", "rrf_k=1", *YES, *ENGINE).code == 2


def test_a_literal_zero_warns_and_is_the_default(inside: Inside) -> None:
    """As in a document."""
    inside.hold(retrieval_min_score=0.2)
    result = inside("set", "acme", "retrieval_min_score=0", *YES, *ENGINE)
    assert (result.code, "zero-means-default" in result.out) == (0, True)
    assert inside.live() == {}


def test_standing_faults_are_shown_and_do_not_block(inside: Inside) -> None:
    """Only what the change brings counts."""
    inside.write("knobctl.toml", "")
    inside.write(
        "policy.yaml",
        "policy: no-high-k\ntitle: t\nseverity: error\nwhen: 'effective.rrf_k > 100'\nat: rrf_k\n"
        "message: 'k is high'\nexamples:\n  pass: [{knobs: {rrf_k: 3}}]\n  fail: [{knobs: {rrf_k: 300}}]\n",
    )
    (inside.folder / "policy.yaml").rename(inside.folder / "later")
    inside.hold(rrf_k=300)
    (inside.folder / "later").rename(inside.folder / "policy.yaml")

    result = inside("set", "acme", "mmr_lambda=0.5", *YES, *ENGINE)
    assert result.code == 0, result
    assert "no-high-k" in result.out
    assert "standing" in result.out
    blocked = inside("set", "acme", "rrf_k=400", *YES, *ENGINE)
    assert (blocked.code, "no-high-k" in blocked.out) == (4, True)
    assert inside.live() == {"rrf_k": 300, "mmr_lambda": 0.5}


def test_without_a_terminal_consent_is_a_flag(inside: Inside) -> None:
    """For each of the three."""
    for arguments in (("set", "acme", "rrf_k=3"), ("unset", "acme", "rrf_k"), ("reset", "acme")):
        result = inside(*arguments, *ENGINE)
        assert (result.code, result.out, "--yes" in result.err) == (6, "", True)


def test_reset_asks_on_a_terminal(inside: Inside) -> None:
    """It shows every knob that is lost."""
    inside.hold(rrf_k=30, mmr_lambda=0.5)
    with on_terminal(inside.folder, "reset", "acme", *ENGINE) as terminal:
        terminal.expect("? [y/N]")
        assert "mmr_lambda" in terminal.shown
        terminal.type("y\r")
        assert terminal.end() == 0
    assert inside.live() == {}


def test_unset_sends_knobs_back(inside: Inside) -> None:
    """An explicit reset is no omission: no warning tells so."""
    inside.hold(rrf_k=30, mmr_lambda=0.5)
    result = inside("unset", "acme", "rrf_k", "retrieval_min_score", *YES, *ENGINE)
    assert (result.code, "reset-by-omission" in result.out) == (0, False)
    assert inside.live() == {"mmr_lambda": 0.5}


def test_file_edits_the_yaml_and_leaves_the_engine_alone(inside: Inside) -> None:
    """The characters that were typed; every other byte stays; no engine is opened."""
    text = "# top\r\ntenant: acme\r\nknobs:\r\n  rrf_k: 30   # why\r\n"
    inside.write("acme.yaml", text)
    result = inside(
        "set", "acme", "rrf_k=4.0e1", "--file", "--yes", "--engine", "http://127.0.0.1:1"
    )
    assert result.code == 0, result
    assert inside.read("acme.yaml") == text.replace("30", "4.0e1")
    assert "-  rrf_k: 30   # why" in result.out
    assert result.out.endswith("edited  acme.yaml\n")


def test_also_file_does_both(inside: Inside) -> None:
    """So that GitOps does not undo it."""
    inside.hold(rrf_k=30)
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    result = inside("set", "acme", "rrf_k=40", "--also-file", *YES, "--format", "json", *ENGINE)
    assert (result.code, inside.live()) == (0, {"rrf_k": 40})
    assert faults_of(result.json, "output-apply.v1.schema.json") == []
    assert [(one["file"], one["written"]) for one in result.json["files"]] == [("acme.yaml", True)]
    assert inside.read("acme.yaml") == "tenant: acme\nknobs: {rrf_k: 40}\n"


def test_a_file_that_is_demanded_must_exist(inside: Inside) -> None:
    """Nothing is written to the engine either."""
    inside.write("other.yaml", "tenant: other\nknobs: {}\n")
    result = inside("set", "acme", "rrf_k=40", "--also-file", *YES, *ENGINE)
    assert (result.code, "knobctl pull acme" in result.err) == (2, True)
    assert inside.events() == []
    assert inside("set", "acme", "rrf_k=40", "--file", "--also-file", "--yes").code == 2


def test_an_error_in_the_file_writes_neither(inside: Inside) -> None:
    """The checks see the document as it would be."""
    text = "tenant: acme\nknobs: {retrieval_vector_top_k: 1, retrieval_bm25_top_k: 1, retrieval_recency_top_k: 1, assembly_max_chunks: 3}\n"
    inside.write("acme.yaml", text)
    result = inside("set", "acme", "assembly_max_chunks=100", "--file", "--yes")
    assert (result.code, "pipeline-width" in result.out) == (4, True)
    assert inside.read("acme.yaml") == text


def test_what_is_shown_of_the_file_is_what_it_shall_be(inside: Inside) -> None:
    """A finding about the new value does not point at the old one."""
    inside.write("acme.yaml", "tenant: acme\nknobs:\n  retrieval_min_score: 0.3\n")
    result = inside("set", "acme", "retrieval_min_score=0.45", "--file", "--yes")
    said = result.out + result.err
    assert "floor-above-vector-ceiling" in said
    assert any("|" in line and "retrieval_min_score: 0.45" in line for line in said.splitlines())


def test_unset_in_a_file_hides_what_a_layer_sets(inside: Inside) -> None:
    """Left out, the knob would follow the layer: 0 is written, and said."""
    inside.write("layer.yaml", "layer: gold\nknobs: {rrf_k: 30, recency_ranker_mode: DISABLED}\n")
    inside.write(
        "acme.yaml", "tenant: acme\nlayers: [gold]\nknobs:\n  rrf_k: 40\n  mmr_lambda: 0.5\n"
    )
    result = inside(
        "unset", "acme", "rrf_k", "mmr_lambda", "recency_ranker_mode", "--file", "--yes"
    )
    assert result.code == 0, result
    assert inside.read("acme.yaml") == (
        "tenant: acme\nlayers: [gold]\nknobs:\n  rrf_k: 0\n  recency_ranker_mode: KNOB_MODE_UNSPECIFIED\n"
    )
    assert "would follow layer gold (30)" in result.out


def test_setting_what_the_layer_gives_writes_nothing(inside: Inside) -> None:
    """Only deltas are written."""
    inside.write("layer.yaml", "layer: gold\nknobs: {rrf_k: 30}\n")
    text = "tenant: acme\nlayers: [gold]\nknobs: {}\n"
    inside.write("acme.yaml", text)
    assert inside("set", "acme", "rrf_k=30", "--file", "--yes").code == 0
    assert inside.read("acme.yaml") == text


def test_reset_in_a_file_leaves_an_empty_set(inside: Inside) -> None:
    """Its comments go with the knobs that they explain."""
    inside.write("acme.yaml", "tenant: acme\nknobs:\n  # why\n  rrf_k: 40\n  mmr_lambda: 0.5\n")
    assert inside("reset", "acme", "--file", "--yes").code == 0
    assert inside.read("acme.yaml") == "tenant: acme\nknobs: {}\n"


def test_guards_hold_for_one_tenant_too(inside: Inside) -> None:
    """A protected tenant is protected from every command that writes."""
    inside.write("knobctl.toml", "")
    inside.write(
        "fleet.yaml", "fleet: default\nprotected: [acme]\nlimits: {largest_step: {rrf_k: 10}}\n"
    )
    result = inside("set", "acme", "rrf_k=100", *YES, *ENGINE)
    assert result.code == 6
    assert "--allow protected=acme --allow largest_step=rrf_k:40" in result.err
    allowed = inside(
        "set",
        "acme",
        "rrf_k=100",
        *YES,
        "--allow",
        "protected=acme",
        "--allow",
        "largest_step=rrf_k:40",
        *ENGINE,
    )
    assert allowed.code == 0
    assert inside.events()[0]["reason"] == "r [allowed: protected=acme, largest_step=rrf_k:40]"


def test_labels_may_hold_any_character(inside: Inside) -> None:
    """An emoji in a label is no reason to crash."""
    inside.write("acme.yaml", 'tenant: acme\nlabels: {mood: "\U0001f600"}\nknobs: {}\n')
    assert inside("set", "acme", "rrf_k=40", *YES, *ENGINE).code == 0
    assert inside.live() == {"rrf_k": 40}


def test_labels_of_the_document_count_for_policies(inside: Inside) -> None:
    """The live set is judged as the tenant that it is."""
    inside.write("knobctl.toml", "")
    inside.write("acme.yaml", "tenant: acme\nlabels: {tier: gold}\nknobs: {}\n")
    inside.write(
        "policy.yaml",
        "policy: gold-only\ntitle: t\nseverity: error\nwhen: \"effective.rrf_k > 100 && !('tier' in labels)\"\nat: rrf_k\n"
        "message: 'm'\nexamples:\n  pass: [{knobs: {rrf_k: 3}}]\n  fail: [{knobs: {rrf_k: 300}}]\n",
    )
    assert inside("set", "acme", "rrf_k=300", *YES, *ENGINE).code == 0
    assert inside("set", "bolt", "rrf_k=300", *YES, *ENGINE).code == 4
