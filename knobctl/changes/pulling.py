"""Live sets into files: the smallest edits after which the documents ask for what the engine holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knobctl.changes.file_edits import FileEdit, Wish, edit_files, new_file, wish_for
from knobctl.changes.single import claims_in, document_of
from knobctl.engine.interface import NEVER_WRITTEN
from knobctl.errors import RefusedError, UsageError
from knobctl.text import joined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import LiveSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """What a pull would write."""

    edits: Sequence[FileEdit]
    files: Mapping[str, str] = field(default_factory=dict)
    """By tenant, the file that holds its document, or will."""
    notes: Sequence[str] = ()


def written_sets(
    repository: Repository, fleet: Document | None, live: Sequence[LiveSet]
) -> tuple[list[LiveSet], list[str]]:
    """Leave out the tenants that were never written: no file is made of nothing, nor emptied for it.

    Returns:
        The sets that there are; the tenants that have a document and no set yet.

    Raises:
        UsageError: If one has neither, such as a mistyped one.
    """
    claimed = claims_in(repository, fleet)
    written: list[LiveSet] = []
    yet: list[str] = []
    strangers: list[str] = []
    for one in live:
        known = one.tenant in claimed
        never = one.revision == NEVER_WRITTEN or (one.revision is None and not known)
        if not never or one.knobs or one.unknown:
            written.append(one)
        else:
            (yet if known else strangers).append(one.tenant)
    if strangers:
        raise UsageError(
            f"{joined(strangers)} {'was' if len(strangers) == 1 else 'were'} never written on the engine and "
            "no document here is theirs; nothing was written",
            hint="see which tenants there are: knobctl get",
        )
    return written, yet


def pull_sets(
    repository: Repository,
    fleet: Document | None,
    live: Sequence[LiveSet],
    *,
    folder: Path,
    shown: str,
) -> Pulled:
    """Find the edits that bring live sets into files.

    Args:
        repository: The documents that exist.
        fleet: The fleet whose documents are meant, where a tenant has several.
        live: The sets.
        folder: Where the files of new tenants go.
        shown: How people see that folder, with a slash at its end; empty for the working folder.

    Raises:
        RefusedError: If a new file would overwrite one that exists, or an edit would change more
            than it means to.
    """
    wishes: list[Wish] = []
    created: list[FileEdit] = []
    files: dict[str, str] = {}
    claimed = claims_in(repository, fleet)
    for one in live:
        document = document_of(one.tenant, claimed)
        if document is None:
            edit = _created(repository, one, folder, shown)
            created.append(edit)
            files[one.tenant] = edit.name
        else:
            wishes.append(wish_for(repository.effective(document), one.knobs))
            files[one.tenant] = document.source
    notes = [
        f"{one.tenant} holds {', '.join(sorted(one.unknown))}, which the schema does not know and no file can hold"
        for one in live
        if one.unknown
    ]
    return Pulled(edits=[*edit_files(repository, wishes), *created], files=files, notes=notes)


def _created(repository: Repository, live: LiveSet, folder: Path, shown: str) -> FileEdit:
    path = folder / f"{live.tenant}.yaml"
    name = f"{shown}{path.name}"
    if path.exists() or path.is_symlink():
        raise RefusedError(
            f"{name} exists and holds no document of {live.tenant}; nothing was written.",
            hint="move it, or choose another folder: --into DIR",
        )
    return new_file(path, name, live.tenant, live.knobs, repository.catalogue)
