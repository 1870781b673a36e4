"""Which documents and tenants a command is about, and the answer where they have errors."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from knobctl.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knobctl.changes.limits import Limits
    from knobctl.changes.preparing import Prepared
    from knobctl.checks.report import Report
    from knobctl.checks.selecting import Selection
    from knobctl.cli.session import Session
    from knobctl.documents.filing import Filing
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.documents.sources import Files


def choose(
    session: Session,
    paths: Sequence[str],
    *,
    tenant: str | None = None,
    selection: Selection | None = None,
    indexed: bool = True,
) -> tuple[Repository, Document | None]:
    """Read what PATHs name, and keep the chosen tenants that belong to the fleet that applies.

    Returns:
        The repository, only those tenants judged; the fleet.
    """
    filing = filing_for(session, selection) if indexed else None
    return chosen_of(session, session.repository(paths, tenant=tenant, filing=filing), selection)


def filing_for(
    session: Session, selection: Selection | None
) -> Callable[[Repository, Files], Filing]:
    """How a large repository is opened whose tenants, all of them or a few, are compared with the engine."""
    whole = selection is None or selection.is_open
    return session.filing_and_live if whole else session.filing


def chosen_of(
    session: Session, repository: Repository, selection: Selection | None
) -> tuple[Repository, Document | None]:
    """Keep the chosen tenants of a repository that belong to the fleet that applies; as `choose`."""
    from knobctl.changes.preparing import fleet_of, narrowed

    fleet = fleet_of(repository, session.fleet)
    return narrowed(repository, fleet, selection), fleet


def surroundings(session: Session, *, wanted: bool, indexed: bool = False) -> Repository:
    """The repository of the working folder, whose policies, waivers and fleets hold.

    Args:
        session: The command's surroundings.
        wanted: Whether the folder is read even if nothing marks it as a repository. Where nothing
            does and nobody wants it, an empty one is given: a home folder is not searched.
        indexed: Whether of tenants only what the index knows is wanted, their sets above all.
    """
    from knobctl.documents.repository import Repository, repository_root
    from knobctl.documents.settings import read_settings
    from knobctl.documents.sources import WorkingTree

    root, marked = repository_root(session.cwd)
    settings = read_settings(root)
    if not (marked or wanted):
        return Repository(root, session.catalogue, settings)
    filing = session.filing if indexed else None
    return session.repository((str(root),), files=WorkingTree(root), filing=filing)


def limits_for(
    session: Session,
    fleet: Document | None,
    *,
    max_tenants: int | None = None,
    max_share: str | None = None,
    max_pruned: int | None = None,
) -> Limits:
    """The limits of the fleet, of the command line, and of a context that is marked production."""
    from knobctl.changes.limits import ContextRules, limits_of

    return limits_of(
        fleet,
        max_tenants=max_tenants,
        max_share=max_share,
        max_pruned=max_pruned,
        context=ContextRules(
            name=session.target.context,
            production=session.production,
            ticket_pattern=session.target.ticket_pattern,
        )
        if session.target.context
        else None,
    )


def prepared_for(
    session: Session,
    repository: Repository,
    fleet: Document | None,
    limits: Limits,
    *,
    parallelism: int,
) -> Prepared:
    """Validate, read live, check, and plan what the judged tenants want."""
    from knobctl.changes.preparing import prepare

    prepared = prepare(
        repository,
        lambda: session.engine,
        today=session.today,
        fleet=fleet,
        limits=limits,
        parallelism=parallelism,
        everything=bool(session.settings.verbose),
    )
    tell_unjudged(session, prepared.report)
    return prepared


def tell_unjudged(session: Session, report: Report) -> None:
    """With `-v` say what a fleet demands of evidence and nobody could judge."""
    for note in report.unjudged:
        session.settings.say_more(note)


def findings_text(session: Session, report: Report) -> str:
    """Errors and warnings as text; infos and what is waived with `-v`: a push is about what matters now."""
    from knobctl.finding import Severity
    from knobctl.report.findings import findings_text as rendered

    shown = [
        one
        for one in report.pressing
        if one.severity is not Severity.INFO and one.waived_by is None
    ]
    if session.settings.verbose:
        shown = report.findings
    return rendered(
        report,
        colored=session.settings.colored(sys.stdout),
        shown=shown,
        briefly=not session.settings.verbose,
    )


def answer_errors(
    session: Session, command: str, report: Report, *, exit_zero: bool = False
) -> ExitCode:
    """Answer with the errors that stopped a command; nothing was written."""
    code = ExitCode.OK if exit_zero else ExitCode.FINDINGS
    document = {
        "version": 1,
        "command": command,
        "outcome": code.outcome,
        "exit_code": int(code),
        "tenants": [],
        "findings": [finding.as_json() for finding in report.findings],
    }
    session.settings.answer(
        {
            "text": lambda: findings_text(session, report),
            "json": lambda: json.dumps(document, indent=2),
            "markdown": lambda: _markdown(replace(report, command=command), code),
        }
    )
    return code


def _markdown(report: Report, code: ExitCode) -> str:
    from knobctl.report.formats import FindingsAnswer
    from knobctl.report.markdown import render

    return render(FindingsAnswer(report=report, code=code))
