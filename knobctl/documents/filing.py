"""Looks files up in the index while a repository is opened, and files what the index does not know."""

from __future__ import annotations

import json
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING

from knobctl.documents.blobs import SHA1, Blobs, blob_id
from knobctl.documents.filed import FiledDocument
from knobctl.documents.index import A_PART, Head, Row
from knobctl.documents.kinds import sort_documents
from knobctl.documents.model import Kind
from knobctl.documents.reader import read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from knobctl.documents.git import Git
    from knobctl.documents.index import Index
    from knobctl.documents.kinds import Sorted
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.documents.sources import Files
    from knobctl.documents.tree import Text


class Filing:
    """What the index knows of one repository's files."""

    def __init__(
        self,
        index: Callable[[], Index],
        repository: Repository,
        files: Files,
        git: Git,
    ) -> None:
        """Ask Git, in the background, which files it vouches for.

        Args:
            index: Reads the rows of earlier runs.
            repository: The one that is opened.
            files: Its files, as they stand on the disk.
            git: Who is asked.
        """
        self._repository, self._files = repository, files
        self._blobs: Blobs | None = Blobs(files.root, git)
        self.index = index()
        self._read_ahead: tuple[str, bytes] = ("", b"")
        self._contents: dict[str, str] = {}
        """By source, the content of each file that got a row in this run."""
        self._plain: dict[str, tuple[Document, str]] = {}
        self._heads: dict[str, Head] = {}
        repository.filing = self

    def give_known(
        self,
        names: list[str],
        seen: set[str],
        sources_of: Callable[[list[str]], list[str]],
    ) -> list[str]:
        """Give the repository the documents of judged files that Git vouches for and the index knows.

        Args:
            names: The files, none of which was looked at before.
            seen: Those that were looked at; the known ones are added.
            sources_of: Gives files' names as findings have them.

        Returns:
            The other files.
        """
        rest: list[str] = []
        for start in range(0, len(names), A_PART):
            part = names[start : start + A_PART]
            rest += self._give_part(part, seen, sources_of(part))
        # At once: whoever waits sees by it how many are left to be read.
        self._repository.files += len(names) - len(rest)
        return rest

    def _give_part(self, names: list[str], seen: set[str], sources: list[str]) -> list[str]:
        ids, whole, repository = self._ids, self._whole, self._repository
        contents = [ids.get(name, "") for name in names]
        rows = list(self.index.find(contents))
        rest = [name for name, row in zip(names, rows, strict=True) if row is None]
        if rest:
            is_known = [row is not None for row in rows]
            names, sources, contents = (
                list(compress(column, is_known)) for column in (names, sources, contents)
            )
        known = zip(filter(None, rows), contents, sources, strict=True)
        documents = [FiledDocument(row, content, source, whole) for row, content, source in known]
        repository.names.update(zip(sources, names, strict=True))
        seen.update(names)
        repository.take_tenants(documents)
        return rest

    def give(self, name: str, source: str, *, judged: bool) -> bool:
        """Give the repository the document of a file that the index knows.

        Args:
            name: The file.
            source: The file as findings name it.
            judged: Whether it is among those that were asked about.

        Returns:
            Whether it is known; if not, nothing was given.
        """
        content = self._ids.get(name)
        if content is None:
            try:
                raw = self._files.read(name)
            except OSError:
                return False  # reading it says what is wrong
            self._read_ahead = (name, raw)
            content = blob_id(raw, digits=self._digits)
        (row,) = self.index.find((content,))
        if row is None:
            return False
        repository = self._repository
        repository.take((FiledDocument(row, content, source, self._whole),), judged=judged)
        repository.names[source] = name
        repository.files += judged
        return True

    def content_of(self, document: Document) -> str | None:
        """The name of the bytes of a document's file, where that has a row."""
        if isinstance(document, FiledDocument):
            return document.content
        return self._contents.get(document.source)

    def forget(self, document: Document) -> None:
        """Let go of the text of a document's file, where the index says what stands in it."""
        if isinstance(document, FiledDocument):
            document.forget()
            self._repository.texts.pop(document.source, None)

    def read(self, name: str) -> bytes:
        """A file's bytes, read once.

        Raises:
            OSError: If it cannot be read.
        """
        ahead, raw = self._read_ahead
        return raw if ahead == name else self._files.read(name)

    def mark(self, raw: bytes, text: Text, found: Sorted) -> None:
        """Remember a file that may get a row, once nothing is found to be wrong with it.

        Args:
            raw: Its bytes.
            text: What was read.
            found: What stands in it.
        """
        if len(text.trees) == 1 and not (text.troubles or found.findings or text.trees[0].troubles):
            for document in found.documents:
                if document.kind is Kind.TENANT and document.name:
                    content = blob_id(raw, digits=self._digits)
                    self._plain[document.source] = (document, content)

    def note(self, sound: Callable[[Document], bool]) -> None:
        """Give rows to the marked files.

        Args:
            sound: Says of a document whether nothing is wrong with it, not even lightly.
        """
        for source, (document, content) in self._plain.items():
            if sound(document):
                self.index.note(content, self._row(document))
                self._contents[source] = content
        self._plain = {}

    def close(self) -> None:
        """Let go of what Git said, once all files were looked up: in a large repository that is much."""
        _ = self._digits
        self._blobs = None
        self._ids.clear()

    @cached_property
    def _ids(self) -> dict[str, str]:
        """By file, the content that Git vouches for."""
        return self._blobs.ids() if self._blobs else {}

    @cached_property
    def _digits(self) -> int:
        return len(next(iter(self._ids.values()))) if self._ids else SHA1

    def _whole(self, filed: FiledDocument) -> Document | None:
        """Read the document of a file that has a row; None where it has another one by now."""
        repository, source = self._repository, filed.source
        try:
            raw = self._files.read(repository.names[source])
        except OSError:
            return None
        text = read_bytes(raw, source)
        found = sort_documents(text, named=False)
        repository.texts[source] = text
        if len(found.documents) != 1:
            return None
        (document,) = found.documents
        # Line ends may differ on their way through Git; what is said may not.
        is_same = filed.content == blob_id(raw, digits=self._digits)
        return document if is_same or filed.row == self._row(document) else None

    def _row(self, document: Document) -> Row:
        head = Head(document.layers, document.labels, document.owner, document.evidence)
        head = self._heads.setdefault(json.dumps(head), head)
        return Row(document.name, head, document.values(self._repository.catalogue))
