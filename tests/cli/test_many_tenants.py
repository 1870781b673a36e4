"""What people read of a push of many tenants: what they have in common once, what is lost one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.inside import ENGINE

if TYPE_CHECKING:
    from tests.cli.inside import Inside

YES = ("--yes", "--reason", "why", *ENGINE)
MANY = [f"t{number:02}" for number in range(56)]


@pytest.fixture
def fleet(inside: Inside) -> Inside:
    """54 tenants with the same set and 2 with others, of which one holds what its file leaves out."""
    inside.hold("t00", mmr_lambda=0.4)
    for name in MANY:
        inside.write(f"t/{name}.yaml", f"tenant: {name}\nknobs: {{rrf_k: 31}}\n")
    inside.write("t/t01.yaml", "tenant: t01\nknobs: {rrf_k: 32}\n")
    return inside


def test_what_many_tenants_have_in_common_is_told_once(fleet: Inside) -> None:
    """The headline counts all; whoever wants each asks for it."""
    lines = fleet("plan", "t", *ENGINE).out.splitlines()
    assert lines[0].startswith("56 tenants: 56 change (57 fields, 1 reset);")
    at = lines.index("t02, t03 and 52 more tenants")
    assert lines[at + 1].split() == ["set", "rrf_k", "default", "60", "->", "31"]
    assert lines[at + 2].startswith("t01  live, never written -> t/t01.yaml")
    assert any(line.startswith("  t00, t02 and 53 more tenants: rrf_k") for line in lines), lines
    assert len(lines) < 50
    whole = fleet("plan", "t", "-v", *ENGINE).out
    assert re.findall(r"(?m)^(t\d\d)  live", whole) == MANY


def test_what_is_reset_is_named_tenant_by_tenant(fleet: Inside) -> None:
    """First, and however many there are: consent is to what was printed."""
    for name in MANY[:53]:
        fleet.write(f"t/{name}.yaml", f"tenant: {name}\nknobs: {{rrf_k: 31, mmr_lambda: 0.4}}\n")
    assert fleet("apply", "t", *YES).code == 0
    for name in MANY:
        fleet.write(f"t/{name}.yaml", f"tenant: {name}\nknobs: {{rrf_k: 33}}\n")
    shown = fleet("apply", "t", "--dry-run", *ENGINE).out
    assert re.findall(r"(?m)^(t\d\d)  live .*\n  reset +mmr_lambda", shown) == MANY[:53]


def test_what_became_of_many_tenants_is_told_once_too(fleet: Inside) -> None:
    """Of those that are not what they were to become first, each with who changed it; JSON has all."""
    assert fleet("plan", "t", "-o", "p.json", *ENGINE).code == 0
    fleet("set", "t05", "rrf_k=44", "--yes", *ENGINE)
    result = fleet("apply", "p.json", "--on-conflict", "skip", *ENGINE)
    assert result.code == 9
    told = [line for line in result.out.splitlines() if line.startswith(("applied", "conflict"))]
    assert told[0].startswith("conflict  t05  it was changed since the plan")
    assert told[1:] == [
        "applied   t01, t02 and 52 more tenants  rrf_k",
        "applied   t00  r2  mmr_lambda, rrf_k",
    ]
    run = re.search(r"\(run (\w+),", result.out)
    assert run
    shown = fleet("runs", run[1]).out
    assert "applied  t01, t02 and 52 more tenants  rrf_k" in shown
    assert re.findall(r"(?m)^applied +(t\d\d)  r", fleet("runs", run[1], "-v").out) == [
        name for name in MANY if name != "t05"
    ]
    assert len(fleet("runs", run[1], "--format", "json").json["runs"][0]["tenants"]) == 55
