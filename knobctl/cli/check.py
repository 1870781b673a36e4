"""`knobctl check`: validate, then the policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knobctl.cli.options import Settings, common_options
from knobctl.cli.showing import answer, keep_documents, showing_options, shown
from knobctl.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.cli.session import Session
    from knobctl.documents.repository import Repository
    from knobctl.errors import ExitCode
    from knobctl.knobs import KnobValue


@click.command(name="check")
@showing_options
@click.option(
    "--base",
    metavar="REV",
    help="A Git revision: what it has too is standing, comes last and fails nothing.",
)
@click.option("--live", is_flag=True, help="Add the engine's state: what a push would reset.")
@common_options(engine=True, formats=tuple(FORMATS))
def command(
    settings: Settings,
    paths: tuple[str, ...],
    tenant: str | None,
    fail_on: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    exit_zero: bool,
    base: str | None,
    live: bool,
) -> ExitCode:
    """Validate documents, then say what the values do: the policies, with the arithmetic.

    PATH is a file, a folder (searched for *.yaml, *.yml, *.json) or - for standard input;
    the working folder if there is none. Warnings fail the run with --fail-on warning only.
    """
    from knobctl.checks.judging import check_repository
    from knobctl.checks.policies import rule_ids
    from knobctl.cli.session import Session

    with Session(settings, engine=live) as session:
        whole = session.repository(paths, tenant=tenant)
        repository = whole.within(whole.fleet(session.fleet) if session.fleet else None)
        keep_documents()
        report = check_repository(
            repository,
            today=session.today,
            live=_live_sets(session, repository) if live else None,
            base=_base(session, repository, base, paths, tenant) if base is not None else None,
            fleet=session.fleet,
        )
        findings = shown(report, select, ignore, rule_ids(repository.policies))
        return answer(
            settings, report, findings=findings, fail_on=fail_on, exit_zero=exit_zero, base=base
        )


def _live_sets(session: Session, repository: Repository) -> Mapping[str, Mapping[str, KnobValue]]:
    from knobctl.engine.reading import read_all

    found = read_all(session.engine, [tenant.name for tenant in repository.tenants])
    return {name: live.knobs for name, live in found.items()}


def _base(
    session: Session,
    repository: Repository,
    revision: str,
    paths: tuple[str, ...],
    tenant: str | None,
) -> Repository:
    from knobctl.documents.revisions import GitTree

    with GitTree(repository.root, revision) as tree:
        return session.repository(paths, tenant=tenant, files=tree)
