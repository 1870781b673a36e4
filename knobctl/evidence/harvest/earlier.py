"""What earlier harvests read: files that nobody touched since are not read again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import stat_result
    from pathlib import Path


@dataclass(slots=True)
class Earlier:
    """The files of one held-out set, as they were read; of no worth once the set is another."""

    path: Path
    """Where it is kept; it may be deleted at any time."""
    key: str
    """What the set, the rules and the program were: with another one nothing counts as read."""
    files: dict[str, list[int]] = field(default_factory=dict)
    """By file and format, size in bytes and time of the last write in nanoseconds."""

    @classmethod
    def at(cls, path: Path, key: str) -> Earlier:
        """Read what is kept; nothing where it is torn, foreign or of another set."""
        try:
            kept = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return cls(path, key)
        fits = isinstance(kept, dict) and kept.get("key") == key
        files = kept.get("files") if fits else None
        return cls(path, key, files if isinstance(files, dict) else {})

    def knows(self, name: str, about: stat_result) -> bool:
        """Whether a file was read as it is now."""
        return self.files.get(name) == [about.st_size, about.st_mtime_ns]

    def note(self, name: str, about: stat_result) -> None:
        """Remember that a file was read."""
        self.files[name] = [about.st_size, about.st_mtime_ns]

    def content(self, key: str) -> bytes:
        """What is to be kept, for the set as it is now."""
        return json.dumps({"key": key, "files": self.files}).encode()
