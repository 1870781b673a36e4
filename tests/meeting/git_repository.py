"""A Git repository of a test: real Git, an author of its own, no settings of this machine."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

AUTHOR = {
    "GIT_AUTHOR_NAME": "anna", "GIT_AUTHOR_EMAIL": "anna@example.org",
    "GIT_COMMITTER_NAME": "anna", "GIT_COMMITTER_EMAIL": "anna@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one folder."""

    folder: Path

    def __call__(self, *arguments: str | Path) -> str:
        """Run a command that must succeed; give what it prints."""
        done = subprocess.run(
            ["git", *map(str, arguments)],
            cwd=self.folder, env={**os.environ, **AUTHOR}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        """Write a file below the folder, its folders too."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, message: str) -> str:
        """Commit all that is there; give the commit."""
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", message)
        return self("rev-parse", "HEAD")


def repository(folder: Path) -> Git:
    """A new repository with the branch main."""
    folder.mkdir(parents=True, exist_ok=True)
    git = Git(folder)
    git("init", "-q", "-b", "main")
    return git
