"""Whatever the documents hold, checking answers with findings: never a traceback, never silence."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.checks.built_in import built_in_documents
from knobctl.checks.policies import rule_ids
from knobctl.checks.rules import RULES
from knobctl.documents.model import Kind
from knobctl.finding import Severity
from knobctl.knobs import load_catalogue
from knobctl.report import findings_json
from knobctl.report.findings import report_text
from knobctl.report.formats import FindingsAnswer
from tests.checks.documents import checked, repository

CATALOGUE = load_catalogue()
FIELDS = ["version", "labels", "owner", "layers", "evidence", "knobs", "rule", "tenants", "up_to", "reason", "approved_by", "expires", "title", "severity", "when", "at", "message", "hint", "each", "trigger", "reads", "examples", "include", "limits", "protected", "freeze", "probes", "x-a", "zz"]  # fmt: skip

scalar = (
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["acme", "ENABLED", "error", "effective.rrf_k > 1", "{tenant}", "2099-01-01", "gate-order"]
    )
)
anything = st.recursive(
    scalar,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=6) | st.sampled_from([*CATALOGUE.by_name, "pass", "fail", "name"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
documents = st.builds(
    lambda kind, name, fields: {kind.value: name, **fields},
    st.sampled_from(list(Kind)),
    st.sampled_from(["acme", "p", "Bad", ""]) | scalar,
    st.dictionaries(st.sampled_from(FIELDS), anything, max_size=5),
)


@given(st.lists(documents, min_size=1, max_size=4))
@settings(max_examples=150)
def test_any_documents_give_a_report(several: list[dict[str, Any]]) -> None:
    """Text and JSON render, every rule is known, and what a judge refuses is an error."""
    text = "\n---\n".join(json.dumps(one) for one in several) + "\n"
    report = checked(text)
    assert report_text(report, everything=True)
    json.loads(
        "".join(findings_json.render(FindingsAnswer(report=report, code=report.exit_code())))
    )
    known = rule_ids(repository(text).policies)
    for finding in report.findings:
        assert finding.rule in known, finding.rule
        assert finding.primary is not None
        if finding.rule in RULES:
            assert finding.severity in RULES[finding.rule].severities


@given(
    st.text(alphabet="effectivrolkns.[]'\"(){}<>=!&|+-*/ 0123\n\\", max_size=40),
    st.text(max_size=30),
)
@settings(max_examples=200)
def test_any_condition_and_message_compile_or_are_told(when: str, message: str) -> None:
    """A policy is somebody's text: it runs, or an error says where it does not."""
    policy = json.dumps({"policy": "p", "severity": "warning", "when": when, "message": message})
    report = checked(f"{policy}\n---\ntenant: acme\nknobs: {{rrf_k: 10}}\n")
    assert report.policies == len(built_in_documents()) + 1 or report.errors
    assert all(one.primary is not None for one in report.findings)


@given(st.dictionaries(st.sampled_from([*CATALOGUE.by_any_name, "nope"]), scalar, max_size=6))
@settings(max_examples=150)
def test_a_set_without_errors_is_one_that_the_engine_takes(knobs: dict[str, Any]) -> None:
    """What validation lets pass, the catalogue accepts; what it refuses is no set to push."""
    report = checked(json.dumps({"tenant": "acme", "knobs": knobs}) + "\n")
    errors = [
        one for one in report.findings if one.severity is Severity.ERROR and one.rule in RULES
    ]
    taken = {
        name: CATALOGUE.by_any_name[name].accepts(value)
        for name, value in knobs.items()
        if name in CATALOGUE.by_any_name
    }
    spelled_once = len({CATALOGUE.by_any_name[name].name for name in taken}) == len(taken)
    assert (not errors) is (all(taken.values()) and "nope" not in knobs and spelled_once)
