"""Workflow commands, read back as the runner reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.finding import Finding, Location, Severity
from knobctl.report.formats import FindingsAnswer
from tests.cli.inside import Inside
from tests.report.hard import ODD_NAME
from tests.report.rendering import FILE, answer_of, findings, rendered


def read(line: str) -> tuple[str, dict[str, str], str]:
    """Read a command as the runner does: name, properties, data."""
    assert line.startswith("::")
    head, data = line[2:].split("::", 1)
    name, _, told = head.partition(" ")
    properties = dict(part.split("=", 1) for part in told.split(",") if part)
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        properties = {key: value.replace(code, character) for key, value in properties.items()}
        data = data if character in ":," else data.replace(code, character)
    return name, properties, data


def commands(answer: FindingsAnswer) -> list[tuple[str, dict[str, str], str]]:
    """All commands; the runner ends a line at a line feed and at a carriage return."""
    lines = rendered("github", answer).replace("\r", "\n").split("\n")
    return [read(line) for line in lines]


def of(answer: FindingsAnswer, title: str) -> tuple[str, dict[str, str], str]:
    """The first command whose title begins so."""
    return next(one for one in commands(answer) if one[1]["title"].startswith(title))


def test_the_gravest_come_first_and_a_notice_sums_up(hard: FindingsAnswer) -> None:
    """The host shows ten of each kind: what fails leads, what fails nothing is a notice."""
    names = [name for name, _, _ in commands(hard)]
    assert names == sorted(names, key=["error", "warning", "notice"].index)
    name, properties, data = commands(hard)[-1]
    assert (name, properties) == ("notice", {"title": "knobctl check"})
    assert data.startswith("8 tenants, 20 policies: 6 errors")


def test_a_place_is_lines_and_columns_of_one_line(hard: FindingsAnswer) -> None:
    """Columns are for one line only; a whole file has no line, and what has no place no file."""
    assert of(hard, "says-hostile-things")[1] == {
        "file": "tenants/vale.yaml", "line": "4", "endLine": "4", "col": "24", "endColumn": "27",
        "title": "says-hostile-things",
    }  # fmt: skip
    assert of(hard, "wrong-type")[1].keys() == {"file", "line", "endLine", "title"}
    assert of(hard, "empty-document")[1].keys() == {"file", "title"}
    assert of(hard, "audit-chain-broken")[1].keys() == {"title"}


def test_a_name_with_everything_in_it_comes_back(hard: FindingsAnswer) -> None:
    """Percent signs, commas and colons of a file's name are its own."""
    assert of(hard, "unknown-knob")[1]["file"] == ODD_NAME


def test_waived_and_standing_are_notices_that_say_so(hard: FindingsAnswer) -> None:
    """They fail nothing, so they are no warnings; the title says why."""
    assert (
        of(hard, "floor-above-vector-ceiling (waived by vale-legacy, until 2099-03-31)")[0]
        == "notice"
    )
    assert of(hard, "floor-above-vector-ceiling (standing, in the base too)")[0] == "notice"


def test_tenants_that_share_a_finding_share_an_annotation(hard: FindingsAnswer) -> None:
    """A layer's value is annotated once, for all whom it hits."""
    name, _, data = of(hard, "floor-above-vector-ceiling")
    assert name == "warning"
    assert data.startswith("acme, bolt, core, dune: retrieval_min_score 0.45 is above 1/3")


def test_many_infos_are_told_by_rule(inside: Inside) -> None:
    """A fleet has thousands; -v has each."""
    for number in range(12):
        inside.write(f"t{number}.yaml", f"tenant: t{number}\nknobs: {{rrf_k: 60}}\n")
    brief = inside("check", "--format", "github").out.splitlines()
    assert len(brief) == 4
    assert any(
        "title=redundant-default (info)::12 in 12 tenants, such as t0" in line for line in brief
    )
    assert len(inside("check", "--format", "github", "-v").out.splitlines()) == 37


@given(st.lists(findings(), max_size=6))
@settings(max_examples=50, deadline=None)
def test_nothing_in_a_finding_starts_or_ends_a_command(found: list[Finding]) -> None:
    """Every line is a command of ours, with properties of ours, and there are as many as there must be."""
    answer = replace(answer_of(found), everything=True)
    for name, properties, _ in commands(answer):
        assert name in {"error", "warning", "notice"}
        assert properties.keys() <= {"file", "line", "endLine", "col", "endColumn", "title"}
    assert len(commands(answer)) <= len(found) + 1


@pytest.mark.parametrize("text", ["a\rb", "a\r\n::error::b", "100%0A::error::b", "a\u2028b\x85c"])
def test_a_line_break_of_any_kind_stays_inside(text: str) -> None:
    """A carriage return begins a command as a line feed does; an escape in the data is no escape of ours."""
    finding = Finding(
        rule="r", severity=Severity.ERROR, message=text, primary=Location(FILE, 1, 1, 1, 2)
    )
    [(_, _, data), _] = commands(answer_of([finding]))
    assert "\r" not in data
    assert data.split("\n")[0].startswith(
        text.split("\r", maxsplit=1)[0].split("\u2028", maxsplit=1)[0]
    )
