"""JUnit XML: read back with a parser of the format, whatever stands in it."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from knobctl.finding import Finding, Severity
from knobctl.report.formats import FindingsAnswer
from tests.cli.inside import Inside
from tests.report.hard import ODD_NAME
from tests.report.rendering import answer_of, findings, rendered

WARNED = "tenant: acme\nknobs: {retrieval_min_score: 0.45, gate_expanded_floor: 0.45, rrf_k: 60}\n"
WAIVER = (
    "waiver: w\nrule: floor-above-vector-ceiling\ntenants: [acme]\nreason: r\napproved_by: p\n"
    "expires: 2099-01-01\n"
)


def suites(text: str) -> list[TestSuite]:
    """The suites of a report."""
    return list(JUnitXml.fromstring(text.encode()))


def cases(text: str) -> Iterator[TestCase]:
    """The cases of all suites."""
    for suite in suites(text):
        yield from suite


def named(text: str, name: str) -> TestCase:
    """The case of a name."""
    return next(case for case in cases(text) if case.name == name)


def told(inside: Inside, *options: str) -> str:
    """What check answers."""
    return inside("check", ".", "--format", "junit", *options).out


def test_a_tenant_without_failures_is_a_case_that_passes(inside: Inside) -> None:
    """A green run counts its tenants; a suite a file."""
    inside.write("a.yaml", "tenant: a\nknobs: {}\n---\ntenant: b\nknobs: {}\n")
    inside.write("c.yaml", "tenant: c\nknobs: {}\n")
    found = {suite.name: [case.name for case in suite] for suite in suites(told(inside))}
    assert found == {"a.yaml": ["a", "b"], "c.yaml": ["c"]}
    assert all(case.is_passed for case in cases(told(inside)))


def test_what_fails_the_run_is_a_failure_with_its_excerpt(inside: Inside) -> None:
    """The message is the first line; the text is what a person is shown, place and carets included."""
    inside.write("a.yaml", WARNED)
    text = told(inside, "--fail-on", "warning")
    case = named(text, "acme: floor-above-vector-ceiling retrieval_min_score")
    [failure] = case.result
    assert isinstance(failure, Failure)
    assert failure.type == "warning"
    assert failure.message.startswith("retrieval_min_score 0.45 is above 1/3")
    assert "a.yaml:2:30  warning" in failure.text
    assert "^^^^" in failure.text
    assert [one.name for one in cases(text)] == [case.name]
    assert "redundant-default" in case.system_out


def test_a_warning_that_fails_nothing_passes_and_is_told(inside: Inside) -> None:
    """Without --fail-on a warning is a case that passes; infos stand with the tenant's own case."""
    inside.write("a.yaml", WARNED)
    text = told(inside)
    warned = named(text, "acme: floor-above-vector-ceiling retrieval_min_score")
    assert warned.is_passed
    assert "is above 1/3" in warned.system_out
    assert "redundant-default" in named(text, "acme").system_out


def test_what_is_waived_is_skipped_with_its_waiver(inside: Inside) -> None:
    """Who lets it off and until when is the reason."""
    inside.write("a.yaml", WARNED)
    inside.write("w.yaml", WAIVER)
    case = named(
        told(inside, "--fail-on", "warning"), "acme: floor-above-vector-ceiling retrieval_min_score"
    )
    [skipped] = case.result
    assert isinstance(skipped, Skipped)
    assert skipped.message == "waived by w, until 2099-01-01"
    assert "is above 1/3" in case.system_out


def test_counts_are_those_of_the_cases(hard: FindingsAnswer) -> None:
    """A reader that trusts the numbers and one that counts agree."""
    root = ET.fromstring(rendered("junit", hard))
    assert root.get("tests") == str(len(root.findall("*/testcase")))
    assert root.get("failures") == str(len(root.findall("*/testcase/failure")))
    for suite in root:
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        assert suite.get("skipped") == str(len(suite.findall("testcase/skipped")))
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(names)) == len(names)
    assert ODD_NAME in {suite.get("name") for suite in root}


def test_a_run_about_no_tenant_has_a_case(inside: Inside) -> None:
    """A report without a case counts as no run at all."""
    inside.write("l.yaml", "layer: l\nknobs: {rrf_k: 30}\n")
    [case] = cases(told(inside))
    assert (case.name, case.is_passed) == ("check", True)


@given(st.lists(findings(), max_size=6))
@settings(max_examples=40, deadline=None)
def test_whatever_a_finding_says_the_report_can_be_read(found: list[Finding]) -> None:
    """Characters that XML cannot hold are escaped, and nothing ends an element."""
    text = rendered("junit", answer_of(found, fail_on=Severity.WARNING))
    root = ET.fromstring(text.encode())
    tags = {element.tag for element in root.iter()}
    assert tags <= {"testsuites", "testsuite", "testcase", "failure", "skipped", "system-out"}
    failing = [one for one in found if one.counts and one.severity is not Severity.INFO]
    assert len(root.findall("*/testcase/failure")) == len(failing)


@pytest.mark.parametrize("character", ["\x00", "\x0b", "\x1b", "\x85", "\ufffe", "\uffff"])
def test_a_character_that_xml_cannot_hold_is_shown(character: str) -> None:
    """It is told by its number."""
    finding = Finding(rule="r", severity=Severity.ERROR, message=f"a{character}b")
    text = rendered("junit", answer_of([finding]))
    assert character not in text
    assert f"{ord(character):02x}b" in text
