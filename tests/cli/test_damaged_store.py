"""P25 through the command: a stored set that is damaged under the engine gives way to the last good one."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.cli.inside import ENGINE, Inside

DAMAGES = {
    "a value": "UPDATE context_engine_knobs SET rrf_k = 9",
    "zeros": "UPDATE context_engine_knobs SET rrf_k = 0, mmr_lambda = 0",
    "the row": "DELETE FROM context_engine_knobs",
}


def damage(inside: Inside, *statements: str) -> None:
    with closing(sqlite3.connect(inside.folder / "e.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("statement", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_set_gives_way_to_the_last_good_one(inside: Inside, statement: str) -> None:
    """Told as such, by name and in the list; a diff is against it, and the next push makes it whole."""
    inside.hold("acme", rrf_k=7, mmr_lambda=0.5)
    inside.hold("bolt", rrf_k=8)
    damage(inside, f"{statement} WHERE tenant_id = 'acme'")
    for names in ((), ("acme", "bolt")):
        found = inside("get", *names, "--format", "json", *ENGINE).json["tenants"]
        assert [(one["tenant"], one["knobs"], one["last_good"]) for one in found] == [
            ("acme", {"rrf_k": 7, "mmr_lambda": 0.5}, True),
            ("bolt", {"rrf_k": 8}, False),
        ]
    assert "the last good set, still in force" in inside("get", *ENGINE).out
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 7}\n")
    alarm = "note: the stored set of 'acme' is damaged; its last good set stays in force\n"
    for command in (("plan", "acme.yaml"), ("drift", "acme.yaml"), ("get",)):
        assert inside(*command, *ENGINE).err.replace("\n  ", " ").count(alarm) == 1
    diff = inside("diff", "acme.yaml", *ENGINE).out
    assert "last good r1" in diff
    assert "mmr_lambda" in diff
    assert "rrf_k" not in diff
    assert inside("apply", "acme.yaml", "--yes", *ENGINE).code == 0
    (now,) = inside("get", "acme", "--format", "json", *ENGINE).json["tenants"]
    assert (now["knobs"], now["revision"], now["last_good"]) == ({"rrf_k": 7}, "r2", False)
    assert inside("history", "acme", "--verify", *ENGINE).code == 0


def test_of_many_damaged_sets_the_first_are_named(inside: Inside) -> None:
    """Thousands of lines would hide what they say."""
    for number in range(6):
        inside.hold(f"t{number}", rrf_k=7)
    damage(inside, "UPDATE context_engine_knobs SET rrf_k = 9")
    said = inside("get", *ENGINE).err
    assert (said.count("is damaged"), said.count("and more of the kind")) == (3, 1)
    inside.write("ok.yaml", "tenant: whole\nknobs: {rrf_k: 7}\n")
    assert "damaged" not in inside("diff", "ok.yaml", *ENGINE).err


def test_where_the_audit_log_is_damaged_too_nothing_is_served_and_nothing_written(
    inside: Inside,
) -> None:
    """Exit 8, and never the defaults."""
    inside.hold("acme", rrf_k=7)
    damage(
        inside,
        "DROP TRIGGER config_audit_events_keep",
        "UPDATE config_audit_events SET event = replace(event, ':7', ':8')",
        "UPDATE config_audit_events SET event = replace(event, ': 7', ': 8')",
        "UPDATE context_engine_knobs SET rrf_k = 9",
    )
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 5}\n")
    for command in (("get",), ("get", "acme"), ("diff", "acme.yaml"), ("apply", ".", "--yes")):
        result = inside(*command, *ENGINE)
        assert (result.code, "no defaults are served" in result.err.replace("\n  ", " ")) == (
            8,
            True,
        )
