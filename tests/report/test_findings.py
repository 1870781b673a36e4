"""Findings for people and machines."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.checks.report import Report, ordered
from knobctl.documents.reader import read_text
from knobctl.errors import ExitCode
from knobctl.finding import Finding, Location, Severity
from knobctl.report import findings_json
from knobctl.report.excerpt import columns, excerpt
from knobctl.report.findings import findings_text, report_text
from knobctl.report.formats import FindingsAnswer
from knobctl.report.summary import summary_line
from tests.checks.documents import acme, checked
from tests.cli.outputs import faults_of

GOLDEN = Path(__file__).parent / "golden"
LAYER = "layer: enterprise\nknobs: {retrieval_min_score: 0.4, gate_expanded_floor: 0.4}\n---\n"
CASES = {
    "ceiling": acme(retrieval_min_score=0.45),
    "zero": acme(retrieval_min_score=0, rrf_weight_recency=0),
    "faults": "tenant: acme\nknobs:\n  retrieval_min_scroe: 0.3\n  rrf_k: 0,5\n  mmr_lambda: 20\nwoner: me\n",
    "waived": "waiver: w\nrule: floor-above-vector-ceiling\ntenants: [acme]\nreason: r\napproved_by: p\n"
    "expires: 2099-03-31\n---\n" + acme(retrieval_min_score=0.45, gate_expanded_floor=0.45),
    "shared-layer": LAYER
    + "---\n".join(f"tenant: t{number}\nlayers: [enterprise]\n" for number in range(5)),
    "same-again": "---\n".join(f"tenant: t{number}\nknobs: {{rrf_k: 0}}\n" for number in range(3)),
    "many-infos": "---\n".join(
        f"tenant: t{number}\nknobs: {{rrf_k: 60, mmr_lambda: 0.7}}\n" for number in range(12)
    ),
    "pipeline": acme(assembly_max_chunks=150, gate_expanded_floor=0.6, rrf_weight_vector=100, rrf_weight_bm25=0.5),
    "nothing": acme(),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_text_reads_as_the_voice_asks(name: str) -> None:
    """Place, rule, what is, the line with a caret, what it costs, what to write; then the sum."""
    assert report_text(checked(CASES[name])) + "\n" == (GOLDEN / f"{name}.txt").read_text()


def test_a_change_reads_as_the_voice_asks() -> None:
    """What the base has too is folded to its rules; resets name what is lost."""
    report = checked(
        acme(retrieval_min_score=0.45, rrf_k=10),
        base=acme(retrieval_min_score=0.45, retrieval_vector_top_k=32),
        live={"retrieval_vector_top_k": 32},
    )
    assert report_text(report) + "\n" == (GOLDEN / "change.txt").read_text()


@pytest.mark.parametrize("name", [name for name in CASES if name != "waived"])
def test_no_line_of_text_is_wider_than_a_terminal(name: str) -> None:
    """80 columns hold every line but a head that names a waiver."""
    for line in report_text(checked(CASES[name]), everything=True).splitlines():
        assert len(line) <= 80, line


def test_many_waived_findings_are_told_by_rule_and_waiver() -> None:
    """A repository that adopts the gate: counted, named by waiver, each with `-v`; ten of them are written out."""
    waiver = (
        "waiver: w\nrule: {}\nlabels: {{}}\nreason: r\napproved_by: p\nexpires: 2099-03-31\n---\n"
    )
    waiver = waiver.format("floor-above-vector-ceiling").replace(
        "labels: {}", "labels: {tier: old}"
    )
    tenant = (
        "tenant: t{}\nlabels: {{tier: old}}\n"
        "knobs: {{retrieval_min_score: 0.45, gate_expanded_floor: 0.45}}\n"
    )
    ten, eleven = (
        checked(waiver + "---\n".join(tenant.format(number) for number in range(often)))
        for often in (10, 11)
    )
    assert (ten.waived, eleven.waived) == (10, 11)
    folded = (
        "11 waived; -v shows each\n"
        "  floor-above-vector-ceiling  11 in t0, t1 and 9 more tenants, waived by w,\n"
        "    until 2099-03-31\n"
    )
    assert folded in report_text(eleven)
    assert "above 1/3" not in report_text(eleven)
    assert report_text(eleven).endswith("11 waived (w, until 2099-03-31)")
    assert "waived; -v" not in report_text(ten)
    assert report_text(eleven, everything=True).count("  waived by w, until 2099-03-31\n") == 11


def test_colour_repeats_what_the_words_say() -> None:
    """With the escapes taken away the text is the same; without a terminal there are none."""
    report = checked(CASES["faults"])
    colored = report_text(report, colored=True)
    assert "\x1b[31m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == report_text(report)
    assert "\x1b" not in report_text(report)


HOSTILE = "ok\x1b[2K\r\x1b[32mno changes\x1b[0m \u202egnp.exe \u200b\x07"


def test_hostile_text_cannot_drive_the_terminal() -> None:
    """Escapes, carriage returns, bidirectional and zero-width characters are shown, wherever they stand."""
    text = json.dumps(
        {
            "tenant": "acme",
            "owner": HOSTILE,
            "labels": {HOSTILE: HOSTILE},
            HOSTILE: 1,
            "knobs": {HOSTILE: HOSTILE},
        }
    )
    report = checked(text)
    shown = report_text(report, everything=True)
    for character in "\x1b\r\u202e\u200b\x07":
        assert character not in shown
    assert "\\x1b[2K" in shown
    standard = "".join(findings_json.render(FindingsAnswer(report=report, code=report.exit_code())))
    assert standard.isascii()
    assert json.loads(standard)["findings"]


@given(
    st.text(max_size=40),
    st.text(max_size=40),
    st.integers(1, 3),
    st.integers(1, 60),
    st.integers(0, 30),
)
@settings(max_examples=200)
def test_an_excerpt_points_at_its_value_whatever_the_line(
    before: str, value: str, line: int, column: int, length: int
) -> None:
    """Any place in any text: two lines of the asked width without a control character, or none."""
    text = read_text("", "t.yaml")
    text.text = f"x\n{before}{value}\nz"
    lines = excerpt(text, Location("t.yaml", line, column, line, column + length), width=80)
    if lines is None:
        return
    for shown in lines:
        assert "\n" not in shown
        assert "\x1b" not in shown
        assert columns(shown) <= 82
    assert lines[1].strip(" |").strip("^") == ""


@pytest.mark.parametrize(
    ("line", "start", "end", "shown", "carets"),
    [
        ("  rrf_k: 60", 10, 12, "     1 |   rrf_k: 60", "       |          ^^"),
        ("\trrf_k: 60", 9, 11, "     1 |   rrf_k: 60", "       |          ^^"),
        ("名前: 60", 5, 7, "     1 | 名前: 60", "       |       ^^"),
        ("a: ", 4, 4, "     1 | a:", "       |    ^"),
    ],
)
def test_the_caret_stands_under_the_value(
    line: str, start: int, end: int, shown: str, carets: str
) -> None:
    """Tabs, wide letters and empty values included."""
    text = read_text("", "t.yaml")
    text.text = line
    assert excerpt(text, Location("t.yaml", 1, start, 1, end)) == (shown, carets)


def test_a_long_line_is_cut_around_its_value() -> None:
    """The value stays in sight, dots say what is left out."""
    text = read_text("", "t.yaml")
    text.text = "x" * 300 + "VALUE" + "y" * 300
    lines = excerpt(text, Location("t.yaml", 1, 301, 1, 306))
    assert lines is not None
    assert "VALUE" in lines[0]
    assert lines[0].count("…") == 2
    assert lines[0].index("VALUE") == lines[1].index("^")
    assert max(map(len, lines)) <= 80


def finding(severity: Severity = Severity.WARNING, **fields: object) -> Finding:
    """A finding of some rule."""
    given_ = {"rule": "some-rule", "message": "m", "tenant": "a", **fields}
    return Finding(severity=severity, **given_)  # type: ignore[arg-type]  # fields of a Finding


def report(*findings: Finding, **fields: object) -> Report:
    """A report of these findings."""
    given_ = {"files": 1, "tenants": 1, **fields}
    return Report(command="check", pressing=ordered(findings), **given_)  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(
    ("findings", "fail_on", "code"),
    [
        ((), Severity.WARNING, ExitCode.OK),
        ((finding(Severity.INFO),), Severity.WARNING, ExitCode.OK),
        ((finding(),), Severity.ERROR, ExitCode.OK),
        ((finding(),), Severity.WARNING, ExitCode.WARNINGS),
        ((finding(), finding(Severity.ERROR)), Severity.WARNING, ExitCode.FINDINGS),
        ((finding(Severity.ERROR),), Severity.ERROR, ExitCode.FINDINGS),
        ((finding(Severity.ERROR, waived_by="w"),), Severity.WARNING, ExitCode.OK),
        ((finding(Severity.ERROR, standing=True),), Severity.WARNING, ExitCode.OK),
    ],
)
def test_the_exit_code_follows_from_what_counts(
    findings: tuple[Finding, ...], fail_on: Severity, code: ExitCode
) -> None:
    """Waived and standing findings fail nothing; warnings alone fail where that is asked for."""
    assert report(*findings).exit_code(fail_on) is code


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (report(), "1 tenant in 1 file: no findings"),
        (report(policies=17, tenants=6), "6 tenants, 17 policies: no findings"),
        (report(finding(), policies=1), "1 tenant, 1 policy: 1 warning"),
        (
            report(finding(), finding(), finding(Severity.ERROR), tenants=12345, policies=2),
            "12,345 tenants, 2 policies: 1 error, 2 warnings",
        ),
        (
            report(finding(waived_by="acme-legacy-floor"), finding(), policies=21, waivers={"acme-legacy-floor": date(2099, 3, 31)}),
            "1 tenant, 21 policies: 1 warning, 1 waived (acme-legacy-floor, until 2099-03-31)",
        ),
        (report(finding(standing=True), policies=1), "1 tenant, 1 policy: 1 standing, in the base too"),
    ],
)  # fmt: skip
def test_one_line_sums_up(one: Report, line: str) -> None:
    """What was looked at, and what counts; plurals are right."""
    assert summary_line(one) == line


def test_the_json_is_the_contracts() -> None:
    """Its keys, in its order; the schema that ships accepts it."""
    one = checked(CASES["waived"])
    answer = json.loads(
        "".join(findings_json.render(FindingsAnswer(report=one, code=one.exit_code())))
    )
    assert list(answer) == ["version", "command", "outcome", "exit_code", "summary", "findings"]
    assert list(answer["summary"]) == [
        "files", "tenants", "policies", "errors", "warnings", "infos", "waived", "standing",
    ]  # fmt: skip
    assert list(answer["findings"][0]) == [
        "rule", "severity", "tenant", "field_path", "value", "message", "hint", "file", "line", "column",
        "end_line", "end_column", "related", "standing", "waived_by",
    ]  # fmt: skip
    assert faults_of(answer, "output-findings.v1.schema.json") == []


@pytest.mark.parametrize("name", CASES)
def test_every_answer_fits_the_schema_that_ships_for_it(name: str) -> None:
    """NaN and the infinities are no JSON numbers; lists and nulls are values like others."""
    one = checked(CASES[name])
    answer = json.loads(
        "".join(findings_json.render(FindingsAnswer(report=one, code=one.exit_code())))
    )
    assert faults_of(answer, "output-findings.v1.schema.json") == []
    odd = checked(
        "tenant: a\nknobs: {rrf_k: .nan, mmr_lambda: [1], gate_mode: null, rrf_weight_vector: -.inf}\n"
    )
    text = "".join(findings_json.render(FindingsAnswer(report=odd, code=odd.exit_code())))
    assert "NaN" not in text
    assert "Infinity" not in text
    assert faults_of(json.loads(text), "output-findings.v1.schema.json") == []


def test_infos_of_a_fleet_are_told_by_rule_unless_all_are_asked_for() -> None:
    """The count is the same; -v shows each at its place."""
    one = checked(CASES["many-infos"])
    brief, full = findings_text(one), findings_text(one, everything=True)
    assert one.infos == 48
    assert "48 infos; -v shows each" in brief
    assert "t.yaml:2:16  info  redundant-default" not in brief
    assert "t.yaml:2:16  info  redundant-default" in full


def test_findings_that_are_not_shown_are_counted() -> None:
    """What --select leaves out still decides."""
    one = checked(CASES["ceiling"])
    assert report_text(one, shown=[]).endswith("; 2 findings not shown, as asked")


def test_nothing_found_is_said_in_one_line() -> None:
    """No findings, no blocks."""
    assert findings_text(checked(acme())) == ""
    assert report_text(checked(acme())) == "1 tenant, 20 policies: no findings"
