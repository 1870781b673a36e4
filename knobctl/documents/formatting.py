"""Brings the files of a repository into canonical form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knobctl.documents.canonical import canonical_text
from knobctl.documents.files import write_atomically
from knobctl.errors import RefusedError, UsageError
from knobctl.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from knobctl.documents.repository import Repository
    from knobctl.documents.tree import Text
    from knobctl.finding import Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Formatted:
    """One judged file and its canonical form."""

    text: Text
    path: Path | None
    """Where it lies; None for standard input."""
    canonical: str

    @property
    def source(self) -> str:
        """The file, as findings name it."""
        return self.text.source

    @property
    def differs(self) -> bool:
        """Whether it is not in canonical form."""
        return self.canonical != self.text.text

    @property
    def place(self) -> Location:
        """The first line that differs, from its first differing character to its end."""
        before, after = self.text.text, self.canonical
        at = next(
            (at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new),
            min(len(before), len(after)),
        )
        start = self.text.location(at)
        length = len(self.text.line(start.line))
        return self.text.location(at, at + max(length + 1 - start.column, 0))

    def finding(self) -> Finding:
        """What `--check` says of it."""
        place = self.place
        return Finding(
            rule="not-canonical",
            severity=Severity.ERROR,
            message="not in canonical form from here on",
            hint="run: knobctl fmt" + (f" {self.source}" if self.path else ""),
            primary=place,
        )

    def write(self) -> None:
        """Write the canonical form in place of the file, whole or not at all.

        Raises:
            RefusedError: If the file has changed since it was read.
            UsageError: If it cannot be written; the file stays as it was.
        """
        assert self.path is not None
        target = self.path.resolve()  # a link that the user named stays a link
        try:
            if target.read_bytes() != self.text.encoded(self.text.text):
                raise RefusedError(
                    f"{self.source} changed while it was formatted; it was left alone"
                )
            write_atomically(target, self.text.encoded(self.canonical))
        except OSError as error:
            raise UsageError(f"{self.source} cannot be written: {error.strerror}") from error


def format_files(repository: Repository, broken: Collection[str]) -> list[Formatted]:
    """Give the judged files of ours with their canonical form.

    Args:
        repository: The files as read.
        broken: Sources that have errors: they are left alone.
    """
    sources = dict.fromkeys(document.source for document in repository.judged)
    found = []
    for source in sources:
        if source in broken:
            continue
        text = repository.texts[source]
        found.append(
            Formatted(
                text=text,
                path=repository.path_of(source),
                canonical=canonical_text(text, repository.catalogue),
            )
        )
    return found
