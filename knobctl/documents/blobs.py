"""What Git knows of a working folder without anybody reading it: which files are just as their blobs are."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from knobctl.documents.git import USUAL

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from knobctl.documents.git import Git

_REGULAR: Final = ("H 100644 ", "H 100755 ")
"""Of entries that Git looks after: `h` is assumed to be unchanged, `S` is left out of the checkout."""
_MERGED: Final = " 0\t"
"""What stands behind the blob of an entry over which nobody disputes."""
SHA1: Final = 40
_OVERRULED: Final = tuple(
    word
    for setting in ("core.fsmonitor=false", "core.trustctime=true", "core.checkStat=default")
    for word in ("-c", setting)
)
"""A configured monitor is a program of the repository's choosing: it is not run. And all that the disk
says of a file counts: an edit of the same size may be given the time of the file before it."""
_REWRITES: Final = (b"filter", b"working-tree-encoding")
"""Attributes under which the bytes of a file are others than those of its blob."""
_ATTRIBUTES: Final = ".gitattributes"


def blob_id(raw: bytes, *, digits: int = SHA1) -> str:
    """The name that Git gives to the bytes of a file.

    Args:
        raw: The bytes.
        digits: How many the repository's names have: 40, or 64 where it counts by SHA-256.
    """
    new = hashlib.sha1 if digits == SHA1 else hashlib.sha256
    return new(b"blob %d\0%b" % (len(raw), raw)).hexdigest()


class Blobs:
    """The blobs of the files below a folder, asked for in the background.

    Git compares what the disk says of a file (times, size, number) with what it noted when it last
    read it, and distrusts what is too fresh to tell; nothing is compared by content, and nothing written.
    """

    def __init__(self, root: Path, git: Git = USUAL) -> None:
        """Ask.

        Args:
            root: The folder.
            git: Who is asked.
        """
        self._root, self._git = root, git
        self._command = ("git", "-C", str(root), *_OVERRULED)
        pool = ThreadPoolExecutor(max_workers=4)
        self._listed = pool.submit(self._asked, "ls-files", "--stage", "-v", "-z")
        self._changed = pool.submit(self._asked, "diff-files", "--name-only", "--relative", "-z")
        self._elsewhere = [pool.submit(self._asked, *asked) for asked in _ELSEWHERE]
        pool.shutdown(wait=False)

    def ids(self) -> dict[str, str]:
        """By name relative to the folder, the blobs of the files that are just as those.

        Empty where Git cannot say: outside a checkout, without Git, or where files are rewritten on
        their way between the two.
        """
        listed, changed = self._listed.result(), self._changed.result()
        if not listed or changed is None:
            return {}
        entries = listed.decode("utf-8", "surrogateescape").split("\0")
        if self._are_rewritten(entries if _ATTRIBUTES.encode() in listed else ()):
            return {}
        start = len(_REGULAR[0])
        end = entries[0].index(" ", start)
        behind = end + len(_MERGED)
        ids = {
            entry[behind:]: entry[start:end]
            for entry in entries
            if entry.startswith(_REGULAR) and entry[end:behind] == _MERGED
        }
        for name in changed.decode("utf-8", "surrogateescape").split("\0"):
            ids.pop(name, None)
        return ids

    def _are_rewritten(self, entries: Iterable[str]) -> bool:
        names = [entry.partition("\t")[2] for entry in entries if entry.endswith(_ATTRIBUTES)]
        files = [self._root / name for name in names]
        files += [folder / _ATTRIBUTES for folder in (self._root, *self._root.parents)]
        for asked in self._elsewhere:
            told = (asked.result() or b"").strip()
            files += [self._root / os.fsdecode(told)] if told else []
        return any(word in raw for raw in map(_content, files) for word in _REWRITES)

    def _asked(self, *arguments: str) -> bytes | None:
        try:
            done = self._git.run(self._command, arguments)
        except OSError:
            return None
        return done.stdout if done.returncode == 0 else None


_ELSEWHERE: Final = (
    ("rev-parse", "--git-path", "info/attributes"),
    ("config", "--type=path", "--default", "~/.config/git/attributes", "core.attributesFile"),
)
"""How Git is asked for the files of attributes that lie outside the tree."""


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""
