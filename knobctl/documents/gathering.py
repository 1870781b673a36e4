"""The files of a run, each read once and before any is understood: what was counted is what is judged."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from knobctl.documents.sources import Files

KEPT: Final = 64 * 2**20
"""Bytes that are kept until they are asked for; of more files than these hold only the digest is."""


class Gathered:
    """Files that were looked at before: listed and read again only as they were."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._kinds: dict[str, str] = {}
        self._names: dict[str, list[str]] = {}
        self._raw: dict[str, bytes] = {}
        self._kept = 0
        self._whole = hashlib.blake2b(digest_size=32)
        self._digests: dict[str, bytes] = {}
        self.is_same = True
        """Whether everything that was asked for since was as it had been counted."""

    def __len__(self) -> int:
        return len(self._digests)

    @property
    def root(self) -> Path:
        """See `Files.root`."""
        return self._files.root

    @property
    def prefix(self) -> str:
        """See `Files.prefix`."""
        return self._files.prefix

    @property
    def links(self) -> Iterable[str]:
        """See `Files.links`."""
        return self._files.links

    @property
    def digest(self) -> bytes:
        """Of the names and bytes of everything that was counted, in its order."""
        return self._whole.digest()

    def has(self, name: str) -> bool:
        """Whether a file was counted."""
        return name in self._digests

    def count(self, name: str) -> None:
        """Read a file ahead.

        Raises:
            OSError: If it cannot be read.
        """
        if name in self._digests:
            return
        raw = self._files.read(name)
        digest = self._digests[name] = _digest(raw)
        self._mark(b"file", os.fsencode(name), digest)
        if self._kept + len(raw) <= KEPT:
            self._kept += len(raw)
            self._raw[name] = raw

    def _mark(self, *parts: bytes) -> None:
        for part in parts:
            self._whole.update(b"%d:" % len(part))
            self._whole.update(part)

    def kind(self, name: str) -> str:
        """See `Files.kind`."""
        kind = self._kinds.get(name)
        if kind is None:
            kind = self._kinds[name] = self._files.kind(name)
            self._mark(b"kind", os.fsencode(name), kind.encode())
        return kind

    def names(self, under: str, skips: Callable[[str], bool]) -> Iterator[str]:
        """See `Files.names`."""
        if under not in self._names:
            self._names[under] = list(self._files.names(under, skips))
            self._mark(b"names", os.fsencode(under), *map(os.fsencode, self.links), b"end")
        return iter(self._names[under])

    def read(self, name: str) -> bytes:
        """See `Files.read`."""
        raw = self._raw.pop(name, None)
        if raw is None:
            raw = self._files.read(name)
            self.is_same &= self._digests.get(name) == _digest(raw)
        return raw


def _digest(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=32).digest()
