"""`knobctl diff`: what would change, field by field, resets first."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knobctl.cli.choosing import answer_errors, choose
from knobctl.cli.options import Settings, bare_set_option, common_options
from knobctl.cli.push_options import parallelism_option
from knobctl.cli.selection import selection_of, selection_options
from knobctl.cli.session import Session
from knobctl.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.changes.comparing import TenantDiff
    from knobctl.documents.repository import Repository


@click.command(name="diff")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@selection_options
@click.option(
    "--base",
    metavar="REV",
    help="Compare with a Git revision, from where HEAD left it, instead of the engine.",
)
@bare_set_option
@click.option(
    "--paths",
    "style",
    type=click.Choice(["field", "pointer"]),
    default="field",
    show_default=True,
    help="Spell paths as the audit event does, or as JSON pointers.",
)
@click.option("--exit-code", is_flag=True, help="Exit 3 where something differs.")
@parallelism_option
@common_options(engine=True, rate=True, formats=("text", "json", "markdown"))
def command(
    settings: Settings,
    paths: tuple[str, ...],
    labels: tuple[str, ...],
    where: str | None,
    base: str | None,
    tenant: str | None,
    style: str,
    exit_code: bool,
    parallelism: int,
) -> ExitCode:
    """Show what would change: files against live, against Git, or one file against another.

    Two files that hold the same tenant are compared with each other, without an engine.
    """
    from knobctl.changes.comparing import (
        diff_base,
        diff_files,
        diff_live,
        live_sets,
        removed_tenants,
    )
    from knobctl.changes.preparing import validated

    with Session(settings, engine=base is None) as session:
        two = _two_files(session, paths, tenant) if base is None else None
        selection = selection_of((), labels, where)
        here, fleet = (
            (two[1], None)
            if two
            else choose(session, paths, tenant=tenant, selection=selection, indexed=base is None)
        )
        for repository in two or (here,):
            report = validated(repository)
            if report.errors:
                return answer_errors(session, "diff", report)
        removed: list[str] = []
        if two:
            diffs = [diff_files(*two)]
        elif base is not None:
            earlier = session.base(here, base, paths, tenant=tenant)
            diffs = diff_base(here, earlier)
            removed = removed_tenants(here, earlier, fleet, selection)
        else:
            diffs = diff_live(here, live_sets(here, session.engine, parallelism=parallelism))
        return _answer(session, diffs, removed, style=style, exit_code=exit_code)


def _two_files(
    session: Session, paths: Sequence[str], tenant: str | None
) -> tuple[Repository, Repository] | None:
    """The two files to compare with each other, if these are two files about one tenant."""
    from knobctl.changes.comparing import alone, same_tenant

    if len(paths) != 2 or not all(Path(path).is_file() for path in paths):
        return None
    left, right = (alone(session.repository([path], tenant=tenant, whole=False)) for path in paths)
    return (left, right) if same_tenant(left, right) else None


def _answer(
    session: Session,
    diffs: Sequence[TenantDiff],
    removed: Sequence[str],
    *,
    style: str,
    exit_code: bool,
) -> ExitCode:
    from knobctl.changes.paths import PathStyle
    from knobctl.report.changes import diff_json, diff_text, removed_text
    from knobctl.report.changes_comment import diff_comment

    spelling = PathStyle(style)
    differs = any(diff.changes for diff in diffs)
    code = ExitCode.CHANGES if differs and exit_code else ExitCode.OK
    colored = session.settings.colored(sys.stdout)
    session.settings.answer(
        {
            "text": lambda: (
                diff_text(diffs, now=session.now(), colored=colored, style=spelling)
                + removed_text(removed)
            ),
            "json": lambda: json.dumps(
                diff_json(diffs, code=code, style=spelling, removed=removed), indent=2
            ),
            "markdown": lambda: diff_comment(diffs, removed=removed, style=spelling),
        }
    )
    return code
