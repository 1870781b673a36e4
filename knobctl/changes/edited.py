"""Reads the text that a person edited back into a set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.changes.file_edits import FileEdit
from knobctl.changes.stand_in import judging
from knobctl.documents.kinds import sort_documents
from knobctl.documents.reader import read_bytes
from knobctl.finding import Finding, Location, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.changes.single import Subject
    from knobctl.checks.report import Report
    from knobctl.documents.model import Document
    from knobctl.documents.tree import Text
    from knobctl.knobs import Catalogue, KnobValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """What an edited text asks for."""

    knobs: Mapping[str, KnobValue]
    """The canonical set; only to be used where the report has no errors."""
    report: Report


def is_empty(raw: bytes) -> bool:
    """Whether nothing stands in a text but blanks and comments: the person gave up."""
    lines = (line.strip() for line in raw.removeprefix(b"\xef\xbb\xbf").splitlines())
    return all(not line or line.startswith(b"#") for line in lines)


def read_edited(raw: bytes, subject: Subject) -> Edited:
    """Read an edited text: exactly this tenant and its knobs.

    Args:
        raw: The text as saved.
        subject: Whose set it is.
    """
    from knobctl.checks import validate_repository

    text = read_bytes(raw, f"{subject.tenant} (edited)")
    found = sort_documents(text, named=True)
    catalogue = subject.repository.catalogue
    findings = [*found.findings, *_strays(found.documents, text, subject.tenant, catalogue)]
    judged = replace(judging(subject.repository, found.documents), findings=findings, others=[])
    knobs: dict[str, KnobValue] = {}
    for document in found.documents[:1]:
        written = document.written(catalogue)
        knobs = catalogue.canonical({name: one.value for name, one in written.items()})
    return Edited(knobs=knobs, report=validate_repository(judged))


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedFile:
    """What an edited file asks for of one of its tenants."""

    desired: Mapping[str, KnobValue]
    """The canonical set that its document and layers come to; only to be used where the report has no errors."""
    literals: Mapping[str, str]
    """By knob that the document itself writes, how."""
    edit: FileEdit
    report: Report


def read_edited_file(raw: bytes, before: bytes, subject: Subject) -> EditedFile:
    """Read a tenant's file as a person edited it: the same documents, the tenant's in its place.

    Args:
        raw: The text as saved.
        before: The file as it lies on the disk.
        subject: Whose document is meant; it has one.
    """
    from knobctl.checks import validate_repository

    document, repository = subject.document, subject.repository
    assert document is not None
    text = read_bytes(raw, document.source)
    found = sort_documents(text, named=True)
    own = [one for one in found.documents if one.index == document.index]
    findings = list(found.findings)
    desired: Mapping[str, KnobValue] = {}
    literals: Mapping[str, str] = {}
    if own and own[0].name == document.name:
        effective = repository.effective(own[0])
        desired = effective.desired
        literals = {name: one.literal for name, one in own[0].written(repository.catalogue).items()}
    elif not text.troubles:
        findings.append(_stray(f"{document.name} must stand here", text.location(0), None))
    judged = replace(judging(repository, found.documents), findings=findings)
    edit = FileEdit(
        path=repository.root / repository.names[document.source],
        name=document.source,
        before=before,
        after=raw,
        tenants=(document.name,),
    )
    report = validate_repository(judged)
    return EditedFile(desired=desired, literals=literals, edit=edit, report=report)


def _strays(
    documents: list[Document], text: Text, tenant: str, catalogue: Catalogue
) -> Iterator[Finding]:
    """What the text holds beside the tenant's knobs: it would be lost without a word.

    A knob that stands beside them is told of by the validation.
    """
    for number, document in enumerate(documents):
        if number or document.name != tenant:
            place = document.location(document.kind.value)
            yield _stray(f"only {tenant} is edited here", place, document.kind.value)
        strays = (
            document.value.keys() - {"tenant", "knobs", "version"} - catalogue.by_any_name.keys()
        )
        for key in sorted(strays):
            yield _stray(
                f"{key} is kept in files, not on the engine", document.key_location(key), key
            )
    if not documents and not text.troubles:
        yield _stray(f"{tenant} and its knobs must stand here", text.location(0), None)


def _stray(message: str, place: Location, path: str | None) -> Finding:
    return Finding(
        rule="unknown-document",
        severity=Severity.ERROR,
        message=message,
        hint="the text holds tenant and knobs",
        field_path=path,
        primary=place,
    )
