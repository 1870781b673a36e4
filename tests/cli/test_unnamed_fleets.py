"""Where no fleet is named, no limits hold; a push says so."""

from __future__ import annotations

import pytest

from tests.cli.inside import ENGINE, Inside

ACME = "tenant: acme\nknobs: {rrf_k: 61}\n"
NOTE = "note: 1 tenant of fleet production (fleet.yaml:1) would change without its limits; they"


@pytest.fixture
def fleet(inside: Inside) -> Inside:
    """A fleet that protects its only tenant."""
    inside.write("knobctl.toml", "")
    inside.write("fleet.yaml", 'fleet: production\ninclude: ["prod/**"]\nprotected: [acme]\n')
    inside.write("prod/acme.yaml", ACME)
    return inside


def said(err: str) -> str:
    return " ".join(err.split())


def test_an_apply_without_a_fleet_says_whose_limits_do_not_hold(fleet: Inside) -> None:
    """Once, on stderr; and with the fleet named they hold."""
    assert fleet("apply", "prod", "--yes", "--fleet", "production", *ENGINE).code == 6
    result = fleet("apply", "prod", "--yes", *ENGINE)
    assert (result.code, said(result.err)) == (0, f"{NOTE} hold with --fleet production")


def test_a_plan_says_so_when_it_is_made(fleet: Inside) -> None:
    """Else a review sees no limit, and nothing missing."""
    fleet.hold("bolt", rrf_k=20)
    result = fleet("plan", "prod", *ENGINE)
    assert (result.code, said(result.err)) == (0, f"{NOTE} hold with --fleet production")


def test_what_changes_nothing_is_quiet(fleet: Inside) -> None:
    """Nothing is pushed, so no limit is missing."""
    fleet("apply", "prod", "--yes", *ENGINE)
    assert fleet("apply", "prod", "--yes", *ENGINE).err == ""


def test_a_plan_without_a_fleet_says_so_when_it_is_applied(fleet: Inside) -> None:
    """It was made without one, and is applied without one."""
    assert fleet("plan", "prod", "-o", "p.json", *ENGINE).code == 0
    result = fleet("apply", "p.json", *ENGINE)
    assert (result.code, NOTE in said(result.err)) == (0, True)


def test_a_change_of_one_tenant_says_so_too(fleet: Inside) -> None:
    """By its document; a tenant without one belongs to nobody."""
    assert NOTE in said(fleet("set", "acme", "rrf_k=62", "--yes", *ENGINE).err)
    assert NOTE not in said(fleet("set", "bolt", "rrf_k=62", "--yes", *ENGINE).err)
    assert fleet("set", "acme", "rrf_k=62", "--yes", "--fleet", "production", *ENGINE).err == ""


def test_a_rollback_says_so_too(fleet: Inside) -> None:
    """It is a push like any other."""
    fleet("apply", "prod", "--yes", *ENGINE)
    assert NOTE in said(fleet("rollback", "acme", "--no-file", "--yes", *ENGINE).err)


def test_the_other_fleets_document_of_a_tenant_is_not_meant(fleet: Inside) -> None:
    """Staging and production claim one tenant; what is pushed is staging's."""
    fleet.write("fleets.yaml", 'fleet: staging\ninclude: ["stag/**"]\n')
    fleet.write("stag/acme.yaml", ACME)
    err = said(fleet("apply", "stag", "--yes", *ENGINE).err)
    assert ("fleet staging" in err, "fleet production" in err) == (True, False)
