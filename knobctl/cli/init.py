"""`knobctl init`: a knob repository to start from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import ExitCode, RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.documents.scaffold import Scaffolded


@click.command(name="init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option(
    "--source",
    metavar="REQUIREMENT",
    help="Where pipelines get knobctl from, as a line of pip's requirements; left out: from where "
    "this one was installed, if pipelines can get there too.",
)
@click.option("--dry-run", is_flag=True, help="Name the files; write nothing.")
@common_options()
def command(settings: Settings, folder: Path, source: str | None, dry_run: bool) -> ExitCode:
    """Make a knob repository to start from, in DIR or the working folder.

    Two tenants, a layer, a policy of one's own, limits of a push, CI files for GitHub and GitLab,
    commit hooks and schemas for editors. It passes its own gate and shows one warning to learn
    from. Files that are there stay as they are.
    """
    from knobctl.documents.scaffold import scaffold, scaffold_files
    from knobctl.text import visible

    if settings.schema:
        raise UsageError(
            "init writes tenants with the knobs that ship with knobctl, not those of --schema",
            hint='make it without, then name the schema in knobctl.toml: schema = "FILE"',
        )
    source = _line(source) if source is not None else _installed_from()
    files = scaffold_files(source)
    _refuse_a_repository(settings, folder, files)
    _say_where_pipelines_look(settings, folder)
    try:
        made = scaffold(folder, files, write=not dry_run)
    except OSError as error:
        raise UsageError(
            f"{visible(str(error.filename or folder))} cannot be written: {error.strerror}",
            hint="name a folder that you may write to",
        ) from error
    settings.answer(
        {
            "text": lambda: _text(folder, made, source, dry_run=dry_run),
            "json": lambda: _json(folder, made, source, dry_run=dry_run),
        }
    )
    return ExitCode.OK


def _line(source: str) -> str:
    """One requirement, which pip reads as one."""
    from knobctl.text import visible

    line = source.strip()
    if not line or line != visible(line):
        raise click.BadParameter(
            f"{visible(source)!r} must be one line of text", param_hint="--source"
        )
    return line


def _installed_from() -> str | None:
    """From where this knobctl was installed, as a requirement; None where a pipeline cannot get there.

    An index leaves no record but the version; a repository and an archive leave their address (PEP 610).
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        installed = distribution("knobctl")
    except PackageNotFoundError:
        return None
    record = installed.read_text("direct_url.json")
    return requirement_of(json.loads(record) if record else None, installed.version)


def requirement_of(record: dict[str, object] | None, version: str) -> str | None:
    """What installs again what a record of an installation says (PEP 610).

    Args:
        record: Its `direct_url.json`; None where there is none, as after an installation from an index.
        version: The version installed.
    """
    if record is None:
        return f"knobctl=={version}"
    url = str(record.get("url", ""))
    if not url.startswith("https://"):
        return None
    match record.get("vcs_info"):
        case {"vcs": str(system), "commit_id": str(commit)}:
            return f"knobctl @ {system}+{url}@{commit}"
        case _:
            return f"knobctl @ {url}"


def _refuse_a_repository(settings: Settings, folder: Path, files: Mapping[str, str]) -> None:
    """Leave a repository alone that is one already: tenants to learn from have no place in it.

    Documents just as they would be written are those of an earlier run that was interrupted.
    """
    from knobctl.cli.session import Session
    from knobctl.documents.repository import repository_root
    from knobctl.documents.settings import SETTINGS_FILE
    from knobctl.documents.sources import WorkingTree
    from knobctl.text import count, visible

    if os.path.exists(folder) and not os.path.isdir(folder):  # noqa: PTH110, PTH112  no error in a locked folder
        raise UsageError(f"{visible(str(folder))} is no folder")
    root, _ = repository_root(folder.absolute())
    hint = (
        "Nothing was written. Make one in an empty folder, and take from it what is missing here."
    )
    if os.path.lexists(root / SETTINGS_FILE):
        raise RefusedError(
            f"{visible(str(root))} is a knob repository already ({SETTINGS_FILE}).", hint=hint
        )
    if os.path.isdir(folder):  # noqa: PTH112
        with Session(settings, engine=False) as session:
            tree = WorkingTree(folder.absolute())
            found = session.repository([str(folder)], whole=False, files=tree)
        others = [
            one
            for one in found.judged
            if one.text.text != files.get(found.names.get(one.source, ""))
        ]
        if others:
            raise RefusedError(
                f"{visible(str(folder))} holds {count(len(others), 'document')} of knobctl "
                f"already ({visible(others[0].source)}).",
                hint=hint,
            )


def _say_where_pipelines_look(settings: Settings, folder: Path) -> None:
    from knobctl.documents.repository import repository_root
    from knobctl.text import visible

    root, is_marked = repository_root(folder.absolute())
    if is_marked and root != folder.absolute():
        settings.say(
            f"note: GitHub, GitLab and pre-commit read their files at the root of the Git repository, "
            f"{visible(str(root))}: move them there, and name the folder in their commands"
        )


def _text(folder: Path, made: Scaffolded, source: str | None, *, dry_run: bool) -> str:
    import shlex

    from knobctl.documents.scaffold import REQUIREMENTS
    from knobctl.text import count, visible

    here = folder == Path()
    did = "would be written" if dry_run else "written"
    where = "here" if here else f"to {visible(str(folder))}"
    lines = [f"{count(len(made.written), 'file')} {did} {where}"]
    lines += [f"  {name}" for name in made.written]
    if made.left:
        lines.append(f"left as they are: {', '.join(made.left)}")
    if source is None and REQUIREMENTS in made.written:
        lines.append(
            f"say in {REQUIREMENTS} where pipelines get knobctl from; this one came from no place "
            "that they can reach"
        )
    if not dry_run:
        lines += [
            f"try  {'' if here else f'cd {shlex.quote(str(folder))} && '}knobctl check",
            "     knobctl explain retrieval_min_score 0.45",
            '     knobctl apply . --yes --reason "first try" --engine embedded:engine.db',
        ]
    return "\n".join(lines)


def _json(folder: Path, made: Scaffolded, source: str | None, *, dry_run: bool) -> str:
    document = {
        "version": 1,
        "command": "init",
        "outcome": ExitCode.OK.outcome,
        "exit_code": int(ExitCode.OK),
        "folder": str(folder),
        "dry_run": dry_run,
        "written": list(made.written),
        "left": list(made.left),
        "source": source,
    }
    return json.dumps(document, indent=2)
