"""`knobctl drift`: a verdict on whether live is what the files say, for people, cron and CI."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING

import click

from knobctl.cli.choosing import answer_errors, choose
from knobctl.cli.options import Settings, bare_set_option, common_options
from knobctl.cli.push_options import parallelism_option
from knobctl.cli.selection import selection_of, selection_options
from knobctl.cli.session import Session
from knobctl.errors import ExitCode, UsageError, gravest

if TYPE_CHECKING:
    from knobctl.changes.drift import Drift
    from knobctl.checks.report import Report
    from knobctl.documents.repository import Repository
    from knobctl.report.drift import Ways


@click.command(name="drift")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@selection_options
@bare_set_option
@click.option(
    "--unmanaged", is_flag=True, help="Name the live sets that no document here asks for, too."
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 for drift and findings too.")
@parallelism_option
@common_options(engine=True, rate=True, formats=("text", "json", "markdown"))
def command(
    settings: Settings,
    paths: tuple[str, ...],
    labels: tuple[str, ...],
    where: str | None,
    tenant: str | None,
    unmanaged: bool,
    exit_zero: bool,
    parallelism: int,
) -> ExitCode:
    """Say whether live is what the files say; where not, which side moved, who did it and when.

    Exit 0: no drift. 3: drift. 4: the files have errors, an expired waiver for instance; where they
    can be read, drift is told all the same. 8: the engine, or a tenant, could not be read.
    """
    from knobctl.changes.drift import find_drift
    from knobctl.changes.preparing import validated
    from knobctl.checks import check_repository

    if unmanaged and (labels or where):
        raise UsageError("--unmanaged is about tenants without a document, and so without labels")
    with Session(settings) as session:
        selection = selection_of((), labels, where)
        repository, fleet = choose(session, paths, tenant=tenant, selection=selection)
        report = validated(repository)
        if report.errors:
            return answer_errors(session, "drift", report, exit_zero=exit_zero)
        # Without live, as the files are judged alone: that live differs is not an error of theirs.
        report = check_repository(
            repository,
            today=session.today,
            fleet=fleet,
            counted={one.name for one in repository.tenants},
        )
        if unmanaged and repository.unread:
            session.notice(f"{repository.unread[0]} cannot be read; its tenants look unmanaged")
        drift = find_drift(repository, session.engine, parallelism=parallelism, unmanaged=unmanaged)
        code = _code(drift, report, exit_zero=exit_zero)
        _answer(
            session,
            drift,
            report,
            code,
            fleet=fleet.name if fleet else None,
            ways=_ways(session, repository, paths, labels, where),
        )
        return code


def _code(drift: Drift, report: Report, *, exit_zero: bool) -> ExitCode:
    code = gravest(
        [
            ExitCode.ENGINE if drift.unread else ExitCode.OK,
            report.exit_code(),
            ExitCode.CHANGES if drift.found else ExitCode.OK,
        ]
    )
    zeroed = exit_zero and code in {ExitCode.CHANGES, ExitCode.FINDINGS}
    return ExitCode.OK if zeroed else code


def _ways(
    session: Session,
    repository: Repository,
    paths: tuple[str, ...],
    labels: tuple[str, ...],
    where: str | None,
) -> Ways:
    from knobctl.documents.repository import repository_root
    from knobctl.report.drift import Ways

    chosen = [*paths]
    for label in labels:
        chosen += ["-l", label]
    chosen += ["--where", where] if where else []
    pulls_here = repository.root.is_relative_to(repository_root(session.cwd)[0])
    return Ways(
        apply=shlex.join(["knobctl", "apply", *chosen]),
        place=session.typed_place,
        pull_from="" if pulls_here else str(repository.root),
    )


def _answer(
    session: Session, drift: Drift, report: Report, code: ExitCode, *, fleet: str | None, ways: Ways
) -> None:
    from knobctl.report.drift import drift_text
    from knobctl.report.drift_comment import drift_comment
    from knobctl.report.drift_json import drift_json
    from knobctl.report.formats import FindingsAnswer

    settings = session.settings
    settings.answer(
        {
            "text": lambda: drift_text(
                drift,
                report,
                ways,
                now=session.now(),
                colored=settings.colored(sys.stdout),
                everything=bool(settings.verbose),
            ),
            "json": lambda: json.dumps(
                drift_json(drift, report, engine=session.engine.name, fleet=fleet, code=code),
                indent=2,
            ),
            "markdown": lambda: drift_comment(
                drift, FindingsAnswer(report=report, code=code), now=session.now()
            ),
        }
    )
