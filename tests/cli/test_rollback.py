"""`knobctl rollback`: a new plan from the audit log, and the matching edit of the file."""

from __future__ import annotations

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of
from tests.cli.terminal import on_terminal
from tests.given_engine import GivenEngine

YES = ("--yes", "--reason", "r")
SCHEMA = "output-rollback.v1.schema.json"


@pytest.fixture
def thrice(inside: Inside) -> Inside:
    """A tenant with three sets in its past: r1, r2, r3."""
    inside.hold(rrf_k=30)
    inside.hold(rrf_k=40, mmr_lambda=0.5)
    inside.hold(mmr_lambda=0.6)
    return inside


def test_without_a_revision_the_last_change_is_taken_back(thrice: Inside) -> None:
    """As a new revision; taken back again, it is back."""
    result = thrice("rollback", "acme", *YES, "--format", "json", *ENGINE)
    assert result.code == 0
    assert faults_of(result.json, SCHEMA) == []
    assert result.json["targets"] == [
        {"tenant": "acme", "to_revision": "r2", "undone_revision": "r3"}
    ]
    assert thrice.live() == {"rrf_k": 40, "mmr_lambda": 0.5}
    assert len(thrice.events()) == 4
    assert thrice("rollback", "acme", *YES, *ENGINE).code == 0
    assert thrice.live() == {"rrf_k": 40, "mmr_lambda": 0.6}


def test_to_a_revision(thrice: Inside) -> None:
    """Resets are shown; a revision that never was is a usage error."""
    result = thrice("rollback", "acme", "--to", "r1", *YES, *ENGINE)
    assert (result.code, thrice.live()) == (0, {"rrf_k": 30})
    assert "  reset   mmr_lambda  0.6 -> default 0.7" in result.out
    unknown = thrice("rollback", "acme", "--to", "r99", *YES, *ENGINE)
    assert (unknown.code, "r4" in unknown.err) == (2, True)


def test_the_first_change_is_taken_back_to_nothing(inside: Inside) -> None:
    """Before it, every knob was at its default."""
    inside.hold(rrf_k=30)
    result = inside("rollback", "acme", *YES, "--format", "json", *ENGINE)
    assert (result.code, inside.live()) == (0, {})
    assert result.json["targets"][0]["to_revision"] is None


def test_events_that_changed_nothing_are_passed_over(thrice: Inside) -> None:
    """A write of the same set is no change to take back."""
    from knobctl.knobs import load_catalogue
    from tests.cli.engines import embedded, write

    with embedded(thrice.folder / "e.db") as engine:
        write(engine, "acme", load_catalogue().canonical({"rrf_k": 40, "mmr_lambda": 0.6}))
    assert thrice("rollback", "acme", *YES, *ENGINE).code == 0
    assert thrice.live() == {"rrf_k": 40, "mmr_lambda": 0.5}


def test_the_file_goes_back_with_it(thrice: Inside) -> None:
    """So that GitOps does not undo it; asked once for both."""
    thrice.write("knobctl.toml", "")
    thrice.write("acme.yaml", "tenant: acme\nknobs:\n  rrf_k: 40\n  mmr_lambda: 0.6  # tried\n")
    with on_terminal(thrice.folder, "rollback", "acme", *ENGINE) as terminal:
        terminal.expect("Push 1 tenant to embedded:e.db and edit 1 file? [y/N]")
        terminal.type("y\r")
        assert terminal.end() == 0
    assert (
        thrice.read("acme.yaml")
        == "tenant: acme\nknobs:\n  rrf_k: 40\n  mmr_lambda: 0.5  # tried\n"
    )
    assert thrice("diff", "acme.yaml", "--exit-code", *ENGINE).code == 0


def test_the_file_can_be_left_alone(thrice: Inside) -> None:
    """--no-file; and without a repository nothing is searched."""
    thrice.write("knobctl.toml", "")
    text = "tenant: acme\nknobs: {rrf_k: 40, mmr_lambda: 0.6}\n"
    thrice.write("acme.yaml", text)
    assert thrice("rollback", "acme", "--no-file", *YES, *ENGINE).code == 0
    assert thrice.read("acme.yaml") == text


def test_several_tenants_at_once(thrice: Inside) -> None:
    """Each to its own earlier set; one that cannot go back stops all, before anything is written."""
    thrice.hold("bolt", rrf_k=7)
    assert thrice("rollback", "acme", "bolt", *YES, *ENGINE).code == 0
    assert (thrice.live("acme"), thrice.live("bolt")) == ({"rrf_k": 40, "mmr_lambda": 0.5}, {})
    before = len(thrice.events())
    result = thrice("rollback", "acme", "never", *YES, *ENGINE)
    assert (result.code, "never" in result.err) == (2, True)
    assert len(thrice.events()) == before


def test_a_dry_run_shows_and_writes_nothing(thrice: Inside) -> None:
    """Neither engine nor file."""
    result = thrice("rollback", "acme", "--dry-run", *ENGINE)
    assert (result.code, "0.6 -> 0.5" in result.out) == (0, True)
    assert len(thrice.events()) == 3


def test_consent_and_guards_as_for_any_push(thrice: Inside) -> None:
    """A rollback is a push."""
    assert thrice("rollback", "acme", *ENGINE).code == 6
    thrice.write("knobctl.toml", "")
    thrice.write("fleet.yaml", "fleet: default\nprotected: [acme]\n")
    assert thrice("rollback", "acme", *YES, *ENGINE).code == 6
    assert thrice("rollback", "acme", *YES, "--allow", "protected=acme", *ENGINE).code == 0


def test_a_set_that_the_schema_does_not_accept_now_is_refused_with_the_reason(
    thrice: Inside,
) -> None:
    """Never half of it."""
    import json

    from knobctl.knobs import load_catalogue

    schema = json.loads(json.dumps(load_catalogue().schema))
    schema["properties"].pop("mmr_lambda")
    thrice.write("without-mmr.json", json.dumps(schema))
    result = thrice("rollback", "acme", "--to", "r2", *YES, "--schema", "without-mmr.json", *ENGINE)
    assert result.code in {6, 8}, result
    assert "mmr_lambda" in result.err
    assert len(thrice.events()) == 3


def test_an_engine_without_audit_events_says_what_to_do(inside: Inside) -> None:
    """The given contract has none to ask for."""
    inside.write("token", "acme-token")
    with GivenEngine() as engine:
        result = inside("rollback", "acme", *YES, "--engine", engine.url, "--token-file", "token")
        assert engine.writes() == 0
    assert (
        result.code,
        "keeps no audit events" in result.err,
        "knobctl set acme" in result.err,
    ) == (8, True, True)
