"""Waivers as every command obeys them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.report.formats import FORMATS
from tests.cli.inside import ENGINE, Inside

if TYPE_CHECKING:
    from collections.abc import Callable

CEILING = "floor-above-vector-ceiling"
WIDTH = "pipeline-width"
TENANT = "tenant: acme\nknobs: {assembly_max_chunks: 150}\n"


def waiver(  # each is a field of the document
    name: str = "w",
    rule: str = WIDTH,
    who: str = "tenants: [acme]",
    expires: object = "2099-03-31",
) -> str:
    """A waiver."""
    return f"waiver: {name}\nrule: {rule}\n{who}\nreason: r\napproved_by: p\nexpires: {expires}\n"


def repository(inside: Inside, *waivers: str) -> None:
    """A tenant with an error of a policy, and waivers."""
    inside.write("knobctl.toml", "")
    inside.write("acme.yaml", TENANT)
    inside.write("w.yaml", "---\n".join(waivers))


JUDGING = [
    ("check",),
    ("check", "--live", *ENGINE),
    ("plan", *ENGINE),
    ("apply", "--yes", *ENGINE),
    ("set", "acme", "assembly_max_chunks=150", "--yes", *ENGINE),
]


@pytest.mark.parametrize("command", JUDGING, ids=lambda command: " ".join(command[:2]))
def test_every_command_that_judges_goes_by_the_same_day(
    inside: Inside, command: tuple[str, ...]
) -> None:
    """Valid it lets off; expired it is an error, and what it covered counts again."""
    repository(inside, waiver())
    assert inside(*command).code == 0
    inside("reset", "acme", "--yes", *ENGINE)
    repository(inside, waiver(expires="2020-01-01"))
    result = inside(*command)
    assert result.code == 4
    assert "waiver-expired" in result.out + result.err
    assert inside.live() == {}


@pytest.mark.parametrize(("zone", "expired"), [("Etc/GMT+12", False), ("Etc/GMT-14", True)])
def test_the_day_is_that_of_the_users_zone(
    inside: Inside, in_zone: Callable[[str], None], zone: str, expired: bool
) -> None:
    """Where the day is over already it has expired, while elsewhere its last day lasts."""
    in_the_west = (datetime.now(UTC) - timedelta(hours=12)).date()
    in_zone(zone)
    repository(inside, waiver(expires=in_the_west))
    for command in (("check",), ("plan", *ENGINE), ("drift", *ENGINE)):
        result = inside(*command)
        assert (result.code == 4) is expired, result.out
        assert ("waiver-expired" in result.out) is expired


@pytest.mark.parametrize("format_", list(FORMATS))
def test_what_is_waived_is_seen_in_every_format(inside: Inside, format_: str) -> None:
    """By its rule and by the waiver's name."""
    repository(inside, waiver("let-off"))
    result = inside("check", "--format", format_)
    assert result.code == 0
    assert WIDTH in result.out
    assert "let-off" in result.out


def findings(inside: Inside, *options: str) -> list[dict[str, Any]]:
    """All findings but infos."""
    answer = inside("check", "--format", "json", *options).json
    return [one for one in answer["findings"] if one["severity"] != "info"]


def about(inside: Inside, *options: str) -> list[tuple[str, str]]:
    """Rule and message of the findings about waivers."""
    return [
        (one["rule"], one["message"])
        for one in findings(inside, *options)
        if one["rule"] not in {WIDTH, CEILING}
    ]


@pytest.mark.parametrize("order", [0, 1])
def test_of_two_waivers_the_one_that_holds_longer_carries(inside: Inside, order: int) -> None:
    """Neither is called unused; whichever stands first."""
    both = [waiver("long", expires="2099-12-31"), waiver("short", expires="2098-01-01")]
    repository(inside, *(both[::-1] if order else both))
    assert [(one["rule"], one["waived_by"]) for one in findings(inside)] == [(WIDTH, "long")]


def test_an_expired_waiver_beside_a_valid_one_says_who_covers_it_now(inside: Inside) -> None:
    """It is an error all the same: it is to be removed."""
    repository(inside, waiver("old", expires="2020-01-01"), waiver("new"))
    assert inside("check").code == 4
    by_rule = {one["rule"]: one for one in findings(inside)}
    assert by_rule[WIDTH]["waived_by"] == "new"
    assert by_rule["waiver-expired"]["message"].endswith("; new covers the same now")
    assert by_rule["waiver-expired"]["hint"] == "remove it"


def test_a_waiver_holds_whatever_the_rule_weighs_here(inside: Inside) -> None:
    """A severity that the repository sets does not unmake it."""
    repository(inside, waiver())
    inside.write("knobctl.toml", f'[severity.{WIDTH}]\nseverity = "warning"\nreason = "x"\n')
    assert [(one["severity"], one["waived_by"]) for one in findings(inside)] == [("warning", "w")]


def test_a_rule_that_does_not_exist_is_told_with_the_nearest(inside: Inside) -> None:
    """An error, as what it should cover counts."""
    repository(inside, waiver(rule="pipline-width"))
    found = [one for one in findings(inside) if one["rule"] == "unknown-rule"]
    assert [(one["message"], one["hint"]) for one in found] == [
        ("pipline-width is no rule", f"did you mean {WIDTH}?")
    ]


def test_a_tenant_that_does_not_exist_is_told_with_the_nearest(inside: Inside) -> None:
    """A warning at the name; that the waiver covers nothing follows from it and is not told beside it."""
    repository(inside, waiver(who="tenants: [acmee]"))
    found = [one for one in findings(inside) if one["rule"] != WIDTH]
    assert [(one["rule"], one["severity"], one["line"], one["column"]) for one in found] == [
        ("unknown-tenant", "warning", 3, 11)
    ]
    assert found[0]["message"] == "no document claims the tenant acmee"
    assert found[0]["hint"] == "did you mean acme?"


def test_whether_a_tenant_exists_is_known_only_where_all_was_read(inside: Inside) -> None:
    """A part that is judged leaves the rest to be known, and a file that cannot be read may hold it."""
    repository(inside, waiver(who="tenants: [bolt, acme]"))
    assert [rule for rule, _ in about(inside)] == ["unknown-tenant"]
    assert about(inside, "w.yaml") == []
    inside.write("parts/bolt.yaml", "tenant: bolt\nknobs: {\n")
    assert "unknown-tenant" not in [rule for rule, _ in about(inside)]
    inside.write("parts/bolt.yaml", "tenant: bolt\nknobs: {}\n")
    assert about(inside) == []


def test_whether_it_has_a_use_is_known_only_where_all_was_asked(inside: Inside) -> None:
    """A part of the repository, or a fleet of it, says nothing of the rest."""
    repository(inside, waiver(rule=CEILING))
    inside.write("fleet.yaml", "fleet: f\ninclude: [acme.yaml]\n")
    inside.write("bolt.yaml", "tenant: bolt\nknobs: {}\n")
    assert [rule for rule, _ in about(inside)] == ["waiver-unused"]
    assert about(inside, "acme.yaml") == []
    assert about(inside, "--fleet", "f") == []


@pytest.mark.parametrize(
    "rule", ["reset-by-omission", "evidence-missing", "evidence-stale", "own-of-change"]
)
@pytest.mark.parametrize("options", [(), ("--live", *ENGINE)])
def test_a_rule_about_changes_is_silent_today_and_may_speak_tomorrow(
    inside: Inside, rule: str, options: tuple[str, ...]
) -> None:
    """Its waiver is not called unused."""
    repository(inside, waiver(), waiver("change", rule=rule))
    inside.write(
        "p.yaml",
        "policy: own-of-change\nseverity: warning\ntrigger: change\nreads: [rrf_k]\nwhen: 'true'\nmessage: m\n",
    )
    assert about(inside, *options) == []


@pytest.mark.parametrize("who", ["tenants: []", "labels: {}", "", "tenants: [a]\nlabels: {b: c}"])
def test_a_waiver_says_for_whom(inside: Inside, who: str) -> None:
    """For everybody is no waiver."""
    repository(inside, waiver(who=who))
    assert inside("validate").code == 4
    assert inside("check").code == 4
    assert [one["waived_by"] for one in findings(inside) if one["rule"] == WIDTH] == [None]


@pytest.mark.parametrize("field", ["reason", "approved_by", "expires", "rule"])
def test_what_a_waiver_must_say(inside: Inside, field: str) -> None:
    """Without any of them it is an error and covers nothing."""
    lines = waiver().splitlines(keepends=True)
    repository(inside, "".join(line for line in lines if not line.startswith(field)))
    result = inside("check")
    assert result.code == 4
    assert f"the waiver has no {field}" in result.out
    assert "waived by" not in result.out
