"""Findings as a GitLab code quality report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from knobctl.finding import Severity
from knobctl.report.checkout import anchored, gravest_first, path_text
from knobctl.report.fingerprints import fingerprints
from knobctl.report.message import headline
from knobctl.report.summary import waiver_words
from knobctl.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.finding import Finding
    from knobctl.report.formats import FindingsAnswer

_SEVERITIES: Final = {
    Severity.ERROR: "critical",
    Severity.WARNING: "minor",
    Severity.INFO: "info",
}


def render(answer: FindingsAnswer) -> Iterator[str]:
    """Write the report in pieces: one list."""
    findings = gravest_first(answer.findings)
    between = "["
    for finding, fingerprint in zip(findings, fingerprints(answer.report, findings), strict=True):
        yield f"{between}\n  {json.dumps(_entry(answer, finding, fingerprint))}"
        between = ","
    yield "\n]" if findings else "[]"


def _entry(answer: FindingsAnswer, finding: Finding, fingerprint: str) -> dict[str, Any]:
    path, place = anchored(answer.report, finding)
    return {
        "description": _description(answer, finding),
        "check_name": finding.rule,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity] if finding.counts else "info",
        "location": {
            "path": path_text(path) if path else "-",
            "lines": {"begin": place.line if place else 1},
        },
    }


def _description(answer: FindingsAnswer, finding: Finding) -> str:
    """One line: whom it is about, what is, what to write, and why it fails nothing."""
    words = [f"{finding.tenant}: " if finding.tenant else "", headline(finding.message)]
    if finding.hint:
        words.append(f" ({finding.hint})")
    if finding.waived_by is not None:
        words.append(f" [waived by {waiver_words(finding.waived_by, answer.report, str)}]")
    if finding.standing:
        words.append(" [standing: the base has it too]")
    return printable("".join(words))
