"""Policies that fail while they run, run away, or cannot be asked: they end, and pass nothing."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import pytest

from knobctl.checks.expressions import MOST_CHARACTERS
from knobctl.finding import Severity
from knobctl.report.findings import report_text
from tests.checks.documents import acme, by_rule, checked, place

if TYPE_CHECKING:
    from knobctl.checks.report import Report

DIGITS = "[0,1,2,3,4,5,6,7,8,9]"
ENDLESS = f"{DIGITS}.all(x, " * 8 + "true" + ")" * 8
ENDLESS_WORDS = f"{DIGITS}.map(x, " * 8 + "labels.a" + ")" * 8


def policy(when: str, *, id_: str = "p", **fields: str) -> str:
    """A policy of a repository, followed by another document."""
    fields = {"severity": "warning", "message": "found", **fields}
    return (
        f"policy: {id_}\nwhen: '{when}'\n"
        + "".join(f"{name}: {value}\n" for name, value in fields.items())
        + "---\n"
    )


def fleet(number: int) -> str:
    """Tenants of which no two write the same."""
    return "---\n".join(
        f"tenant: t{i}\nlabels: {{a: x{i}}}\nknobs: {{rrf_k: {i + 1}}}\n" for i in range(number)
    )


def errors(report: Report) -> list[str]:
    """The messages of what failed."""
    return [one.message for one in report.findings if one.rule == "policy-error"]


@pytest.mark.parametrize(
    "text",
    [
        policy(f"{ENDLESS} && tenant == owner"),
        policy("tenant != owner", message=f'"{{{ENDLESS_WORDS}}}"'),
        policy("true", each="written", message=f'"{{{ENDLESS_WORDS}}}"'),
    ],
)
def test_what_runs_away_is_asked_once_and_passes_nobody(text: str) -> None:
    """Of a thousand tenants each has its finding, and the run ends as soon as without the policy."""
    start = perf_counter()
    report = checked(text + fleet(300))
    assert perf_counter() - start < 5
    found = errors(report)
    assert len(found) == 300
    assert found.count("p: it takes more steps than an expression may") == 1
    assert len(set(found)) == 2
    assert report.errors == 300


def test_a_policy_that_fails_for_a_fleet_is_told_in_one_block() -> None:
    """Each tenant has its finding for machines; people read one, with how many there are."""
    report = checked(policy('labels.tier == "x"') + fleet(200))
    assert len(errors(report)) == 200
    assert {one.tenant for one in report.findings if one.rule == "policy-error"} == {
        f"t{i}" for i in range(200)
    }
    told = report_text(report)
    assert told.count("policy-error") == 1
    assert 't0, t1 and 198 more tenants: p: Key not found in map : "tier"' in told
    assert "do     ask first whether it is there: 'tier' in labels && ..." in told


def test_more_conditions_than_one_expression_holds_are_asked_one_by_one() -> None:
    """Together they are longer, or deeper, than CEL takes; each by itself is not."""
    long = " || ".join(f'labels.a == "{"y" * 80}{i}"' for i in range(90))
    deep = "(" * 29 + "labels.a" + ")" * 29 + ' == "x0"'
    texts = [policy(long, id_=f"long-{i}") for i in range(12)] + [policy(deep, id_="deep")]
    report = checked("".join(texts) + fleet(2))
    assert errors(report) == []
    assert [one.tenant for one in report.findings if one.rule == "deep"] == ["t0"]


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("(" * 40 + "true" + ")" * 40, "nested more than 32 deep"),
        ("1" + " + 1" * 60 + " > 3", "nested more than 32 deep"),
        ("true || " * 2000 + "true", "16,004 characters; an expression has at most 10,000"),
        ("tenant", "the condition gives a text, not true or false"),
        ("effective", "the condition gives a map, not true or false"),
        ("1 + 1", "the condition gives a whole number, not true or false"),
        ("now() > today", "undeclared reference to \"now\""),
        ("getenv(tenant) == owner", "undeclared reference to \"getenv\""),
        ("effectve.rrf_k > 1", "did you mean effective?"),
        ("lables.tier == owner", "did you mean labels?"),
        ("zzz > 1", "known are effective, knobs, live, changed"),
        ("tenant.startWith(owner)", "did you mean startsWith?"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_condition_does_not_compile(when: str, words: str) -> None:
    """Too deep, too long, of another type, a name that nothing has: told at once, with what was meant."""
    finding = by_rule(checked(policy(when) + acme()))["policy-error"]
    assert words.replace('"', "'") in finding.message
    assert (finding.severity, finding.tenant) == (Severity.ERROR, None)
    assert finding.hint == "until it is mended the policy passes nothing"


def test_a_text_with_expressions_has_a_length_too() -> None:
    """Else a file of a megabyte would hold a hundred thousand of them."""
    text = policy("true", message="x" * (MOST_CHARACTERS + 1))
    assert "10,001 characters" in by_rule(checked(text + acme()))["policy-error"].message


def test_an_info_that_reads_no_knob_speaks_too() -> None:
    """One about labels or the day looks at nothing that could be unwritten."""
    text = policy('labels.a == "x1" && today > "2020-01-01"', severity="info")
    found = checked(text + fleet(3)).findings
    assert [one.tenant for one in found if one.rule == "p"] == ["t1"]


def test_a_rule_about_a_change_that_reads_no_knob_is_asked_of_every_change() -> None:
    """It is asked where anything changes, and only there."""
    text = policy('labels.a == "x1"', trigger="change")
    now, then = fleet(3), fleet(3).replace("rrf_k: 2", "rrf_k: 9")
    changed = checked(text + now, base=text + then)
    assert [one.tenant for one in changed.findings if one.rule == "p"] == ["t1"]
    assert "p" not in by_rule(checked(text + now, base=text + now))


def test_an_info_about_the_live_set_waits_until_that_is_known() -> None:
    """As any other rule that reads it."""
    text = policy("live.rrf_k > 3 && effective.rrf_k > 3", severity="info") + acme(rrf_k=10)
    assert "policy-error" not in by_rule(checked(text))
    assert "p" in by_rule(checked(text, live={"rrf_k": 9}))


def test_a_failure_is_told_at_the_field_that_failed() -> None:
    """In the place of a finding, in the hint, in a message that names a knob that is none."""
    at = policy("true", at='"{tenant}"') + acme()
    assert by_rule(checked(at))["policy-error"].message == "p: acme is neither a knob nor a role"
    hint = policy("true", hint='"{labels.b}"') + acme()
    finding = by_rule(checked(hint))["policy-error"]
    assert (finding.field_path, place(finding)) == ("hint", "5:8")
