"""`knobctl rollback` where a fleet has limits and demands evidence, and where no repository is around."""

from __future__ import annotations

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.killing import killed_at
from tests.cli.outputs import faults_of

YES = ("--yes", "--reason", "r")
SCHEMA = "output-rollback.v1.schema.json"
FLEET = """fleet: production
include: ["prod/**"]
limits: {max_tenants: 2}
evidence: {required_for: [rrf_k]}
"""
TENANTS = ("a", "b", "c")


@pytest.fixture
def pushed(inside: Inside) -> Inside:
    """A run of three tenants of a fleet, whose limit is of two and was acknowledged, before it demanded evidence."""
    inside.write("knobctl.toml", "")
    inside.write("fleet.yaml", FLEET.replace("evidence", "# evidence"))
    for tenant in TENANTS:
        inside.write(f"prod/{tenant}.yaml", f"tenant: {tenant}\nknobs: {{rrf_k: 30}}\n")
    apply = ("apply", ".", *YES, "--fleet", "production", "--allow", "max_tenants=3")
    result = inside(*apply, "--format", "json", *ENGINE)
    assert result.code == 0, result.err
    inside.write("fleet.yaml", FLEET)
    inside.write("run", result.json["run"])
    return inside


def said(err: str) -> str:
    return " ".join(err.split())


def test_a_run_is_taken_back_within_the_limits_of_its_own_fleet(pushed: Inside) -> None:
    """No --fleet is typed: the run knows it. The limit is acknowledged as in any push."""
    rollback = ("rollback", "--run", pushed.read("run"), *YES, "--format", "json")
    refused = pushed(*rollback, *ENGINE)
    assert (refused.code, refused.json["refusals"][0]["guard"]) == (6, "max_tenants")
    assert "would change without its limits" not in said(refused.err)
    done = pushed(*rollback, "--allow", "max_tenants=3", *ENGINE)
    assert (done.code, done.json["fleet"], faults_of(done.json, SCHEMA)) == (0, "production", [])
    assert [pushed.live(tenant) for tenant in TENANTS] == [{}, {}, {}]


def test_another_fleet_than_that_of_the_run_is_a_usage_error(pushed: Inside) -> None:
    """Its limits are not those under which the run was pushed."""
    pushed.write("other.yaml", "fleet: other\n")
    result = pushed("rollback", "--run", pushed.read("run"), *YES, "--fleet", "other", *ENGINE)
    assert (result.code, "for fleet production" in said(result.err)) == (2, True)


def test_evidence_that_a_fleet_demands_does_not_hold_up_a_rollback(pushed: Inside) -> None:
    """It is a warning, which says so; the same change by `set` is stopped."""
    fleet = ("--fleet", "production")
    assert pushed("set", "a", "rrf_k=40", *YES, *fleet, *ENGINE).code == 4
    result = pushed("rollback", "a", *YES, *fleet, "--format", "json", *ENGINE)
    assert (result.code, pushed.live("a")) == (0, {})
    missed = [one for one in result.json["findings"] if one["rule"] == "evidence-missing"]
    assert [one["severity"] for one in missed] == ["warning"]
    assert missed[0]["message"].endswith("; a rollback does not wait for it")


def test_a_rollback_that_was_killed_is_resumed_without_evidence(pushed: Inside) -> None:
    """What did not stop it when it was begun does not stop its rest."""
    rollback = ("rollback", "--run", pushed.read("run"), *YES, "--allow", "max_tenants=3", *ENGINE)
    assert killed_at(pushed, 5, *rollback, noted=False)
    run = pushed("runs", "--format", "json").json["runs"][0]
    assert run["state"] == "unfinished"
    result = pushed("apply", "--resume", run["run"], "--yes", *ENGINE)
    assert result.code == 0, result.err
    assert [pushed.live(tenant) for tenant in TENANTS] == [{}, {}, {}]


def test_the_files_of_a_run_are_edited_though_nothing_marks_a_repository(inside: Inside) -> None:
    """The run knows where its documents lie."""
    inside.hold("a", rrf_k=20)
    inside.write("t/a.yaml", "tenant: a\nknobs: {rrf_k: 30}\n")
    run = inside("apply", "t", *YES, "--format", "json", *ENGINE).json["run"]
    result = inside("rollback", "--run", run, *YES, *ENGINE)
    assert (result.code, inside.read("t/a.yaml")) == (0, "tenant: a\nknobs: {rrf_k: 20}\n")


def test_that_no_file_is_edited_is_said_where_nothing_marks_a_repository(inside: Inside) -> None:
    """Unless that was asked for."""
    inside.write("t/a.yaml", "tenant: a\nknobs: {rrf_k: 30}\n")
    for value in (20, 30, 40):
        inside.hold("a", rrf_k=value)
    result = inside("rollback", "a", *YES, *ENGINE)
    assert (result.code, "no file is edited: neither a knobctl.toml nor" in said(result.err)) == (
        0,
        True,
    )
    assert inside.read("t/a.yaml") == "tenant: a\nknobs: {rrf_k: 30}\n"
    assert inside("rollback", "a", "--no-file", *YES, *ENGINE).err == ""
