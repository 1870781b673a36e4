"""SARIF: valid against the official schema, and in the part of it that code hosts take."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.finding import Finding, Location, Severity
from knobctl.report.formats import FindingsAnswer
from knobctl.report.sarif import MOST_RESULTS
from tests.cli.inside import Inside
from tests.report.hard import ODD_NAME, shifted
from tests.report.rendering import FILE, answer_of, findings, rendered

SCHEMA = Path(__file__).parents[1] / "data" / "sarif-schema-2.1.0.json"


@cache
def judge() -> jsonschema_rs.Validator:
    """The official schema."""
    return jsonschema_rs.validator_for(json.loads(SCHEMA.read_bytes()), validate_formats=True)


def run_of(answer: FindingsAnswer) -> dict[str, Any]:
    """The log's run, after the schema has judged the log."""
    log = json.loads(rendered("sarif", answer))
    assert [error.message for error in judge().iter_errors(log)] == []
    run: dict[str, Any] = log["runs"][0]
    return run


def physical(result: dict[str, Any]) -> dict[str, Any]:
    """Where a result stands."""
    found: dict[str, Any] = result["locations"][0]["physicalLocation"]
    return found


def result_of(run: dict[str, Any], rule: str, tenant: str | None = None) -> dict[str, Any]:
    """The first result of a rule, about a tenant."""
    return next(
        one
        for one in run["results"]
        if one["ruleId"] == rule and tenant in {None, one["properties"]["tenant"]}
    )


def test_the_hard_report_is_valid_and_every_result_has_a_file(hard: FindingsAnswer) -> None:
    """A code host refuses the whole log for one result without a file, and for a line 0."""
    run = run_of(hard)
    assert len(run["results"]) == len(hard.findings)
    for result in run["results"]:
        place = physical(result)
        assert not urlsplit(place["artifactLocation"]["uri"]).scheme
        assert place["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
        region = place.get("region", {"startLine": 1, "startColumn": 1})
        assert min(region.values()) >= 1
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_what_is_about_a_file_or_nowhere_has_no_region(hard: FindingsAnswer) -> None:
    """An empty file has no line; what has no place stands at a file of the repository."""
    run = run_of(hard)
    assert "region" not in physical(result_of(run, "empty-document"))
    nowhere = physical(result_of(run, "audit-chain-broken"))
    assert nowhere.keys() == {"artifactLocation"}
    assert nowhere["artifactLocation"]["uri"] in {
        name.replace(" ", "%20") for name in hard.report.names.values()
    }


def test_columns_count_characters_and_end_after_the_value(hard: FindingsAnswer) -> None:
    """Wide letters are one column each, and so says the log."""
    run = run_of(hard)
    assert run["columnKind"] == "unicodeCodePoints"
    region = physical(result_of(run, "says-hostile-things"))["region"]
    assert region == {"startLine": 4, "startColumn": 24, "endLine": 4, "endColumn": 27}
    assert physical(result_of(run, "wrong-type"))["region"]["endLine"] == 6


def test_names_are_percent_encoded(hard: FindingsAnswer) -> None:
    """A colon would be a scheme, a percent sign an escape; bytes that are no UTF-8 stay themselves."""
    uri = physical(result_of(run_of(hard), "unknown-knob"))["artifactLocation"]["uri"]
    assert uri.isascii()
    assert not set(uri) & set(": ,|`")
    assert unquote_to_bytes(uri).decode() == ODD_NAME
    odd = answer_of([Finding(rule="r", severity=Severity.INFO, message="m")])
    odd = replace(odd, report=replace(odd.report, names={"t": "a\udcff.yaml"}))
    assert physical(run_of(odd)["results"][0])["artifactLocation"]["uri"] == "a%FF.yaml"


def test_waived_is_suppressed_and_standing_is_unchanged(hard: FindingsAnswer) -> None:
    """With a base each result is new or unchanged; without one, none is either."""
    run = run_of(hard)
    waived = result_of(run, "floor-above-vector-ceiling", "vale")
    assert waived["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "waiver vale-legacy, until 2099-03-31",
        }
    ]
    states = {one["properties"]["tenant"]: one["baselineState"] for one in run["results"]}
    assert states["old"] == "unchanged"
    assert set(states.values()) == {"new", "unchanged"}
    alone = run_of(replace(hard, base=None))
    assert not any("baselineState" in one for one in alone["results"])


def test_related_places_are_those_of_the_checkout(inside: Inside) -> None:
    """A layer's value names the tenant that has it; a built-in policy lies in no checkout."""
    inside.write("l.yaml", "layer: l\nknobs: {retrieval_min_score: 0.45}\n")
    inside.write("t.yaml", "tenant: t\nlayers: [l]\nknobs: {}\n")
    inside.write("p.yaml", "policy: gate-order\ntitle: T\nseverity: error\nwhen: 'true'\nmessage: m\n"
                 "examples: {pass: [], fail: []}\n")  # fmt: skip
    run = json.loads(inside("check", "--format", "sarif").out)["runs"][0]
    related = result_of(run, "floor-above-vector-ceiling")["relatedLocations"]
    assert [one["physicalLocation"]["artifactLocation"]["uri"] for one in related] == ["t.yaml"]
    assert "relatedLocations" not in result_of(run, "duplicate-policy")


def test_fingerprints_stay_while_lines_move_and_values_change(inside: Inside) -> None:
    """A host knows a finding again after an unrelated edit above it, and after another wrong value."""

    def known(text: str) -> dict[str, str]:
        inside.write("t.yaml", text)
        results = json.loads(inside("check", "t.yaml", "--format", "sarif").out)["runs"][0][
            "results"
        ]
        return {one["partialFingerprints"]["knobctl/v1"]: one["ruleId"] for one in results}

    body = "tenant: t\nknobs:\n  retrieval_min_score: {}\n  rrf_k: 60\n"
    first = known(body.format(0.45))
    assert len(first) == 3
    assert known("# moved\n\n" + body.format(0.45)) == first
    assert known(body.format(0.46)) == first


def test_fingerprints_are_distinct(hard: FindingsAnswer) -> None:
    """Findings that share rule, tenant, field and file are numbered in the order of their places."""
    known = [one["partialFingerprints"]["knobctl/v1"] for one in run_of(hard)["results"]]
    assert len(set(known)) == len(known)
    moved = [
        one["partialFingerprints"]["knobctl/v1"] for one in run_of(shifted(hard, 5))["results"]
    ]
    assert moved == known


def test_tenants_that_share_a_line_name_each_other(hard: FindingsAnswer) -> None:
    """A host shows one alert for a line: it must not read as if only one tenant were hit."""
    text = result_of(run_of(hard), "floor-above-vector-ceiling", "bolt")["message"]["text"]
    assert text.startswith("bolt: retrieval_min_score 0.45 is above 1/3")
    assert text.endswith("\nThe same for acme, core, dune.")


def test_brackets_in_a_message_are_no_link() -> None:
    """In SARIF, `[text](target)` is a link; ours never is."""
    finding = Finding(rule="r", severity=Severity.ERROR, message="see [a](0) and [b] (c)")
    text = run_of(answer_of([finding]))["results"][0]["message"]["text"]
    assert text == "see \\[a](0) and [b] (c)"


@pytest.mark.slow
def test_more_than_a_host_takes_is_counted() -> None:
    """25,000 results, the gravest; how many are left out stands in a notification."""
    place = Location(FILE, 1, 1, 1, 2)
    many = [
        Finding(rule="r", severity=severity, message="m", primary=place, field_path=str(number))
        for severity, share in ((Severity.INFO, 3), (Severity.WARNING, MOST_RESULTS))
        for number in range(share)
    ]
    run = json.loads(rendered("sarif", answer_of(many)))["runs"][0]
    assert len(run["results"]) == MOST_RESULTS
    assert {one["level"] for one in run["results"]} == {"warning"}
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert notes[0]["message"]["text"].startswith("3 findings left out, the lightest ones")


@given(st.lists(findings(), max_size=6))
@settings(max_examples=15, deadline=None)
def test_whatever_a_finding_says_the_log_is_valid(found: list[Finding]) -> None:
    """Hostile words in every field, in no file, in an unknown one: the schema takes it."""
    run = run_of(answer_of(found, base="main"))
    assert len(run["results"]) == len(found)


@pytest.mark.parametrize("command", ["check", "validate"])
def test_a_sound_repository_gives_an_empty_log(command: str, inside: Inside) -> None:
    """No results, no rules, the exit code: what closes alerts."""
    inside.write("t.yaml", "tenant: t\nknobs: {}\n")
    log = json.loads(inside(command, "--format", "sarif").out)
    assert judge().is_valid(log)
    run = log["runs"][0]
    assert run["results"] == []
    assert run["invocations"] == [
        {"executionSuccessful": True, "exitCode": 0, "exitCodeDescription": "ok"}
    ]
