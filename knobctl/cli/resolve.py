"""`knobctl resolve`: layers resolved; every effective value with its origin and what it hid."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from knobctl.cli.options import Settings, common_options
from knobctl.cli.selection import selection_of, selection_options, tenants_argument
from knobctl.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.finding import Finding


@click.command(name="resolve")
@tenants_argument
@selection_options
@click.option(
    "--path", "paths", multiple=True, metavar="PATH", help="File or folder to read; repeatable."
)
@click.option(
    "--all", "every_knob", is_flag=True, help="List the knobs at the platform default too."
)
@common_options()
def command(
    settings: Settings,
    tenants: tuple[str, ...],
    labels: tuple[str, ...],
    where: str | None,
    paths: tuple[str, ...],
    every_knob: bool,
) -> ExitCode:
    """Resolve layers: what is in force for each tenant, where it is written, what it hides.

    Without TENANT, every tenant of the documents in --path, or of the working folder.
    """
    from knobctl.checks.selecting import choose_documents
    from knobctl.cli.session import Session
    from knobctl.report.resolved import resolved_json, resolved_text

    with Session(settings, engine=False) as session:
        repository = session.repository(paths)
        fleet = repository.fleet(session.fleet) if session.fleet else None
        claims = repository.tenants_of(fleet)
        chosen = choose_documents(repository, selection_of(tenants, labels, where), claims)
    faults = _faults(repository, chosen)
    code = ExitCode.FINDINGS if faults else ExitCode.OK
    settings.answer(
        {
            "text": lambda: _text(
                settings,
                repository,
                faults,
                resolved_text(
                    map(repository.effective, chosen),
                    every_knob=every_knob,
                    colored=settings.colored(sys.stdout),
                ),
            ),
            # Resolved as it is written, and forgotten then: a fleet's values outweigh its texts.
            "json": lambda: resolved_json(map(repository.effective, chosen), faults, code),
        }
    )
    return code


def _faults(repository: Repository, chosen: Sequence[Document]) -> list[Finding]:
    """Errors by which something that the chosen tenants or their layers write is not in force."""
    from knobctl.checks.report import ordered
    from knobctl.checks.validation import validate_documents
    from knobctl.finding import Severity

    layers = list(
        {id(layer): layer for one in chosen for layer in repository.layers_of(one)}.values()
    )
    validation = validate_documents(
        chosen, layers, repository.catalogue, reading=repository.findings
    )
    used = {document.source for document in (*chosen, *layers)}
    sound = {document.source for document in repository.documents}
    reading = [
        finding
        for finding in repository.findings
        if finding.primary and (finding.primary.file in used or finding.primary.file not in sound)
    ]
    found = {(one.rule, one.primary): one for one in (*reading, *validation.findings)}
    return ordered(one for one in found.values() if one.severity is Severity.ERROR)


def _text(
    settings: Settings, repository: Repository, faults: Sequence[Finding], answer: str
) -> str:
    if not faults:
        return answer
    from knobctl.checks.report import Report
    from knobctl.report.findings import report_text

    report = Report(
        command="resolve",
        pressing=list(faults),
        files=repository.files,
        tenants=len(repository.tenants),
        texts=repository.texts,
    )
    told = report_text(report, colored=settings.colored(sys.stdout))
    return f"{answer}\n\n{told}" if answer else told
