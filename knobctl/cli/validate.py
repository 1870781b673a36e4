"""`knobctl validate`: documents against the JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knobctl.cli.options import Settings, common_options
from knobctl.cli.showing import answer, keep_documents, showing_options, shown
from knobctl.report.formats import FORMATS

if TYPE_CHECKING:
    from knobctl.errors import ExitCode


@click.command(name="validate")
@showing_options
@common_options(formats=tuple(FORMATS))
def command(
    settings: Settings,
    paths: tuple[str, ...],
    tenant: str | None,
    fail_on: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    exit_zero: bool,
) -> ExitCode:
    """Check documents of every kind: syntax, types, ranges, unknown knobs, with line:column.

    PATH is a file, a folder (searched for *.yaml, *.yml, *.json) or - for standard input;
    the working folder if there is none. Policies are asked by `knobctl check`.
    """
    from knobctl.checks.judging import validate_repository
    from knobctl.checks.rules import RULES
    from knobctl.cli.session import Session

    with Session(settings, engine=False) as session:
        repository = session.repository(paths, tenant=tenant, whole=False)
        keep_documents()
        report = validate_repository(repository)
        findings = shown(report, select, ignore, list(RULES))
        return answer(settings, report, findings=findings, fail_on=fail_on, exit_zero=exit_zero)
