"""Documents for tests: read from a text, validated, checked, without files."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knobctl.checks.judging import check_repository
from knobctl.documents.kinds import sort_documents
from knobctl.documents.reader import read_text
from knobctl.documents.repository import Repository
from knobctl.documents.settings import RepositorySettings
from knobctl.knobs import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.checks.report import Report
    from knobctl.finding import Finding
    from knobctl.knobs import Catalogue, KnobValue

TODAY = date(2026, 11, 29)


def repository(text: str, catalogue: Catalogue | None = None, **settings: Any) -> Repository:
    """A repository of one file, all of it judged."""
    read = read_text(text, "t.yaml")
    found = sort_documents(read, named=True)
    one = Repository(
        Path("/nowhere"),
        catalogue or load_catalogue(),
        RepositorySettings(**settings),
        findings=found.findings,
        files=1,
        names={"t.yaml": "t.yaml"},
        texts={"t.yaml": read},
    )
    one.take(found.documents, judged=True)
    return one


def checked(
    text: str,
    *,
    live: Mapping[str, KnobValue] | None = None,
    base: str | None = None,
    today: date = TODAY,
    **settings: Any,
) -> Report:
    """Check a text; `live` is what the engine holds for acme."""
    return check_repository(
        repository(text, **settings),
        today=today,
        live={"acme": live} if live is not None else None,
        base=repository(base, **settings) if base is not None else None,
    )


def acme(**knobs: object) -> str:
    """A tenant with these knobs, one a line, from line 3 on."""
    if not knobs:
        return "tenant: acme\nknobs: {}\n"
    return "tenant: acme\nknobs:\n" + "".join(
        f"  {name}: {value}\n" for name, value in knobs.items()
    )


def by_rule(report: Report) -> dict[str, Finding]:
    """The findings by rule; the first of each."""
    found: dict[str, Finding] = {}
    for finding in report.findings:
        found.setdefault(finding.rule, finding)
    return found


def place(finding: Finding) -> str:
    """`line:column` of a finding."""
    assert finding.primary is not None
    return f"{finding.primary.line}:{finding.primary.column}"
