"""`knobctl pull`: live sets into YAML files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knobctl.cli.choosing import answer_errors, surroundings
from knobctl.cli.consent import confirmed, require_consent
from knobctl.cli.options import Settings, common_options
from knobctl.cli.selection import selection_of, selection_options, tenants_argument
from knobctl.cli.session import Session
from knobctl.errors import ExitCode, RefusedError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.changes.pulling import Pulled
    from knobctl.engine.interface import LiveSet

_NAMED: Final = 5
"""How many tenants a note names."""


@click.command(name="pull")
@tenants_argument
@selection_options
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where files of new tenants go; else the folder `tenants` of the repository, else its root.",
)
@click.option("--yes", is_flag=True, help="Consent to the edits shown.")
@click.option("--dry-run", is_flag=True, help="Show the edits; write nothing.")
@common_options(engine=True)
def command(
    settings: Settings,
    tenants: tuple[str, ...],
    labels: tuple[str, ...],
    where: str | None,
    into: Path | None,
    yes: bool,
    dry_run: bool,
) -> ExitCode:
    """Write live sets into YAML files: layers kept, only deltas written.

    Documents that exist are edited byte by byte; tenants without one get a file of their own.
    Without TENANT, every tenant that the token opens. Nothing is overwritten without consent.
    """
    from knobctl.changes.preparing import fleet_of
    from knobctl.changes.pulling import pull_sets, written_sets
    from knobctl.checks import validate_repository
    from knobctl.cli.live import live_sets

    require_consent(yes=yes or dry_run, what="pull")
    with Session(settings) as session:
        repository = surroundings(session, wanted=True)
        report = validate_repository(repository)
        if report.errors:
            return answer_errors(session, "pull", report)
        fleet = fleet_of(repository, session.fleet)
        chosen = live_sets(session, selection_of(tenants, labels, where))
        live, yet = written_sets(repository, fleet, [one.live for one in chosen])
        if yet:
            shown = ", ".join(yet[:_NAMED]) + (", ..." if len(yet) > _NAMED else "")
            session.notice(
                f"{count(len(yet), 'tenant')} never written on the engine ({shown}): the documents stay as they are"
            )
        folder = _folder(repository.root, into, session.cwd)
        pulled = pull_sets(
            repository, fleet, live, folder=folder, shown=_shown(folder, session.cwd)
        )
        code = _carry_out(session, pulled, yes=yes, dry_run=dry_run)
        _answer(session, live, pulled, code, dry_run=dry_run)
        return code


def _folder(root: Path, into: Path | None, cwd: Path) -> Path:
    if into is not None:
        return cwd / into
    return root / "tenants" if (root / "tenants").is_dir() else root


def _shown(folder: Path, cwd: Path) -> str:
    shown = os.path.relpath(folder, cwd)
    return "" if shown == "." else f"{shown}/"


def _carry_out(session: Session, pulled: Pulled, *, yes: bool, dry_run: bool) -> ExitCode:
    from knobctl.changes.file_edits import prove_edits
    from knobctl.report.files import files_text

    if dry_run or not pulled.edits:
        return ExitCode.OK
    if not yes:
        colored = session.settings.colored(sys.stderr)
        click.echo(files_text(pulled.edits, colored=colored), err=True)
        if not confirmed(f"Write {count(len(pulled.edits), 'file')}?"):
            raise RefusedError("not confirmed; nothing was written.")
    prove_edits(pulled.edits)
    for edit in pulled.edits:
        edit.write()
    return ExitCode.OK


def _answer(
    session: Session, live: Sequence[LiveSet], pulled: Pulled, code: ExitCode, *, dry_run: bool
) -> None:
    from knobctl.report.files import files_json, files_text

    def text() -> str:
        colored = session.settings.colored(sys.stdout)
        lines = [files_text(pulled.edits, colored=colored)] if pulled.edits else []
        lines += [f"note: {visible(note)}" for note in pulled.notes]
        edited = sum(len(edit.tenants) for edit in pulled.edits)
        did = "would be written" if dry_run else "written"
        lines.append(
            f"{count(len(live), 'tenant')}: {edited:,} {did} to {count(len(pulled.edits), 'file')}, "
            f"{len(live) - edited:,} as the files have them"
        )
        return "\n".join(lines)

    document = {
        "version": 1,
        "command": "pull",
        "outcome": code.outcome,
        "exit_code": int(code),
        "engine": session.engine.name,
        "dry_run": dry_run,
        "tenants": [
            {"tenant": one.tenant, "revision": one.revision, "file": pulled.files.get(one.tenant)}
            for one in live
        ],
        "files": files_json(pulled.edits, written=[] if dry_run else pulled.edits),
        "notes": list(pulled.notes),
    }
    session.settings.answer({"text": text, "json": lambda: json.dumps(document, indent=2)})
