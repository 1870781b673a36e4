"""GitLab code quality: what the widget needs, and a name for each entry that stays."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.finding import Finding
from knobctl.report.formats import FindingsAnswer
from tests.cli.inside import Inside
from tests.report.hard import shifted
from tests.report.rendering import answer_of, findings, rendered


def entries(answer: FindingsAnswer) -> list[dict[str, Any]]:
    """The report's entries, each whole."""
    found: list[dict[str, Any]] = json.loads(rendered("gitlab", answer))
    for one in found:
        assert one.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert one["location"].keys() == {"path", "lines"}
        assert one["location"]["lines"]["begin"] >= 1
        assert one["location"]["path"]
        assert "\n" not in one["description"]
    return found


def test_severities_are_those_of_the_widget_gravest_first(hard: FindingsAnswer) -> None:
    """What fails nothing is an info, and says why."""
    found = entries(hard)
    order = [one["severity"] for one in found]
    assert order == sorted(order, key=["critical", "minor", "info"].index)
    told = {one["description"] for one in found if one["severity"] == "info"}
    assert any(text.endswith("[waived by vale-legacy, until 2099-03-31]") for text in told)
    assert any(text.endswith("[standing: the base has it too]") for text in told)


def test_every_finding_has_a_fingerprint_of_its_own_that_stays(hard: FindingsAnswer) -> None:
    """Lines move; the widget compares fingerprints between branches."""
    found = [one["fingerprint"] for one in entries(hard)]
    assert len(set(found)) == len(found) == len(hard.findings)
    assert [one["fingerprint"] for one in entries(shifted(hard, 7))] == found


def test_nothing_found_is_an_empty_list(inside: Inside) -> None:
    """Which is what resolves what was there."""
    inside.write("t.yaml", "tenant: t\nknobs: {}\n")
    assert json.loads(inside("check", "--format", "gitlab").out) == []


@given(st.lists(findings(), max_size=6))
@settings(max_examples=25, deadline=None)
def test_whatever_a_finding_says_it_is_an_entry(found: list[Finding]) -> None:
    """Each once, with a fingerprint that no other has."""
    told = entries(answer_of(found))
    assert len({one["fingerprint"] for one in told}) == len(told) == len(found)
