"""Findings as a GitLab code quality report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from knobctl.finding import Severity
from knobctl.report.checkout import anchor, gravest_first, path_of, path_text
from knobctl.report.fingerprints import fingerprints
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
    report = answer.report
    path = anchor(report, finding)
    place = finding.primary
    own = place if place and path_of(report, place.file) == path else None
    return {
        "description": _description(answer, finding),
        "check_name": finding.rule,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity] if finding.counts else "info",
        "location": {
            "path": path_text(path) if path else "-",
            "lines": {"begin": own.line if own else 1},
        },
    }


def _description(answer: FindingsAnswer, finding: Finding) -> str:
    """One line: whom it is about, what is, what to write, and why it fails nothing."""
    words = [f"{finding.tenant}: " if finding.tenant else "", finding.message.partition("\n")[0]]
    if finding.hint:
        words.append(f" ({finding.hint})")
    if finding.waived_by is not None:
        until = answer.report.waivers.get(finding.waived_by)
        words.append(f" [waived by {finding.waived_by}{f', until {until}' if until else ''}]")
    if finding.standing:
        words.append(" [standing: the base has it too]")
    return printable("".join(words))
