"""Findings as JUnit XML: a suite a file, a case a tenant, and a case a finding.

What fails the run is a failure; what is waived, skipped; the rest passes and is told in `system-out`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from knobctl.finding import Severity
from knobctl.report.checkout import path_of, path_text
from knobctl.report.findings import finding_text
from knobctl.report.message import headline
from knobctl.report.summary import waiver_words
from knobctl.text import printable, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knobctl.finding import Finding
    from knobctl.report.formats import FindingsAnswer

_NO_XML: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to hold."""


@dataclass(slots=True)
class _Case:
    """One test case."""

    name: str
    inside: list[str] = field(default_factory=list)
    out: list[str] = field(default_factory=list)
    failed: bool = False
    skipped: bool = False


def render(answer: FindingsAnswer) -> Iterator[str]:
    """Write the suites, one at a time."""
    suites = {name: cases for name, cases in _suites(answer).items() if cases}
    if not suites:  # a run without a case counts as no run
        suites = {f"knobctl {answer.report.command}": [_Case(answer.report.command)]}
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    every = [case for cases in suites.values() for case in cases]
    yield f"<testsuites name={_quoted(f'knobctl {answer.report.command}')} {_counts(every)}>\n"
    for name, cases in suites.items():
        yield f"  <testsuite name={_quoted(name)} {_counts(cases)} skipped={_quoted(_skipped(cases))}>\n"
        for case in cases:
            yield _case(case, name)
        yield "  </testsuite>\n"
    yield "</testsuites>"


def _suites(answer: FindingsAnswer) -> dict[str, list[_Case]]:
    """By file, its cases: what is about no tenant, then tenant by tenant."""
    report = answer.report
    homes: dict[str, str] = {}
    for document in report.judged:
        homes.setdefault(document.name, document.source)
    of_tenant: dict[tuple[str, str], list[Finding]] = {
        (document.source, document.name): [] for document in report.judged
    }
    of_file: dict[str, list[Finding]] = {}
    for one in answer.findings:
        stands = one.primary.file if one.primary else ""
        if one.tenant is not None and one.tenant in homes:
            source = stands if (stands, one.tenant) in of_tenant else homes[one.tenant]
            of_tenant[source, one.tenant].append(one)
        else:
            of_file.setdefault(stands, []).append(one)
    suites: dict[str, list[_Case]] = {}
    for source, findings in of_file.items():
        suites[_name(answer, source)] = _numbered(_cases(answer, findings, None))
    for (source, tenant), findings in of_tenant.items():
        cases = suites.setdefault(_name(answer, source), [])
        cases += _numbered(_cases(answer, findings, tenant))
    return suites


def _name(answer: FindingsAnswer, source: str) -> str:
    path = path_of(answer.report, source)
    return path_text(path) if path else visible(source) or f"knobctl {answer.report.command}"


def _cases(answer: FindingsAnswer, findings: Iterable[Finding], tenant: str | None) -> list[_Case]:
    """A case a finding, those that fail first; infos go with the tenant's own case, or its first."""
    who = f"{tenant}: " if tenant else ""
    cases, notes = [], []
    for one in sorted(findings, key=lambda one: not answer.fails(one)):
        text = finding_text(one, answer.report)
        if one.severity is Severity.INFO and one.counts:
            notes.append(text)
            continue
        case = _Case(f"{who}{one.rule}" + (f" {one.field_path}" if one.field_path else ""))
        _judge(case, one, answer, text)
        cases.append(case)
    if tenant is not None and not any(case.failed for case in cases):
        cases.insert(0, _Case(tenant))
    if notes and not cases:
        cases.append(_Case(answer.report.command))
    if notes:
        cases[0].out += notes
    return cases


def _judge(case: _Case, finding: Finding, answer: FindingsAnswer, text: str) -> None:
    message = headline(finding.message)
    if answer.fails(finding):
        case.failed = True
        case.inside.append(
            f"<failure type={_quoted(finding.severity.value)} message={_quoted(message)}>"
            f"{_escaped(text)}</failure>"
        )
        return
    if finding.waived_by is not None:
        waived = f"waived by {waiver_words(finding.waived_by, answer.report, str)}"
        case.skipped = True
        case.inside.append(f"<skipped message={_quoted(waived)}/>")
    case.out.append(text)


def _numbered(cases: list[_Case]) -> list[_Case]:
    """Make names that repeat distinct, by their order: a line would move."""
    seen: dict[str, int] = {}
    for case in cases:
        seen[case.name] = seen.get(case.name, 0) + 1
        if seen[case.name] > 1:
            case.name += f" ({seen[case.name]})"
    return cases


def _counts(cases: Iterable[_Case]) -> str:
    every = list(cases)
    failed = sum(case.failed for case in every)
    return f'tests="{len(every)}" failures="{failed}" errors="0"'


def _skipped(cases: Iterable[_Case]) -> str:
    return str(sum(case.skipped for case in cases))


def _case(case: _Case, suite: str) -> str:
    head = f"    <testcase name={_quoted(case.name)} classname={_quoted(suite)}"
    inside = [f"      {one}\n" for one in case.inside]
    if case.out:
        words = "\n\n".join(case.out)
        inside.append(f"      <system-out>{_escaped(words)}</system-out>\n")
    return f"{head}>\n{''.join(inside)}    </testcase>\n" if inside else f"{head}/>\n"


def _escaped(text: str) -> str:
    return escape(_legal(visible(text, keep="\n")))


def _quoted(text: str) -> str:
    return quoteattr(_legal(printable(text)))


def _legal(text: str) -> str:
    return _NO_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
