"""`--evidence FILE`: evidence that no document names, attached to a plan."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from knobctl.errors import InputError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from knobctl.cli.session import Session
    from knobctl.documents.repository import Repository

F = TypeVar("F", bound="Callable[..., Any]")


def evidence_option(function: F) -> F:
    """Give a command `--evidence FILE`, repeatable; it receives `evidence`."""
    option = click.option(
        "--evidence",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Attach evidence that no document names, for the tenant or the sample that it measured.",
    )
    return option(function)


def attach(
    session: Session,
    repository: Repository,
    files: Sequence[Path],
    planned: AbstractSet[str] | None = None,
) -> list[str]:
    """Attach files of evidence to what a run plans.

    Args:
        session: The command's surroundings.
        repository: To which they are attached.
        files: As they were typed.
        planned: The tenants that are planned; the judged ones if None.

    Returns:
        What there is to say of those that bear on nothing.

    Raises:
        InputError: If one of them is no evidence.
    """
    if not files:
        return []
    from knobctl.changes.replanning import attached
    from knobctl.checks.evidence_files import NoEvidence
    from knobctl.checks.evidence_record import measured_for
    from knobctl.checks.evidences import Evidences, speaks_for

    root, cwd, notes = repository.root, session.cwd, []
    names = {one.name for one in repository.tenants} if planned is None else planned
    layers = [
        (name, layer)
        for name in names
        for document in repository.documents_of(name)
        for layer in document.layers
    ]
    repository.attach(attached(_named(file, root, cwd), root, cwd) for file in files)
    read = Evidences(repository)
    for one in repository.attached:
        found = read.read(one.path)
        if isinstance(found, NoEvidence):
            raise InputError(
                f"{visible(one.path)} is no evidence: {visible(found.why)}",
                hint="simulate, recommend and calibrate write it: --output FILE",
            )
        record = found.record
        if names.isdisjoint(record.measured_tenants) and not any(
            speaks_for(record, (layer,), name) for name, layer in layers
        ):
            whom = visible(measured_for(record))
            notes.append(
                f"{visible(one.path)} was measured for {whom}, of which nothing is planned"
            )
    return notes


def tell_attached(session: Session, repository: Repository, files: Sequence[Path]) -> None:
    """Attach files of evidence to what the judged tenants plan, and say which of them bear on nothing.

    Raises:
        InputError: If one of them is no evidence.
    """
    for note in attach(session, repository, files):
        session.notice(note)


def _named(file: Path, root: Path, cwd: Path) -> Path:
    """A file as a plan names it: inside the repository from its root, wherever the plan is applied."""
    whole = Path(os.path.normpath(cwd / file))
    return whole.relative_to(root) if whole.is_relative_to(root) else file
