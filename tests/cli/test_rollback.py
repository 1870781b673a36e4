"""`knobctl rollback`: a new plan from the audit log, and the matching edit of the file."""

from __future__ import annotations

import fcntl

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.killing import killed_at
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


def last_run(inside: Inside) -> str:
    found: str = inside("runs", "--format", "json").json["runs"][0]["run"]
    return found


def test_a_run_is_taken_back_whole(inside: Inside) -> None:
    """Every tenant to the very set that its journal says it held, the files with it."""
    inside.write("knobctl.toml", "")
    inside.hold("a", rrf_k=20, mmr_lambda=0.3)
    for tenant in ("a", "b"):
        inside.write(f"{tenant}.yaml", f"tenant: {tenant}\nknobs: {{rrf_k: 30}}\n")
    run = inside("apply", ".", "--yes", "--format", "json", *ENGINE).json["run"]

    result = inside("rollback", "--run", run[:5], "--yes", "--format", "json", *ENGINE)
    assert (result.code, faults_of(result.json, "output-rollback.v1.schema.json")) == (0, [])
    assert result.json["targets"] == [
        {"tenant": "a", "to_revision": "r1", "undone_revision": "r2"},
        {"tenant": "b", "to_revision": None, "undone_revision": "r1"},
    ]
    assert inside.live("a") == {"rrf_k": 20, "mmr_lambda": 0.3}
    assert inside.live("b") == {}
    assert inside("drift", ".", *ENGINE).code == 0

    again = inside("rollback", "--run", result.json["run"], "--yes", *ENGINE)
    assert again.code == 0, again.err
    assert inside.live("a") == inside.live("b") == {"rrf_k": 30}


def test_some_tenants_of_a_run_are_taken_back(inside: Inside) -> None:
    """Those named; one that the run has not written is no tenant of it."""
    for tenant in ("a", "b"):
        inside.write(f"{tenant}.yaml", f"tenant: {tenant}\nknobs: {{rrf_k: 30}}\n")
    run = inside("apply", ".", "--yes", "--format", "json", *ENGINE).json["run"]
    stranger = inside("rollback", "c", "--run", run, "--yes", *ENGINE)
    assert (stranger.code, f"run {run} has not written c" in stranger.err) == (2, True)
    assert inside("rollback", "a", "--run", run, "--yes", *ENGINE).code == 0
    assert (inside.live("a"), inside.live("b")) == ({}, {"rrf_k": 30})


def test_what_was_changed_since_a_run_is_not_taken_back_with_it(inside: Inside) -> None:
    """It would lose somebody's change: 7, nothing is written, and the tenant is named."""
    for tenant in ("a", "b"):
        inside.write(f"{tenant}.yaml", f"tenant: {tenant}\nknobs: {{rrf_k: 30}}\n")
    run = inside("apply", ".", "--yes", "--format", "json", *ENGINE).json["run"]
    inside.hold("a", rrf_k=77)
    result = inside("rollback", "--run", run, "--yes", *ENGINE)
    assert (result.code, f"a was changed since run {run}; nothing was written." in result.err) == (
        7,
        True,
    )
    assert inside.live("b") == {"rrf_k": 30}


def test_a_run_that_was_killed_is_taken_back_as_far_as_it_came(inside: Inside) -> None:
    """What it wrote and what it may have written; what it had not begun is none of its tenants."""
    for number in range(6):
        inside.write(f"t/t{number}.yaml", f"tenant: t{number}\nknobs: {{rrf_k: 30}}\n")
    apply = ("apply", "t", "--yes", "--parallelism", "1", *ENGINE)
    assert killed_at(inside, 8, *apply, noted=False)  # two are written, one of them not noted
    assert (inside.live("t0"), inside.live("t1")) == ({"rrf_k": 30}, {"rrf_k": 30})
    result = inside("rollback", "--run", last_run(inside), "--no-file", "--yes", *ENGINE)
    assert result.code == 0, result.err
    assert all(inside.live(f"t{number}") == {} for number in range(6))


def killed_after_two(inside: Inside) -> str:
    """A run of three tenants that is killed when two are written; gives its name."""
    for number in range(3):
        inside.write(f"t/t{number}.yaml", f"tenant: t{number}\nknobs: {{rrf_k: 30}}\n")
    apply = ("apply", "t", "--yes", "--parallelism", "1", *ENGINE)
    assert killed_at(inside, 7, *apply, noted=False)
    return last_run(inside)


def test_a_run_that_is_under_way_is_not_taken_back(inside: Inside) -> None:
    """It would go on writing behind the rollback: 7, and how to stop it."""
    run = killed_after_two(inside)
    (journal,) = (inside.folder.parent / "home" / "state" / "knobctl" / "runs").glob("*.jsonl")
    with journal.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = inside("rollback", "--run", run, "--no-file", "--yes", *ENGINE)
    assert (result.code, f"knobctl runs --stop {run}" in result.err) == (7, True)
    assert inside.live("t0") == {"rrf_k": 30}


def test_nobody_writes_the_rest_of_a_run_that_was_taken_back(inside: Inside) -> None:
    """Half a fleet would be left: its resume says so, and it is no unfinished run."""
    run = killed_after_two(inside)
    assert inside("rollback", "--run", run, "--no-file", "--yes", *ENGINE).code == 0
    resumed = inside("apply", "--resume", run, *ENGINE)
    assert resumed.out.startswith(f"run {run} was rolled back: ")
    assert all(inside.live(f"t{number}") == {} for number in range(3))
    states = {one["run"]: one["state"] for one in inside("runs", "--format", "json").json["runs"]}
    assert states[run] == "finished"
    assert inside("rollback", "--run", run, "--yes", *ENGINE).code == 7, "they were written since"


@pytest.mark.parametrize("arguments", [("--dry-run",), ("t0", "--yes", "--no-file")])
def test_a_run_of_which_a_part_is_taken_back_can_be_finished(
    inside: Inside, arguments: tuple[str, ...]
) -> None:
    """What was named is back; the rest is the run's own."""
    run = killed_after_two(inside)
    assert inside("rollback", "--run", run, *arguments, *ENGINE).code == 0
    assert inside("apply", "--resume", run, *ENGINE).code == 0
    assert inside.live("t2") == {"rrf_k": 30}


def test_an_engine_without_audit_events_is_taken_back_by_the_journal(inside: Inside) -> None:
    """Its `before` sets are all that there is."""
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 31}\n")
    inside.write("token", "acme-token\n")
    with GivenEngine() as engine:
        engine.sets["acme"] = {"rrfK": 30, "mmrLambda": 0.25}
        there = ("--engine", engine.url, "--token-file", "token")
        assert inside("apply", "acme.yaml", "--yes", *there).code == 0
        assert engine.sets["acme"] == {"rrfK": 31}
        result = inside("rollback", "--run", last_run(inside), "--no-file", "--yes", *there)
        assert result.code == 0, result.err
        assert engine.sets["acme"] == {"rrfK": 30, "mmrLambda": 0.25}


@pytest.mark.parametrize("arguments", [(), ("a", "--run", "x", "--to", "r1"), ("--run", "x")])
def test_what_is_taken_back_must_be_said_once(inside: Inside, arguments: tuple[str, ...]) -> None:
    """Neither tenants nor a run, both ways at once, a run that is not there."""
    assert inside("rollback", *arguments, "--yes", *ENGINE).code == 2
