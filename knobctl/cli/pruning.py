"""`apply --prune`: the options, and what must hold before tenants without a document are looked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from knobctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knobctl.checks.report import Report
    from knobctl.cli.session import Session
    from knobctl.documents.repository import Repository

F = TypeVar("F", bound="Callable[..., Any]")


def prune_options(function: F) -> F:
    """Give a command `--prune` and `--max-pruned`; it receives `prune` and `max_pruned`."""
    options = [
        click.option(
            "--prune",
            is_flag=True,
            help="Reset live tenants that no document of the repository asks for, too.",
        ),
        click.option(
            "--max-pruned",
            type=click.IntRange(min=0),
            metavar="N",
            help="Refuse where more tenants would be reset so; none may, where nothing says.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def refuse_to_choose(*, prune: bool, max_pruned: int | None, chosen: bool, resumes: bool) -> None:
    """Refuse what --prune does not go with.

    Args:
        prune: Whether it was given.
        max_pruned: Its limit, if one was given.
        chosen: Whether tenants are chosen or a plan is applied.
        resumes: Whether a run is resumed, which prunes what it was to prune.

    Raises:
        UsageError: If they do not go together.
    """
    if max_pruned is not None and not (prune or resumes):
        raise UsageError("--max-pruned says nothing without --prune")
    if prune and (chosen or resumes):
        raise UsageError(
            "--prune is about the whole repository; it goes with no plan, run, --tenant, -l or --where"
        )


def faults_of_all(session: Session, repository: Repository, paths: Sequence[str]) -> Report | None:
    """What is wrong anywhere in the repository, so that a tenant may stand there unseen; None where nothing is.

    Raises:
        UsageError: If PATHs name a part of a repository.
        InputError: If a file that may hold a tenant cannot be read.
    """
    from knobctl.changes.pruning import refuse_part
    from knobctl.checks import validate_repository
    from knobctl.documents.repository import repository_root

    looked_at = [session.cwd / path for path in paths or ["."]]
    part = next((one for one in looked_at if one.resolve() != repository.root.resolve()), None)
    refuse_part(
        repository, part or Path(repository.root), marked=repository_root(repository.root)[1]
    )
    report = validate_repository(repository)
    return report if report.errors else None
