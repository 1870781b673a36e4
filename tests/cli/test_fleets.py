"""Fleets in one repository: who belongs to which, what guards it, and what a review is told of it."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of

NOW = datetime.now(UTC)


def clusters(inside: Inside, production: str = "", staging: str = "") -> None:
    """The same tenant in staging and in production, each with its own values."""
    inside.write("knobctl.toml", "")
    inside.write(
        "fleets.yaml",
        f"fleet: production\ninclude: [prod]\n{production}---\nfleet: staging\ninclude: [staging/**]\n{staging}",
    )
    inside.write("prod/acme.yaml", "tenant: acme\nknobs: {rrf_k: 60}\n")
    inside.write("prod/bolt.yaml", "tenant: bolt\nknobs: {rrf_k: 60}\n")
    inside.write("staging/acme.yaml", "tenant: acme\nknobs: {rrf_k: 20}\n")


def checked(inside: Inside, *options: str) -> dict[str, Any]:
    """The answer of a check."""
    answer: dict[str, Any] = inside("check", "--format", "json", *options).json
    assert faults_of(answer, "output-findings.v1.schema.json") == []
    return answer


def rules(inside: Inside, *options: str) -> list[tuple[str, str, int, int]]:
    """Rule and place of the errors and warnings."""
    return [
        (one["rule"], one["file"], one["line"], one["column"])
        for one in checked(inside, *options)["findings"]
        if one["severity"] != "info"
    ]


def test_staging_and_production_share_a_repository(inside: Inside) -> None:
    """One tenant in both is claimed once a fleet; --fleet judges one of them."""
    clusters(inside)
    assert checked(inside)["summary"]["tenants"] == 3
    assert checked(inside, "--fleet", "staging")["summary"]["tenants"] == 1
    assert checked(inside, "--fleet", "production")["summary"]["tenants"] == 2
    inside.write("prod/again.yaml", "tenant: acme\nknobs: {}\n")
    assert [rule for rule, *_ in rules(inside)] == ["duplicate-tenant"]
    assert rules(inside, "--fleet", "staging") == []


def test_a_fleet_that_does_not_exist_or_has_nobody_is_a_usage_error(inside: Inside) -> None:
    """Nothing checked is no pass."""
    clusters(inside)
    inside.write("more.yaml", "fleet: empty\ninclude: [nowhere]\n")
    assert "did you mean production?" in inside("check", "--fleet", "productoin").err
    result = inside("check", "--fleet", "empty")
    assert (
        result.code,
        "none of 3 tenants belongs to fleet empty (more.yaml:1)" in result.err,
    ) == (2, True)


def test_what_is_wrong_elsewhere_is_not_this_fleets(inside: Inside) -> None:
    """A fault of the other fleet's tenants is left out; one of what all share is not."""
    clusters(inside)
    inside.write("prod/bolt.yaml", "tenant: bolt\nlayers: [nope]\n")
    assert [rule for rule, *_ in rules(inside)] == ["unknown-layer"]
    assert rules(inside, "--fleet", "staging") == []
    inside.write("shared.yaml", "layer: l\nknobs: {rrf_k: x}\n")
    assert [rule for rule, *_ in rules(inside, "--fleet", "staging")] == ["wrong-type"]


def test_a_policy_sees_the_fleet_of_each_tenant(inside: Inside) -> None:
    """The one whose include has its file; the default if that has it; none where several could be."""
    clusters(inside)
    inside.write(
        "p.yaml",
        "policy: p\nseverity: warning\nwhen: has(fleet.fleet)\nmessage: 'in {fleet.fleet}'\n",
    )
    inside.write("other.yaml", "tenant: other\nknobs: {}\n")

    def seen(*options: str) -> dict[str, str]:
        findings = checked(inside, *options)["findings"]
        return {one["file"]: one["message"] for one in findings if one["rule"] == "p"}

    own = {
        "prod/acme.yaml": "in production",
        "prod/bolt.yaml": "in production",
        "staging/acme.yaml": "in staging",
    }
    assert seen() == own
    inside.write("default.yaml", "fleet: default\n")
    assert set(seen().values()) == {"in default"}
    assert len(seen()) == 4
    assert set(seen("--fleet", "staging").values()) == {"in staging"}
    inside.write("default.yaml", "fleet: third\ninclude: [prod/bolt.yaml]\n")
    assert seen() == {file: said for file, said in own.items() if "bolt" not in file}


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        ("protected: [acme, blot]", "unknown-tenant", (3, 19)),
        ("limits: {largest_step: {retrieval_min_scor: 0.1}}", "unknown-knob", (3, 25)),
        ("limits: {largest_step: {retrieval_min_score: 0}}", "bad-value", (3, 46)),
        ("limits: {largest_step: {recency_ranker_mode: 1}}", "bad-value", (3, 46)),
        ("limits: {max_tenants: -1}", "bad-value", (3, 23)),
        ("limits: {max_share: 101%}", "bad-value", (3, 21)),
        ("limits: {max_tenant: 1}", "unknown-field", (3, 10)),
        ("evidence: {required_for: [retrieval_min_scor]}", "unknown-knob", (3, 27)),
        ("evidence: {required_for: [rrf_k], encoder: ' '}", "bad-value", (3, 44)),
        ("evidence: {max_age_days: 1}", "missing-field", (3, 11)),
        ("freeze: [{name: a, from: 2026-12-24T00:00:00Z, to: 2026-12-23T00:00:00Z}]", "bad-value", (3, 52)),
        ("freeze: [{name: a, from: 2026-12-24T00:00:00Z, to: 2026-12-24T00:30:00+01:00}]", "bad-value", (3, 52)),
        ("freeze: [{name: a, from: 2026-12-24T00:00:00, to: 2026-12-25T00:00:00Z}]", "bad-value", (3, 26)),
        ("freeze: [{name: a, from: 2026-12-24T25:00:00Z, to: 2026-12-25T00:00:00Z}]", "bad-value", (3, 26)),
        ("freeze: [{name: a, from: 2026-02-30T00:00:00Z, to: 2026-12-25T00:00:00Z}]", "bad-value", (3, 26)),
        (
            "freeze: [{name: a, from: 2026-12-24T00:00:00Z, to: 2026-12-25T00:00:00Z}, {name: a, from: 2027-12-24T00:00:00Z, to: 2027-12-25T00:00:00Z}]",
            "bad-value",
            (3, 82),
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_fleet_stands_at_its_place(
    inside: Inside, text: str, rule: str, place: tuple[int, int]
) -> None:
    """A fleet that bounds nothing by a typing error would be no fleet."""
    clusters(inside, f"{text}\n")
    assert rules(inside) == [(rule, "fleets.yaml", *place)]


def test_a_span_of_one_moment_and_overlapping_ones_are_spans(inside: Inside) -> None:
    """Both freeze; the same moment in two zones is one."""
    clusters(
        inside,
        "freeze:\n"
        "  - {name: a, from: 2026-12-24T00:00:00Z, to: 2026-12-24T01:00:00+01:00}\n"
        "  - {name: b, from: 2026-12-23T00:00:00Z, to: 2026-12-25T00:00:00Z}\n",
    )
    assert rules(inside) == []


def pushed(inside: Inside, *options: str) -> tuple[int, str]:
    """The exit code of an apply of production, and what it was asked."""
    result = inside("apply", "--fleet", "production", "--yes", *options, *ENGINE)
    return result.code, result.err


def change(inside: Inside, **knobs: object) -> None:
    """Change both tenants of production."""
    for name in ("acme", "bolt"):
        text = ", ".join(f"{knob}: {value}" for knob, value in knobs.items())
        inside.write(f"prod/{name}.yaml", f"tenant: {name}\nknobs: {{{text}}}\n")


@pytest.mark.parametrize(
    ("text", "allowances"),
    [
        ("limits: {max_tenants: 1}", ["max_tenants=2"]),
        ("limits: {max_share: 50%}", ["max_share=100%"]),
        ("limits: {largest_step: {retrieval_min_score: 0.1}}", ["largest_step=retrieval_min_score:0.11"]),
        ("limits: {largest_step: {retrieval_min_score: 0.11}}", []),
        ("limits: {largest_step: {retrieval_min_score: 0.10999999999999999999}}", ["largest_step=retrieval_min_score:0.11"]),
        ("protected: [acme]", ["protected=acme"]),
        ("protected: [acme, bolt]\nlimits: {max_tenants: 1}", ["protected=acme", "protected=bolt", "max_tenants=2"]),
        ("limits: {max_tenants: 2, max_share: 100%}", []),
    ],
)  # fmt: skip
def test_a_review_is_told_what_the_push_will_be_asked(
    inside: Inside, text: str, allowances: list[str]
) -> None:
    """In the words of apply, which then asks just that; it is no finding and fails nothing."""
    clusters(inside, f"{text}\n", staging="limits: {max_tenants: 0}\n")
    change(inside, retrieval_min_score=0.19, gate_expanded_floor=0.19)
    answer = checked(inside, "--live", "--fleet", "production", *ENGINE)
    assert answer["exit_code"] == 0
    assert [one["allow"] for one in answer["guards"]] == allowances
    assert {one["fleet"] for one in answer["guards"]} <= {"production"}
    code, said = pushed(inside)
    assert code == (6 if allowances else 0)
    for one in answer["guards"]:
        assert one["message"] in said
    if allowances:
        text = inside("check", "--live", "--fleet", "production", *ENGINE).out
        flags = " ".join(f"--allow {allowance}" for allowance in allowances)
        assert f"apply --fleet production will ask: {flags}\n" in text
        assert pushed(inside, *flags.split())[0] == 0


def test_against_a_branch_each_fleet_asks_for_itself(inside: Inside) -> None:
    """The changes since the base, whatever the engine holds."""
    clusters(inside, "limits: {max_tenants: 1}\nreason_required: true\n", "protected: [acme]\n")
    commit(inside)
    assert checked(inside, "--base", "HEAD")["guards"] == []
    change(inside, rrf_k=30)
    inside.write("staging/acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    asked = checked(inside, "--base", "HEAD")["guards"]
    assert [(one["fleet"], one["guard"], one["allow"]) for one in asked] == [
        ("production", "max_tenants", "max_tenants=2"),
        ("production", "reason", None),
        ("staging", "protected", "protected=acme"),
    ]
    text = inside("check", "--base", "HEAD").out
    assert "apply --fleet production will ask: --allow max_tenants=2 --reason TEXT\n" in text
    assert "apply --fleet staging will ask: --allow protected=acme\n" in text
    assert "guards" not in checked(inside)


def test_with_the_engine_known_a_push_is_asked_of_what_it_changes_there(inside: Inside) -> None:
    """The branch changes one tenant, and the engine lacks both: apply asks for two, and so says the review."""
    clusters(inside, "limits: {max_tenants: 0}\n")
    commit(inside)
    inside.write("prod/acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    base = ("--base", "HEAD", "--fleet", "production")
    assert [one["allow"] for one in checked(inside, *base)["guards"]] == ["max_tenants=1"]
    both = checked(inside, *base, "--live", *ENGINE)
    assert [one["allow"] for one in both["guards"]] == ["max_tenants=2"]
    assert [one["tenant"] for one in both["tenants"]] == ["acme"]
    code, said = pushed(inside)
    assert (code, both["guards"][0]["message"] in said) == (6, True)
    assert pushed(inside, "--allow", "max_tenants=2")[0] == 0
    assert checked(inside, *base, "--live", *ENGINE)["guards"] == []


def commit(inside: Inside) -> None:
    """Make a Git repository of the folder."""
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "base")):
        subprocess.run(["git", *command], cwd=inside.folder, check=True)


def test_nothing_follows_from_a_fleet_with_errors(inside: Inside) -> None:
    """Its errors are told; no guard is made of half a document."""
    clusters(inside, "limits: {max_tenants: 1}\nprotected: acme\n")
    change(inside, rrf_k=30)
    answer = checked(inside, "--live", *ENGINE)
    assert (answer["exit_code"], answer["guards"]) == (4, [])


@pytest.mark.parametrize("zone", [timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))])
@pytest.mark.parametrize(
    ("begins", "ends", "frozen"),
    [(-60, 60, True), (-120, -60, False), (60, 120, False)],
)
def test_a_freeze_lasts_from_moment_to_moment_in_every_zone(
    inside: Inside, zone: timezone, begins: int, ends: int, frozen: bool
) -> None:
    """What the clock on the wall says there decides nothing."""
    start, end = (NOW + timedelta(minutes=minutes) for minutes in (begins, ends))
    span = f"from: {start.astimezone(zone).isoformat(timespec='seconds')}, to: {end.astimezone(zone).isoformat(timespec='seconds')}"
    clusters(inside, f"freeze: [{{name: holidays, {span}}}]\n")
    change(inside, rrf_k=30)
    asked = checked(inside, "--live", *ENGINE)["guards"]
    assert [one["allow"] for one in asked] == (["freeze=holidays"] if frozen else [])
    assert pushed(inside)[0] == (6 if frozen else 0)
    assert pushed(inside, "--allow", "freeze=holidays")[0] == 0


def test_plan_and_set_obey_the_fleet_too(inside: Inside) -> None:
    """One mechanism: plan says it, set is refused."""
    clusters(inside, "protected: [acme]\n")
    change(inside, rrf_k=30)
    assert "acme would change" in inside("plan", "--fleet", "production", *ENGINE).out
    result = inside("set", "acme", "rrf_k=30", "--yes", "--fleet", "production", *ENGINE)
    assert (result.code, "--allow protected=acme" in result.err) == (6, True)


def test_a_fleet_that_protects_thousands_is_told_in_a_few_lines(inside: Inside) -> None:
    """People get the first few and a count, on a terminal and in a comment; machines get all."""
    names = [f"tenant-{number:04}" for number in range(100)]
    inside.write("fleet.yaml", f"fleet: default\nprotected: [{', '.join(names)}]\n")
    inside.write("t.yaml", "---\n".join(f"tenant: {one}\nknobs: {{rrf_k: 50}}\n" for one in names))
    outputs = ("--output", "json=answer.json", "--output", "markdown=comment.md")
    text = inside("check", "--live", *outputs, *ENGINE).out
    assert len(json.loads(inside.read("answer.json"))["guards"]) == 100
    assert "--allow protected=tenant-0004 and 95 more\n" in text
    assert "tenant-0005 would change" not in text
    assert "and 95 more of the kind" in inside.read("comment.md")
