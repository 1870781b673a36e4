"""`knobctl policy`: what is in force, what it says, whether its examples hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from knobctl.checks.built_in import built_in_documents
from knobctl.report.formats import FORMATS
from tests.cli.outputs import faults_of
from tests.knobs.foreign import write_foreign_schema

if TYPE_CHECKING:
    from tests.cli.inside import Inside
    from tests.running import Result

GOLDEN: Final = Path(__file__).parent / "golden"
CEILING: Final = "floor-above-vector-ceiling"
TWO_PEOPLE: Final = """policy: floor-needs-two-people
title: A floor above 0.4 needs a second pair of eyes
severity: error
when: "effective.retrieval_min_score > 0.4 && !('reviewed_by' in labels)"
at: retrieval_min_score
message: |-
  floor {effective.retrieval_min_score} without a reviewer
  lost: nobody has looked at what becomes unreachable
hint: add labels.reviewed_by, or stay at or under 0.4
examples:
  pass:
    - knobs: {retrieval_min_score: 0.30}   # as shipped
    - knobs:
        retrieval_min_score: 0.45
      labels: {reviewed_by: anna}
  fail:
    - {knobs: {retrieval_min_score: 0.45}}
"""
WEEKDAY: Final = """policy: no-floor-on-fridays
severity: info
when: today == '2026-11-27' && 'retrieval_min_score' in knobs
message: it is Friday, {today}
examples:
  pass: [{today: 2026-11-26, knobs: {retrieval_min_score: 0.2}}, {knobs: {}}]
  fail:
    - today: 2026-11-27
      knobs: {retrieval_min_score: 0.2}
    - {today: 2026-11-28, knobs: {retrieval_min_score: 0.2}}
    - {today: 2026-02-30, knobs: {retrieval_min_score: 0.2}}
"""
BROKEN: Final = """policy: broken-one
severity: error
when: effectve.rrf_k > 3
message: x
"""
WAIVER: Final = """waiver: {name}
rule: {rule}
{whom}
reason: the contract asks for it
approved_by: search-lead
expires: {expires}
"""
SETTINGS: Final = """[severity.floor-above-vector-ceiling]
severity = "error"
reason = "nobody may lose paraphrases"

[severity.floor-needs-two-people]
severity = "warning"
reason = "until the reviewers are named"
"""


@pytest.fixture
def repository(inside: Inside) -> Inside:
    """A repository with two sound policies, a broken one, severities of its own, and waivers."""
    inside.write("knobctl.toml", SETTINGS)
    inside.write("policies/two-people.yaml", TWO_PEOPLE)
    inside.write("policies/more.yaml", f"{WEEKDAY}---\n{BROKEN}")
    waivers = [
        WAIVER.format(name="holds", rule=CEILING, whom="tenants: [acme]", expires="2099-03-31"),
        WAIVER.format(name="late", rule=CEILING, whom="tenants: [bolt]", expires="2020-01-01"),
        WAIVER.format(
            name="legacy", rule="floor-needs-two-people", whom="labels: {tier: legacy}\nup_to: 0.50",
            expires="2099-03-31",
        ),
    ]  # fmt: skip
    inside.write("waivers.yaml", "---\n".join(waivers))
    inside.write("tenants/broken.yaml", "tenant: acme\nknobs: [\n")
    return inside


def golden(name: str) -> str:
    """The text that a person reads."""
    return (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def of_the_repository(result: Result) -> str:
    """A list without the built-in policies that the repository neither weighs nor waives, and without its counts."""
    head, *lines = re.split(r"\n(?=\S)", result.out)
    shown = [line for line in lines if "built in" not in line or "weighed" in line]
    return "\n".join([re.sub(r"\d+ (policies in force|built in)", r"N \1", head), *shown])


def test_the_list_names_every_policy(repository: Inside) -> None:
    """Weighed otherwise, waived, broken: each says so, and the counts come first."""
    result = repository("policy", "list")
    assert of_the_repository(result) == golden("policy-list")
    assert result.code == 4
    assert all(document.name in result.out for document in built_in_documents())


def test_the_list_is_data_too(repository: Inside) -> None:
    """States, severities with the reason of an override, waivers that hold today; the same code."""
    result = repository("policy", "list", "--format", "json")
    assert (result.code, faults_of(result.json, "output-policy-list.v1.schema.json")) == (4, [])
    policies = {one["id"]: one for one in result.json["policies"]}
    ceiling, two = policies[CEILING], policies["floor-needs-two-people"]
    assert (ceiling["severity"], ceiling["stated_severity"]) == ("error", "warning")
    assert (ceiling["override_reason"], ceiling["waivers"]) == ("nobody may lose paraphrases", 1)
    assert (two["file"], two["line"]) == ("policies/two-people.yaml", 1)
    assert two["examples"] == {"pass": 2, "fail": 1}
    assert policies["broken-one"]["state"] == "broken"
    assert [(one["rule"], one["line"], one["column"]) for one in result.json["findings"]] == [
        ("policy-error", 15, 7)
    ]


def test_a_folder_without_documents_has_the_built_in_policies(inside: Inside) -> None:
    """To look at them nobody needs a tenant, and a broken tenant is no fault of a policy."""
    inside.write("a.yaml", "tenant: a\nknobs: [\n")
    result = inside("policy", "list")
    assert (result.code, result.err) == (0, "")
    assert f"{len(built_in_documents())} built in, 0 of this repository" in result.out
    assert inside("policy", "list", "nowhere").code == 2


def test_what_the_schema_does_not_offer_is_named(inside: Inside, tmp_path: Path) -> None:
    """Another engine lacks the knobs of some built-in policies: they are listed with the role that is missing."""
    schema = write_foreign_schema(tmp_path)
    result = inside("policy", "list", "--schema", schema, "--format", "json")
    assert (result.code, faults_of(result.json, "output-policy-list.v1.schema.json")) == (0, [])
    ceiling = next(one for one in result.json["policies"] if one["id"] == CEILING)
    assert ceiling["state"] == "not offered"
    assert "no knob has the role" in ceiling["why"]
    shown = inside("policy", "show", CEILING, "--schema", schema)
    assert (shown.code, shown.out.splitlines()[0]) == (0, f"{CEILING}  not offered  built in")


def test_a_policy_is_shown_with_all_that_bears_on_it(repository: Inside) -> None:
    """Source, what it reads, its examples as they are written, who waives it."""
    result = repository("policy", "show", "floor-needs-two-people")
    assert (result.code, result.out) == (0, golden("policy-show"))


def test_a_shown_policy_is_data_too(repository: Inside) -> None:
    """With the examples as values, and every waiver whether it has expired."""
    result = repository("policy", "show", CEILING, "--format", "json")
    assert (result.code, faults_of(result.json, "output-policy-show.v1.schema.json")) == (0, [])
    policy = result.json["policy"]
    assert {one["name"]: one["expired"] for one in policy["waivers"]} == {
        "holds": False,
        "late": True,
    }
    assert policy["examples"][0] == {
        "outcome": "pass", "holds": True, "said": "the condition is false", "example": {"knobs": {}},
        "file": None, "line": None,
    }  # fmt: skip
    broken = repository("policy", "show", "broken-one", "--format", "json")
    assert (broken.code, faults_of(broken.json, "output-policy-show.v1.schema.json")) == (4, [])
    assert broken.json["policy"]["why"].endswith("did you mean effective?")


@pytest.mark.parametrize("format_", ["text", "json"])
def test_an_unknown_policy_is_a_usage_error_with_the_nearest(
    repository: Inside, format_: str
) -> None:
    """A typing error shows nothing and tests nothing; a path is no id."""
    result = repository("policy", "show", "floor-needs-two-peopl", "--format", format_)
    assert (result.code, "did you mean floor-needs-two-people?" in result.err) == (2, True)
    assert repository("policy", "test", "floor-needs-two-peopl", "--format", format_).code == 2
    assert repository("policy", "test", "policies", "--format", format_).code == 2


def test_an_example_that_does_not_hold_is_told_at_its_place(repository: Inside) -> None:
    """One that passes, one that reads a day that it does not say, one whose day is none."""
    result = repository("policy", "test", "floor-needs-two-people", "no-floor-on-fridays")
    assert (result.code, result.out) == (4, golden("policy-test"))


@pytest.mark.parametrize("format_", FORMATS)
def test_the_code_of_a_test_is_the_same_in_every_format(repository: Inside, format_: str) -> None:
    """And the finding is in each of them."""
    result = repository("policy", "test", "--format", format_)
    assert (result.code, "policy-example-fails" in result.out) == (4, True)
    if format_ == "json":
        assert faults_of(result.json, "output-findings.v1.schema.json") == []
        assert result.json["command"] == "policy test"
        assert result.json["summary"]["policies"] == len(built_in_documents()) + 2


def test_the_built_in_policies_are_tested_too(inside: Inside, tmp_path: Path) -> None:
    """On the knobs that ship, whatever schema the engine has."""
    schema = write_foreign_schema(tmp_path)
    for options in ((), ("--schema", schema)):
        result = inside("policy", "test", "--format", "json", *options)
        assert (result.code, result.json["findings"]) == (0, [])
        assert result.json["summary"]["policies"] == len(built_in_documents())
        assert result.json["summary"]["examples"] > 100


def test_a_policy_without_both_kinds_of_examples_is_a_warning(inside: Inside) -> None:
    """It proves nothing; that fails a run only where warnings do."""
    inside.write(
        "p.yaml", "policy: p\nseverity: info\nwhen: 'true'\nmessage: x\nexamples: {fail: [{}]}\n"
    )
    result = inside("policy", "test", "p", "--format", "json")
    assert (result.code, result.rules) == (0, ["policy-untested"])
    assert result.json["findings"][0]["message"] == (
        "p has no passing example: nothing shows that it lets anything pass"
    )
    assert inside("policy", "test", "p", "--fail-on", "warning").code == 5


@pytest.mark.parametrize("format_", ["text", "json", "junit"])
def test_nothing_to_test_is_a_usage_error(inside: Inside, format_: str) -> None:
    """Zero examples that hold are no success."""
    inside.write("p.yaml", "policy: p\nseverity: info\nwhen: 'true'\nmessage: x\n")
    result = inside("policy", "test", "p", "--format", format_)
    assert result.code == 2
    if format_ == "json":
        assert result.json["outcome"] == "usage"
    else:
        assert result.out == ""
    assert "0 examples of p: nothing would be tested" in result.err


EVERYTHING: Final = """policy: everything
severity: warning
trigger: change
when: >-
  fleet.fleet == 'prod' && fleet.limits.max_tenants == 5 && owner == 'me' && tenant == 'acme'
  && evidence.exists(e, e.path == 'evidence/a.json' && e.figures.lost.high > 0.02 && e.fits) && today > '2026-01-01' && live.rrf_k == 7 && labels.tier == 'x'
  && changed.rrf_k.before == 7 && changed.rrf_k.after == 10 && knobs.rrf_k == 10
  && effective.rrf_k == 10 && reach.vector_depth == 2 && reach.without_recency.vector_depth > 2
  && reach.vector_alone.vector_ceiling == 1.0
message: "{tenant} of {owner}"
examples:
  fail:
    - knobs: {rrf_k: 10}
      live: {rrf_k: 7}
      labels: {tier: x}
      owner: me
      tenant: acme
      evidence: [b.json, {path: evidence/a.json, figures: {lost: {high: 0.03}}}]
      fleet: {fleet: prod, limits: {max_tenants: 5}}
      today: 2026-03-01
  pass:
    - {today: 2026-03-01, knobs: {rrf_k: 10}}
    - {today: 2026-03-01, knobs: {rrf_k: 10}, base: {rrf_k: 7}, live: {rrf_k: 8}}
"""


def test_an_example_can_set_all_that_a_condition_sees(inside: Inside) -> None:
    """Knobs, live, base, labels, owner, tenant, evidence, fleet and the day."""
    inside.write("p.yaml", EVERYTHING)
    result = inside("policy", "test", "everything")
    assert (result.code, result.out) == (0, "1 policy, 3 examples: no findings\n")


@pytest.mark.parametrize(
    ("example", "rule", "words"),
    [
        ("{knobs: {rrf_kk: 5}}", "unknown-field", "did you mean rrf_k?"),
        ("{live: {rrf_k: 5000}}", "bad-value", "1 .. 1000"),
        ("{base: {rrf_k: sixty}}", "wrong-type", "a whole number"),
        ("{knobs: {rrf_k: -0.0}}", "negative-zero", "a zero with a sign"),
        ("{knobs: {retrieval_min_score: .nan}}", "not-finite", ""),
        ("{knobs: {retrieval_min_score: 1e-400}}", "underflow-to-zero", ""),
        ("{fleet: {fleet: a, limit: {}}}", "unknown-field", "did you mean limits?"),
        ("{fleet: production}", "wrong-type", "a mapping"),
        ("{tenant: A B}", "bad-value", ""),
        ("{layers: [a]}", "unknown-field", ""),
    ],
)
def test_what_no_document_may_say_no_example_may(
    inside: Inside, example: str, rule: str, words: str
) -> None:
    """The policy is not in force then, and the test fails at the value."""
    inside.write(
        "p.yaml",
        f"policy: p\nseverity: info\nwhen: 'true'\nmessage: x\nexamples:\n  fail:\n    - {example}\n",
    )
    for command in (["policy", "test", "p"], ["policy", "list"]):
        result = inside(*command, "--format", "json")
        found = result.json["findings"][0]
        assert (result.code, found["rule"], found["line"]) == (4, rule, 7)
        assert words in f"{found['message']} {found['hint']}"


def test_help_says_what_a_test_demands(inside: Inside) -> None:
    """What is an error, what is a warning, what is nothing."""
    told = " ".join(inside("policy", "test", "--help").out.split())
    assert (
        "A policy without a passing or without a failing example proves nothing: a warning" in told
    )
    assert "Nothing to test is exit 2" in told


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ('severity = "off"\nreason = "r"', "severity.pipeline-width.severity"),
        ('severity = "info"', "severity.pipeline-width.reason"),
        ('severity = "info"\nreason = ""', "severity.pipeline-width.reason"),
    ],
)
def test_a_severity_needs_a_reason_and_switches_nothing_off(
    inside: Inside, setting: str, words: str
) -> None:
    """Only a waiver does, with an approver and a last day."""
    inside.write("knobctl.toml", f"[severity.pipeline-width]\n{setting}\n")
    for command in (["list"], ["show", "pipeline-width"], ["test"]):
        result = inside("policy", *command)
        assert (result.code, result.out, words in result.err) == (4, "", True)


def test_examples_are_asked_with_the_severity_that_the_policy_states(inside: Inside) -> None:
    """A repository that weighs an info as an error does not break the examples of the info."""
    inside.write(
        "knobctl.toml", '[severity.floor-cuts-candidates]\nseverity = "error"\nreason = "r"\n'
    )
    assert inside("policy", "test", "floor-cuts-candidates").code == 0
    assert (
        "floor-cuts-candidates  error  built in"
        in inside("policy", "show", "floor-cuts-candidates").out
    )


def test_what_a_policy_says_drives_no_terminal(inside: Inside) -> None:
    """Titles, words, examples and reasons are shown with their escapes."""
    inside.write(
        "p.yaml",
        'policy: p\ntitle: "a \\e[31mred\\u202e title"\nseverity: info\nwhen: "true"\nmessage: "x\\e[2J"\n'
        'examples: {fail: [{owner: "\\e]0;t\\a"}], pass: [{owner: "\\e[1m"}]}\n---\n'
        'waiver: w\nrule: p\ntenants: [a]\nreason: "\\e[5m"\napproved_by: "\\e[7m"\nexpires: 2099-01-01\n',
    )
    for command in (["list"], ["show", "p"], ["test", "p"]):
        told = inside("policy", *command)
        assert not re.search("[\x1b\x07\u202e]", told.out + told.err)
    assert "a \\x1b[31mred\\u202e title" in inside("policy", "show", "p").out


def test_a_policy_by_its_tenant_is_seen_from_every_folder_of_the_repository(inside: Inside) -> None:
    """The policies in force are those of the whole repository, wherever in it PATH lies."""
    inside.write("knobctl.toml", "")
    inside.write("rules/two.yaml", TWO_PEOPLE)
    inside.write("tenants/a.yaml", "tenant: a\nknobs: {}\n")
    for path in (".", "tenants", "tenants/a.yaml", "rules/two.yaml"):
        assert "floor-needs-two-people" in inside("policy", "list", path).out
        shown = inside("policy", "show", "floor-needs-two-people", "--path", path)
        assert (shown.code, shown.out.splitlines()[0]) == (
            0,
            "floor-needs-two-people  error  rules/two.yaml:1",
        )
        assert inside("policy", "test", "floor-needs-two-people", "--path", path).code == 0
