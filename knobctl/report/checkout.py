"""Where a finding stands for a code host: the file by its name in the checkout, gravest first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from knobctl.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knobctl.checks.report import Report
    from knobctl.finding import Finding, Location

_STDIN = "<stdin>"


def path_of(report: Report, source: str) -> str | None:
    """A file's name in the checkout; None where it is no file of the repository, as standard input is none."""
    name = report.names.get(source)
    return None if name is None or name == _STDIN else report.below + name


def anchor(report: Report, finding: Finding) -> str | None:
    """The file at which a code host shows a finding: its own, else its tenant's, else the first judged one.

    A code host refuses a whole report for one finding without a file.
    """
    own = path_of(report, finding.primary.file) if finding.primary else None
    if own is not None:
        return own
    of_tenant = (one.source for one in report.judged if one.name == finding.tenant)
    found = (path_of(report, source) for source in (*of_tenant, *report.names))
    return next((path for path in found if path is not None), None)


def anchored(report: Report, finding: Finding) -> tuple[str | None, Location | None]:
    """That file, and the finding's place in it; None where it only stands for the finding."""
    path, place = anchor(report, finding), finding.primary
    return path, place if place and path_of(report, place.file) == path else None


def path_text(path: str) -> str:
    """A file's name as text: bytes that are none, and what drives a terminal, by their escapes."""
    return printable(os.fsencode(path).decode("utf-8", "backslashreplace"))


def is_whole_file(place: Location) -> bool:
    """Whether a place says no more than the file: nothing, at its very beginning."""
    return (place.line, place.column) == (place.end_line, place.end_column) == (1, 1)


def gravest_first(findings: Iterable[Finding]) -> list[Finding]:
    """Order findings by what they weigh: what counts, by severity; then waived ones, standing ones."""
    return sorted(
        findings,
        key=lambda one: (one.standing, one.waived_by is not None, one.severity.rank),
    )
