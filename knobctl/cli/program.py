"""What judges: the program itself, as a part of the key of whatever is kept of what it found."""

from __future__ import annotations

import os
import sys
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from knobctl.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Iterator


def program_digest() -> bytes:
    """Stands for our own files byte for byte, and for what is installed beside them by name and version."""
    whole = blake2b(sys.version.encode(), digest_size=16)
    package = Path(__file__).parent.parent
    folders = (package, shipped("policies"), shipped("schemas"))
    # Without its policies, judging says that there are none.
    for folder in filter(Path.is_dir, folders):
        for path, raw in _files_below(str(folder)):
            whole.update(b"%b %d:%b" % (os.fsencode(path), len(raw), raw))
    for place in map(Path, sys.path):
        if place.is_dir():
            installed = sorted(found.name for found in place.glob("*-info"))
            whole.update(os.fsencode("\n".join(("", *installed))))
    return whole.digest()


def _files_below(folder: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            # What is no source, and what judges nothing.
            if entry.name not in {"__pycache__", "server"}:
                yield from _files_below(entry.path)
        elif entry.name.endswith((".py", ".yaml", ".json")):
            yield entry.path, Path(entry.path).read_bytes()
