"""The evidence of a repository: each file read once, and what it says of a tenant's change."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from knobctl.checks.evidence_files import Evidence, NoEvidence, evidence_in
from knobctl.documents.model import Kind
from knobctl.documents.sources import read_enclosed, read_regular

if TYPE_CHECKING:
    from pathlib import Path

    from knobctl.checks.evidence_record import Record
    from knobctl.documents.model import Document, Effective
    from knobctl.documents.repository import Repository


class _File(NamedTuple):
    read: Evidence | NoEvidence
    sha256: str | None
    """Of its bytes, lower-case hex; None where it cannot be read."""


class Evidences:
    """The evidence files that documents name or somebody attached."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.unjudged: dict[str, None] = {}
        """What could not be judged, and why."""
        self._files: dict[str, _File] = {}

    def of(self, tenant: Document) -> list[Evidence | NoEvidence]:
        """What bears on a tenant: what it names, what its layers name, what is attached."""
        return [self.read(path) for path in self.repository.evidence_of(tenant)]

    def know(self, one: Evidence | NoEvidence) -> None:
        """Take a file as read."""
        self._files[one.path] = _File(one, None)

    def read(self, path: str) -> Evidence | NoEvidence:
        """Read one file."""
        return self._file(path).read

    def sha256(self, path: str) -> str | None:
        """SHA-256 of a file's bytes, lower-case hex; None where it cannot be read."""
        return self._file(path).sha256

    def alike(self, tenant: Document, then: Evidences) -> bool:
        """Whether at another state of the repository the same files hold the same bytes for a tenant."""
        paths = self.repository.evidence_of(tenant)
        return all(self.sha256(path) == then.sha256(path) for path in paths)

    def _file(self, path: str) -> _File:
        if path not in self._files:
            try:
                raw = self._bytes(path)
            except OSError as error:
                why = (error.strerror or "it cannot be read").lower()
                self._files[path] = _File(NoEvidence(path, why), None)
            else:
                found = evidence_in(raw, path, self.repository.catalogue)
                self._files[path] = _File(found, sha256(raw).hexdigest())
        return self._files[path]

    def _bytes(self, path: str) -> bytes:
        if file := self._attached.get(path):
            return read_regular(str(file))
        then = self.repository.evidence_then
        if path not in then:
            return read_enclosed(self.repository.root, path)
        if (raw := then[path]) is None:
            raise OSError(0, "no such file at that revision", path)
        return raw

    @cached_property
    def _attached(self) -> dict[str, Path]:
        return {one.path: one.file for one in self.repository.attached}


def speaks_for(record: Record, layers: tuple[str, ...], tenant: str) -> bool:
    """Whether a record is about a tenant: measured on it, or on a sample of a layer that it takes."""
    if tenant in record.measured_tenants:
        return True
    return record.sample is not None and record.sample.layer in layers


def layers_for(repository: Repository, document: Document) -> tuple[str, ...]:
    """The layers that a tenant takes; of a stand-in those of the tenant's own document."""
    own = own_document(repository, document)
    return (own or document).layers


def own_document(repository: Repository, document: Document) -> Document | None:
    """The tenant's document in the repository, where one that stands in for it is judged; None where that is unclear."""
    found = repository.documents_of(document.name)
    if any(one is document for one in found):
        return document
    return found[0] if len(found) == 1 else None


def layer_giving(repository: Repository, effective: Effective, knob: str) -> str | None:
    """The layer from which a tenant has the value of a knob; None where it writes it itself, or nothing does."""
    origin = effective.origin(knob)
    if origin is None:
        return None
    if origin.document.kind is Kind.LAYER:
        return origin.document.name
    own = own_document(repository, effective.document)
    if own is None or own is effective.document:
        return None
    # A stand-in has its layers resolved: it takes the value from where its tenant's document does.
    filed = repository.effective(own).origin(knob)
    if filed is None or filed.document.kind is not Kind.LAYER or filed.value != origin.value:
        return None
    return filed.document.name
