"""`knobctl plan` and `knobctl apply PLANFILE`: reviewed, bound to what it was made against, applied once."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
import rfc8785

from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of

if TYPE_CHECKING:
    from collections.abc import Callable

ACME = "tenant: acme\nlabels: {tier: gold}\nowner: search\nknobs: {retrieval_min_score: 0.2}\n"


@pytest.fixture
def planned(inside: Inside) -> Inside:
    """An engine that holds a set, and a plan against it in p.json."""
    inside.hold(retrieval_min_score=0.3, rrf_k=30)
    inside.write("acme.yaml", ACME)
    assert inside("plan", "acme.yaml", "-o", "p.json", *ENGINE).code == 0
    return inside


def plan_of(inside: Inside) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(inside.read("p.json"))
    return found


def sealed(document: dict[str, Any]) -> str:
    """A plan with digests that fit what stands in it: what a forger would write."""

    def digest(value: dict[str, Any]) -> str:
        return hashlib.sha256(
            rfc8785.dumps({k: v for k, v in value.items() if k != "digest"})
        ).hexdigest()

    for tenant in document["plan"]["tenants"]:
        tenant["digest"] = digest(tenant)
    document["digest"] = digest(document)
    return json.dumps(document)


def test_a_plan_file_says_all_that_apply_will_send(planned: Inside) -> None:
    """Base revision, whole set, changes, hazards, digests; valid against its schema."""
    document = plan_of(planned)

    assert faults_of(document, "plan.v1.schema.json") == []
    (tenant,) = document["plan"]["tenants"]
    assert tenant["base_revision"] == "r1"
    assert tenant["base"] == {"retrieval_min_score": 0.3, "rrf_k": 30}
    assert tenant["set"] == {"retrieval_min_score": 0.2}
    assert tenant["changed_field_paths"] == ["retrieval_min_score", "rrf_k"]
    assert (tenant["labels"], tenant["owner"]) == ({"tier": "gold"}, "search")
    assert "reset-by-omission" in {hazard["rule"] for hazard in tenant["hazards"]}
    assert sealed(document) == json.dumps(document), "the digests are SHA-256 over RFC 8785"


def test_a_plan_of_a_tenant_that_was_never_written_has_a_base(inside: Inside) -> None:
    """Absent is a revision: the empty string."""
    inside.write("acme.yaml", ACME)
    inside("plan", "acme.yaml", "-o", "p.json", *ENGINE)
    assert plan_of(inside)["plan"]["tenants"][0]["base_revision"] == ""


def test_the_answer_fits_its_schema_and_says_what_apply_would_refuse(inside: Inside) -> None:
    """--exit-code gives 3; a limit that is already broken is told before anybody applies."""
    inside.write("acme.yaml", ACME)
    inside.write("fleet.yaml", "fleet: default\nlimits: {max_tenants: 0}\n")

    result = inside("plan", ".", "--exit-code", "--format", "json", *ENGINE)
    assert (result.code, result.json["outcome"]) == (3, "changes")
    assert faults_of(result.json, "output-plan.v1.schema.json") == []
    assert [one["allow"] for one in result.json["refusals"]] == ["max_tenants=1"]
    assert "apply would be refused: 1 tenant would change" in inside("plan", ".", *ENGINE).out


@pytest.mark.parametrize("second", ["prod/more.yaml", "elsewhere.yaml", "aside.json"])
def test_a_tenant_that_stands_in_a_fleet_and_in_none_is_not_planned(
    inside: Inside, second: str
) -> None:
    """Which of two sets is meant is nobody's guess, wherever they come in the order of files."""
    inside.write("fleet.yaml", 'fleet: prod\ninclude: ["prod/*"]\n')
    inside.write("prod/acme.yaml", "tenant: acme\nknobs: {}\n")
    inside.write(second, '{"tenant": "acme", "knobs": {"rrf_k": 30}}\n')
    result = inside("plan", *ENGINE)
    if second.startswith("prod"):
        assert (result.code, "duplicate-tenant" in result.out) == (4, True), result
    else:
        assert (result.code, result.out) == (2, "")
        assert "for the fleet prod and for none" in result.err
        assert inside("plan", "--fleet", "prod", *ENGINE).code == 0


def test_errors_stop_a_plan(inside: Inside) -> None:
    """Exit 4, and no file is written."""
    inside.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 7}\n")
    result = inside("plan", "acme.yaml", "-o", "p.json", "--format", "json", *ENGINE)
    assert (result.code, faults_of(result.json, "output-plan.v1.schema.json")) == (4, [])
    assert not (inside.folder / "p.json").exists()


def test_a_plan_is_applied_without_yes_and_once(planned: Inside) -> None:
    """It was reviewed: it needs no consent; applied again it is a conflict and writes nothing."""
    assert planned("apply", "p.json", *ENGINE).code == 0
    assert planned.live() == {"retrieval_min_score": 0.2}

    again = planned("apply", "p.json", *ENGINE)
    assert again.code == 7
    assert "applied already" in again.err
    assert len(planned.events()) == 2


def test_a_plan_in_the_repository_is_nobodys_document(planned: Inside) -> None:
    """It has no kind key at its top."""
    result = planned("validate", ".", "--format", "json")
    assert (result.code, result.json["findings"]) == (0, [])


def test_a_tenant_that_moved_stops_a_plan_and_shows_whose_change_it_was(planned: Inside) -> None:
    """The other person's diff, never the revision to paste."""
    planned.hold(rrf_k=44)

    result = planned("apply", "p.json", *ENGINE)

    assert result.code == 7
    said = result.out + result.err
    assert "rrf_k  30 -> 44" in said
    assert "plan again" in result.err
    assert "r2" not in said
    assert len(planned.events()) == 2


def test_what_the_policies_say_of_a_tenant_left_out_stops_nobody(inside: Inside) -> None:
    """It moved, so its plan would now reset something; the others are what was reviewed."""
    for name in ("a", "b"):
        inside.hold(name, mmr_lambda=0.5)
        inside.write(f"{name}.yaml", f"tenant: {name}\nknobs: {{mmr_lambda: 0.6}}\n")
    assert inside("plan", ".", "-o", "p.json", *ENGINE).code == 0
    inside("set", "a", "rrf_k=50", "--yes", *ENGINE)
    result = inside("apply", "p.json", "--on-conflict", "skip", *ENGINE)
    assert result.code == 9, result
    assert inside.live("a") == {"mmr_lambda": 0.5, "rrf_k": 50}
    assert inside.live("b") == {"mmr_lambda": 0.6}


def test_what_moved_can_be_left_out(inside: Inside) -> None:
    """--on-conflict skip applies the rest and exits 9."""
    inside.write("a.yaml", "tenant: a\nknobs: {rrf_k: 30}\n")
    inside.write("b.yaml", "tenant: b\nknobs: {rrf_k: 30}\n")
    inside("plan", ".", "-o", "p.json", *ENGINE)
    inside.hold("a", rrf_k=44)

    stopped = inside("apply", "p.json", "--format", "json", *ENGINE)
    assert stopped.code == 7
    assert faults_of(stopped.json, "output-apply.v1.schema.json") == []
    assert stopped.json["outcomes"] == {"conflict": 1, "skipped": 1}

    result = inside("apply", "p.json", "--on-conflict", "skip", "--format", "json", *ENGINE)
    assert (result.code, result.json["outcomes"]) == (9, {"applied": 1, "conflict": 1})
    assert faults_of(result.json, "output-apply.v1.schema.json") == []
    assert (inside.live("a"), inside.live("b")) == ({"rrf_k": 44}, {"rrf_k": 30})


def test_an_unchanged_tenant_that_moved_matters_only_if_its_set_did(inside: Inside) -> None:
    """A write that changes nothing makes a revision, and no difference."""
    inside.hold("a", rrf_k=30)
    inside.write("a.yaml", "tenant: a\nknobs: {rrf_k: 30}\n")
    inside.write("b.yaml", "tenant: b\nknobs: {rrf_k: 30}\n")
    inside("plan", ".", "-o", "p.json", *ENGINE)
    inside.hold("a", rrf_k=31)
    inside.hold("a", rrf_k=30)
    assert inside("apply", "p.json", *ENGINE).code == 0


def test_a_plan_lists_what_changes_and_counts_the_rest(inside: Inside) -> None:
    """Of those that need no change the number is kept; apply neither reads nor counts them again."""
    for name, rrf_k in {"a": 30, "b": 31, "c": 32}.items():
        inside.hold(name, rrf_k=rrf_k)
        inside.write(f"{name}.yaml", f"tenant: {name}\nknobs: {{rrf_k: 31}}\n")
    told = inside("plan", ".", "-o", "p.json", *ENGINE).out
    assert told.startswith("3 tenants: 2 change (2 fields, no resets), 1 unchanged;")
    plan = plan_of(inside)["plan"]
    assert ([one["tenant"] for one in plan["tenants"]], plan["unchanged"]) == (["a", "c"], 1)
    assert faults_of(plan_of(inside), "plan.v1.schema.json") == []
    assert inside("plan", ".", "--format", "json", *ENGINE).json["summary"]["tenants"] == 3

    inside.hold("b", rrf_k=44)
    result = inside("apply", "p.json", "--format", "json", *ENGINE)
    assert (result.code, result.json["outcomes"]) == (0, {"applied": 2})
    assert faults_of(result.json, "output-apply.v1.schema.json") == []


def test_warnings_about_what_is_unchanged_are_counted(inside: Inside) -> None:
    """In the answers of plan and apply alike, as their schemas say."""
    inside.hold("a", retrieval_min_score=0.2)
    inside.write("a.yaml", "tenant: a\nknobs: {retrieval_min_score: 0.2}\n")
    inside.write("b.yaml", "tenant: b\nknobs: {rrf_k: 31}\n")
    for command in (("plan",), ("apply", "--yes")):
        answer = inside(*command, ".", "--format", "json", *ENGINE).json
        assert answer["summary"]["warnings_unchanged"] == 1
        assert {one["tenant"] for one in answer["findings"]} <= {"b"}
        assert faults_of(answer, f"output-{command[0]}.v1.schema.json") == []


def with_one_unchanged(document: dict[str, Any]) -> str:
    """The same plan as it was written before only the number of the unchanged was kept."""
    plan = document["plan"]
    assert plan.pop("unchanged") == 1
    set_ = {"rrf_k": 31}
    same = {**plan["tenants"][0], "tenant": "b", "source": "b.yaml", "base": set_, "set": set_}
    same |= {"changes": [], "changed_field_paths": [], "hazards": []}
    plan["tenants"].append(same)
    return sealed(document)


def test_a_plan_that_lists_the_unchanged_is_applied_as_it_was_reviewed(inside: Inside) -> None:
    """The older form: they are counted, and where one of them moved nothing is written."""
    inside.hold("a", rrf_k=30)
    inside.hold("b", rrf_k=31)
    for name in ("a", "b"):
        inside.write(f"{name}.yaml", f"tenant: {name}\nknobs: {{rrf_k: 31}}\n")
    inside("plan", ".", "-o", "p.json", *ENGINE)
    inside.write("p.json", with_one_unchanged(plan_of(inside)))
    assert faults_of(plan_of(inside), "plan.v1.schema.json") == []

    inside.hold("b", rrf_k=44)
    moved = inside("apply", "p.json", "--format", "json", *ENGINE)
    assert (moved.code, moved.json["outcomes"]) == (7, {"conflict": 1, "skipped": 1})
    inside.hold("b", rrf_k=31)
    result = inside("apply", "p.json", "--format", "json", *ENGINE)
    assert (result.code, result.json["outcomes"]) == (0, {"unchanged": 1, "applied": 1})
    assert inside.live("a") == {"rrf_k": 31}


def test_policies_are_asked_again(planned: Inside) -> None:
    """A policy that came since the plan stops it; a stale waiver would too."""
    planned.write(
        "policy.yaml",
        "policy: no-low-floor\ntitle: t\nseverity: error\nwhen: 'effective.retrieval_min_score < 0.25'\n"
        "at: retrieval_min_score\nmessage: 'too low'\nexamples:\n"
        "  pass: [{knobs: {retrieval_min_score: 0.3}}]\n  fail: [{knobs: {retrieval_min_score: 0.2}}]\n",
    )
    result = planned("apply", "p.json", *ENGINE)
    assert result.code == 7
    assert "no-low-floor" in result.err
    assert len(planned.events()) == 1


def test_guards_hold_for_a_plan_too(planned: Inside) -> None:
    """The fleet's limits of today, not those of the plan."""
    planned.write("fleet.yaml", "fleet: default\nprotected: [acme]\n")
    result = planned("apply", "p.json", *ENGINE)
    assert (result.code, "--allow protected=acme" in result.err) == (6, True)
    assert planned("apply", "p.json", "--allow", "protected=acme", *ENGINE).code == 0


def test_a_plan_is_for_one_engine(planned: Inside) -> None:
    """Against another it is not applied, and the plan does not choose where a token goes."""
    result = planned("apply", "p.json", "--engine", "embedded:other.db")
    assert (result.code, "embedded:e.db" in result.err) == (2, True)


def test_a_plan_is_applied_whole(planned: Inside) -> None:
    """Tenants are chosen when it is made."""
    assert planned("apply", "p.json", "-l", "tier=gold", *ENGINE).code == 2


def test_a_dry_run_of_a_plan_writes_nothing(planned: Inside) -> None:
    """It shows what would be pushed."""
    assert planned("apply", "p.json", "--dry-run", *ENGINE).code == 0
    assert len(planned.events()) == 1


def forged(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    def forge(text: str) -> str:
        document = json.loads(text)
        change(document)
        return sealed(document)

    return forge


def _tenant(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["plan"]["tenants"][0]
    return found


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


def instead(new: str) -> Callable[[str], str]:
    return lambda _: new


HARMS: dict[str, Callable[[str], str]] = {
    "truncated": lambda text: text[: len(text) // 2],
    "changed": replaced('"retrieval_min_score": 0.2', '"retrieval_min_score": 0.9'),
    "newer": replaced('"format_version": 1', '"format_version": 2'),
    "text version": replaced('"format_version": 1', '"format_version": "1"'),
    "true version": replaced('"format_version": 1', '"format_version": true'),
    "infinite": replaced('"rrf_k": 30', '"rrf_k": 1e999'),
    "endless": replaced('"rrf_k": 30', '"rrf_k": ' + "9" * 5000),
    "huge": replaced('"rrf_k": 30', '"rrf_k": ' + "9" * 400),
    "key twice": replaced('"rrf_k": 30', '"rrf_k": 30, "rrf_k": 31'),
    "deep": replaced('"labels": {', '"labels": ' + "[" * 100_000 + "{"),
    "forged set": forged(lambda one: _tenant(one)["set"].update(retrieval_min_score=0.9)),
    "forged range": forged(lambda one: _tenant(one)["set"].update(rrf_k=10**6)),
    "forged truth": forged(lambda one: _tenant(one)["set"].update(rrf_k=True)),
    "forged knob": forged(lambda one: _tenant(one)["set"].update(unheard_of=1)),
    "forged tenant": forged(lambda one: _tenant(one).update(tenant="../acme")),
    "forged paths": forged(lambda one: _tenant(one).update(changed_field_paths=[])),
    "forged twice": forged(lambda one: one["plan"]["tenants"].append(dict(_tenant(one)))),
    "forged number": forged(lambda one: one["plan"].update(unchanged=-1)),
    "forged extra": forged(lambda one: one.update(extra=1)),
    "forged lack": forged(lambda one: one.pop("made_at")),
    "head only": instead('{"format": "knobctl-plan"}'),
    "no plan": instead('{"format": "knobctl-plan", "format_version": 1, "plan": []}'),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_plan_that_cannot_be_believed_is_exit_4_with_words(planned: Inside, harm: str) -> None:
    """Cut, changed, forged with fitting digests, of another version: nothing is written."""
    planned.write("p.json", HARMS[harm](planned.read("p.json")))

    result = planned("apply", "p.json", "--yes", *ENGINE)

    assert result.code == 4, result
    assert result.err.startswith("error: p.json")
    assert "Traceback" not in result.err
    assert len(planned.events()) == 1


def test_a_newer_format_says_what_to_do(planned: Inside) -> None:
    """Apply it with the knobctl that made it."""
    planned.write(
        "p.json", planned.read("p.json").replace('"format_version": 1', '"format_version": 2')
    )
    result = planned("apply", "p.json", *ENGINE)
    assert "plan format 2; this knobctl reads format 1" in result.err
    assert "that made it" in result.err


def test_another_schema_of_the_knobs_is_a_conflict(planned: Inside) -> None:
    """Defaults are part of what was reviewed."""
    from knobctl.knobs import load_catalogue

    schema = json.loads(json.dumps(load_catalogue().schema))
    schema["properties"]["rrf_k"]["x-knob"]["default"] = 61
    planned.write("schema.json", json.dumps(schema))
    result = planned("apply", "p.json", "--schema", "schema.json", *ENGINE)
    assert (result.code, "schema" in result.err) == (7, True)


def test_a_plan_that_cannot_be_written_is_a_usage_error(inside: Inside) -> None:
    """A folder that does not exist."""
    inside.write("acme.yaml", ACME)
    result = inside("plan", "acme.yaml", "-o", "nowhere/p.json", *ENGINE)
    assert (result.code, "nowhere/p.json" in result.err) == (2, True)


@pytest.mark.parametrize("command", [("plan",), ("apply", "--yes")])
def test_a_broken_file_is_answered_with_its_finding(
    inside: Inside, command: tuple[str, ...]
) -> None:
    """What was asked about and cannot be read has a place and a rule, in every format."""
    inside.write("a.yaml", "tenant: a\nknobs: {}\n---\nfleet: [\n")
    result = inside(*command, "a.yaml", "--format", "json", *ENGINE)
    assert (result.code, result.json["exit_code"]) == (4, 4)
    assert [(one["rule"], one["line"]) for one in result.json["findings"]] == [("yaml-syntax", 5)]


def test_a_file_around_that_may_hold_the_limits_stops_a_plan(inside: Inside) -> None:
    """Saved as UTF-16 a fleet is no YAML of ours, and no reason to go without limits."""
    inside.write("a.yaml", "tenant: a\nknobs: {}\n")
    (inside.folder / "fleet.yaml").write_bytes("fleet: default\n".encode("utf-16"))
    result = inside("plan", "a.yaml", *ENGINE)
    assert result.code == 4
    assert "fleet.yaml cannot be read: it may hold the fleet" in result.err
    assert "skip in knobctl.toml" in result.err
