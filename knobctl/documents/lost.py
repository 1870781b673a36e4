"""What is told of files in which a rule may be lost: that none stands in them, nobody could say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from knobctl.documents.model import RULE_KINDS
from knobctl.finding import Finding, Location, Severity

if TYPE_CHECKING:
    from knobctl.documents.kinds import Sorted
    from knobctl.documents.model import Kind


def unreadable(source: str, error: OSError) -> Finding:
    """Say that a file, or with a `/` at its end a folder, cannot be read."""
    return Finding(
        rule="unreadable-file",
        severity=Severity.ERROR,
        message=f"the {'folder' if source.endswith('/') else 'file'} cannot be read: {error.strerror}",
        primary=Location(source, 1, 1, 1, 1),
    )


def about_rules(found: Sorted, *, lost: bool) -> list[Finding]:
    """What is wrong with the policies and waivers of a text.

    Args:
        found: The documents of the text, and all that is wrong with them.
        lost: Whether what became no document may have been a policy.
    """
    inside = [one for one in found.findings if _around(one, found) in RULE_KINDS]
    return [*inside, *lost_in(found)] if lost else inside


def lost_in(found: Sorted) -> list[Finding]:
    """What is wrong with a text where it became no document."""
    return [
        finding
        for finding in found.findings
        if finding.severity is Severity.ERROR
        and finding.rule != "empty-document"
        and _around(finding, found) is None
    ]


def _around(finding: Finding, found: Sorted) -> Kind | None:
    """The kind of the document in which a finding stands; None where it stands in none."""
    at = finding.primary.line if finding.primary else 0
    for one in found.documents:
        span = one.text.location(one.tree.spot.start, one.tree.spot.end)
        if span.line <= at <= span.end_line:
            return one.kind
    return None


def as_lost(finding: Finding) -> Finding:
    """Say of a file that nobody asked about why it is told: a rule may stand in it."""
    words = f"{finding.message}; what policy may stand in it is not known, so nothing passes"
    return replace(finding, message=words)
