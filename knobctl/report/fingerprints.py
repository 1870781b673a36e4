"""Names for findings that stay while lines move and values change, so that a host knows them again."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from knobctl.report.checkout import anchor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.checks.report import Report
    from knobctl.finding import Finding


def fingerprints(report: Report, findings: Sequence[Finding]) -> list[str]:
    """Give each finding a name of its own: of its rule, tenant, field path and file, without line or value.

    Args:
        report: What they are part of.
        findings: Findings, in any order: those that share all of that are numbered by place.

    Returns:
        Digests of 64 hexadecimal digits, in the order of the findings.
    """
    by_place = sorted(range(len(findings)), key=lambda at: _place(findings[at]))
    seen: dict[tuple[str, ...], int] = {}
    found = [""] * len(findings)
    for at in by_place:
        one = findings[at]
        key = (one.rule, one.tenant or "", one.field_path or "", anchor(report, one) or "")
        seen[key] = seen.get(key, 0) + 1
        words = "\0".join((*key, str(seen[key])))
        found[at] = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    return found


def _place(finding: Finding) -> tuple[str, int, int]:
    place = finding.primary
    return (place.file, place.line, place.column) if place else ("", 0, 0)
