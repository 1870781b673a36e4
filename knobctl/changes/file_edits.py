"""Edits of documents that bring a tenant's effective set to a target: layers kept, only deltas written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knobctl.documents.drafts import new_document
from knobctl.documents.edits import edit_knobs
from knobctl.documents.files import prove_room, write_atomically
from knobctl.documents.kinds import sort_documents
from knobctl.documents.model import Kind
from knobctl.documents.reader import read_bytes
from knobctl.errors import ConflictError, InputError, RefusedError
from knobctl.knobs import KnobType
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from knobctl.documents.model import Document, Effective, Written
    from knobctl.documents.repository import Repository
    from knobctl.knobs import Catalogue, Knob, KnobValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What one tenant's document shall say."""

    document: Document
    write: Mapping[str, str] = field(default_factory=dict)
    """By canonical name, the characters to write."""
    remove: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What was decided on the way, for people."""

    @property
    def changes(self) -> bool:
        """Whether anything is to be edited."""
        return bool(self.write or self.remove)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """One file as it is and as it shall be."""

    path: Path
    name: str
    """As people see it."""
    before: bytes | None
    """None for a new file."""
    after: bytes
    tenants: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def write(self) -> None:
        """Write the file, if it still is what the edit was made from.

        Raises:
            ConflictError: If somebody else changed it meanwhile.
            RefusedError: If it is a link or cannot be written.
        """
        try:
            self.assert_as_before()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.path, self.after)
        except OSError as error:
            raise RefusedError(f"{self.name} could not be written: {error.strerror}") from error

    def assert_as_before(self) -> None:
        """See that the file is what the edit was made from.

        Raises:
            ConflictError: If somebody else changed it meanwhile.
            RefusedError: If it is a link.
        """
        if self.path.is_symlink():
            raise RefusedError(f"{self.name} is a link; the file that it leads to was not edited")
        now = self.path.read_bytes() if self.path.exists() else None
        if now != self.before:
            raise ConflictError(f"{self.name} was changed meanwhile and was not edited")


def prove_edits(edits: Iterable[FileEdit]) -> None:
    """See that files can be edited, before anything is written that their edits belong to.

    Raises:
        ConflictError: If somebody else changed one meanwhile.
        RefusedError: If one is a link, or cannot be written for want of room or of rights.
    """
    by_folder: dict[Path, list[FileEdit]] = {}
    for edit in edits:
        by_folder.setdefault(edit.path.parent, []).append(edit)
    for folder, within in by_folder.items():
        try:
            for edit in within:
                edit.assert_as_before()
            prove_room(folder, sum(len(edit.after) for edit in within))
        except OSError as error:
            raise RefusedError(
                f"{within[0].name} cannot be edited: {error.strerror}. Nothing was written.",
                hint="make room there, or give the right to write; without its file the change may be undone by GitOps",
            ) from error


def wish_for(
    effective: Effective,
    target: Mapping[str, KnobValue],
    *,
    only: Iterable[str] | None = None,
    literals: Mapping[str, str] | None = None,
) -> Wish:
    """Find the smallest edit of a tenant's document after which it asks for a target set.

    A knob that the layers give already is not written; one that a layer sets and the target does not
    is written as 0, since leaving it out would follow the layer.

    Args:
        effective: The tenant as its document and layers resolve now.
        target: The canonical set that they shall resolve to.
        only: The knobs concerned; all of them if None.
        literals: The characters that the user typed, by knob: they are written as they are.
    """
    write: dict[str, str] = {}
    remove: list[str] = []
    notes: list[str] = []
    names = [knob.name for knob in effective.catalogue] if only is None else list(only)
    for name in names:
        knob = effective.catalogue[name]
        wanted = target.get(name, knob.unset)
        own, layer = _sides(effective, name)
        if effective.desired.get(name, knob.unset) == wanted:
            continue
        inherited = layer.value if layer else knob.unset
        if literals and name in literals:
            write[name] = literals[name]
        elif own and wanted == inherited:
            remove.append(name)
        else:
            write[name] = _literal(knob, knob.default if wanted is None else wanted)
            if wanted == knob.unset and layer:
                notes.append(_hiding(knob, layer))
    return Wish(document=effective.document, write=write, remove=tuple(remove), notes=tuple(notes))


def _sides(effective: Effective, name: str) -> tuple[Written | None, Written | None]:
    """What the document itself writes of a knob, and what its layers give."""
    chain = effective.origins.get(name, ())
    own = next((one for one in chain if one.document is effective.document), None)
    layer = next((one for one in chain if one.document is not effective.document), None)
    return own, layer


def _literal(knob: Knob, value: KnobValue) -> str:
    return spelled(value) if knob.type is not KnobType.INT32 else str(int(value))


def _hiding(knob: Knob, layer: Written) -> str:
    unset = knob.unset
    how = (
        "its platform default"
        if unset is None
        else f"{spelled(unset)}, which means the platform default"
    )
    return f"{knob.name} is written as {how} {spelled(knob.default)}: left out, it would follow layer {layer.document.name} ({spelled(layer.value)})"


def edit_files(repository: Repository, wishes: Sequence[Wish]) -> list[FileEdit]:
    """Make the edits that wishes ask for, one a file.

    Raises:
        RefusedError: If an edit would change more than it means to.
        InputError: If a document stands in no file.
    """
    by_file: dict[str, list[Wish]] = {}
    for wish in wishes:
        if wish.changes:
            by_file.setdefault(wish.document.source, []).append(wish)
    return [_file_edit(repository, source, found) for source, found in sorted(by_file.items())]


def _file_edit(repository: Repository, source: str, wishes: Sequence[Wish]) -> FileEdit:
    first = wishes[0].document
    name = repository.names.get(source)
    if name is None or source.startswith("<"):
        raise InputError(f"{first.name} was read from {source}, which is no file to edit")
    after = before = first.text.encoded(first.text.text)
    for wish in wishes:
        document = _again(after, wish.document)
        after = edit_knobs(document, repository.catalogue, write=wish.write, remove=wish.remove)
    return FileEdit(
        path=repository.root / name,
        name=source,
        before=before,
        after=after,
        tenants=tuple(wish.document.name for wish in wishes),
        notes=tuple(note for wish in wishes for note in wish.notes),
    )


def _again(content: bytes, document: Document) -> Document:
    """Find a document in a later state of its file."""
    for found in sort_documents(read_bytes(content, document.source), named=False).documents:
        if found.index == document.index:
            return found
    raise InputError(f"{document.source} no longer holds {document.name}")


def edited_document(edit: FileEdit, document: Document) -> Document:
    """A document as it stands in its file after an edit."""
    return _again(edit.after, document)


def new_file(
    path: Path, name: str, tenant: str, knobs: Mapping[str, KnobValue], catalogue: Catalogue
) -> FileEdit:
    """Make a file for a tenant that has no document."""
    text = new_document(Kind.TENANT, tenant, {"knobs": dict(knobs)}, catalogue=catalogue)
    return FileEdit(path=path, name=name, before=None, after=text.encode(), tenants=(tenant,))
