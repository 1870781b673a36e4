"""`knobctl fmt`: canonical names, order and spelling; comments kept."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import ExitCode
from knobctl.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from knobctl.checks.report import Report
    from knobctl.documents.formatting import Formatted
    from knobctl.documents.repository import Repository
    from knobctl.finding import Finding


@click.command(name="fmt")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("--check", is_flag=True, help="Write nothing; name what would change and exit 4.")
@common_options(formats=tuple(FORMATS))
def command(settings: Settings, paths: tuple[str, ...], check: bool) -> ExitCode:
    """Bring documents into canonical form: names, order, spelling. Comments and values stay.

    PATH is a file, a folder or - for standard input, which is answered on standard output.
    A file with errors is left alone and told.
    """
    from knobctl.cli.session import Session
    from knobctl.documents.formatting import format_files

    with Session(settings, engine=False) as session:
        repository = session.repository(paths, whole=False)
    faults = _faults(repository)
    found = format_files(repository, {fault.primary.file for fault in faults if fault.primary})
    differing = [one for one in found if one.differs]
    piped = next((one for one in found if one.path is None), None)
    if check:
        faults += [one.finding() for one in differing]
    else:
        for one in differing:
            if one.path is not None:
                one.write()
    code = ExitCode.FINDINGS if faults else ExitCode.OK
    if piped and not check and settings.format == "text":
        sys.stdout.buffer.write(piped.text.encoded(piped.canonical))
        return code
    settings.answer(
        {
            **_findings(repository, faults, code),
            "text": lambda: _text(settings, repository, faults, () if check else differing),
            "json": lambda: _json(repository, faults, differing, code, written=not check),
        }
    )
    if not check:
        settings.say(f"{len(differing)} of {repository.files} files written")
    return code


def _faults(repository: Repository) -> list[Finding]:
    """What is wrong inside files; what they claim of one another does not touch their form."""
    from knobctl.checks.report import ordered
    from knobctl.checks.validation import validate_documents
    from knobctl.documents.claims import CLAIM_RULES
    from knobctl.finding import Severity

    validation = validate_documents(
        repository.judged, (), repository.catalogue, reading=repository.findings
    )
    return ordered(
        finding
        for finding in (*repository.findings, *validation.findings)
        if finding.severity is Severity.ERROR and finding.rule not in CLAIM_RULES
    )


def _report(repository: Repository, faults: Sequence[Finding]) -> Report:
    from knobctl.checks.report import Report

    return Report(
        command="fmt",
        pressing=list(faults),
        files=repository.files,
        tenants=len(repository.tenants),
        texts=repository.texts,
        names=repository.names,
        below=repository.below,
        judged=repository.tenants,
    )


def _findings(
    repository: Repository, faults: Sequence[Finding], code: ExitCode
) -> dict[str, Callable[[], str | Iterable[str]]]:
    """The answer in the formats of findings."""
    from knobctl.report.formats import FindingsAnswer, render

    told = FindingsAnswer(report=_report(repository, faults), code=code)
    return {name: partial(render, name, told) for name in FORMATS}


def _text(
    settings: Settings,
    repository: Repository,
    faults: Sequence[Finding],
    written: Sequence[Formatted],
) -> str:
    from knobctl.report.findings import findings_text
    from knobctl.text import visible

    blocks = [visible(one.source) for one in written]
    if faults:
        report = _report(repository, faults)
        blocks.append(findings_text(report, colored=settings.colored(sys.stdout)))
    return "\n".join(blocks)


def _json(
    repository: Repository,
    faults: Sequence[Finding],
    differing: Sequence[Formatted],
    code: ExitCode,
    *,
    written: bool,
) -> str:
    answer = {
        "version": 1,
        "command": "fmt",
        "outcome": code.outcome,
        "exit_code": int(code),
        "files": repository.files,
        "changed": [one.source for one in differing],
        "written": written,
        "findings": [fault.as_json() for fault in faults],
    }
    return json.dumps(answer, indent=2)
