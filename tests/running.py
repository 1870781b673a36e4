"""Runs knobctl as a user does: a process of its own, in a folder, with an empty home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """What one run gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The answer on stdout, read as JSON."""
        return json.loads(self.out)

    @property
    def rules(self) -> list[str]:
        """The rules of the findings in a JSON answer, in its order."""
        return [finding["rule"] for finding in self.json["findings"]]


@dataclass(frozen=True, slots=True)
class Knobctl:
    """The command, bound to a working folder."""

    folder: Path

    def __call__(
        self, *arguments: str | Path, stdin: str | None = None, **environment: str
    ) -> Result:
        """Run one command line; stdin is empty unless given, and never a terminal."""
        home = {
            f"XDG_{name}_HOME": str(
                self.folder.with_name(f"{self.folder.name}-home") / name.lower()
            )
            for name in ("DATA", "CONFIG", "STATE", "CACHE")
        }
        kept = {key: value for key, value in os.environ.items() if not key.startswith("KNOBCTL_")}
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from knobctl.cli.main import main; main()",
                *map(str, arguments),
            ],
            cwd=self.folder,
            env={**kept, **home, "PYTHONPATH": str(Path(__file__).parent.parent), **environment},
            input=(stdin or "").encode(),
            capture_output=True,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def write(self, name: str, text: str) -> Path:
        """Write a file below the folder, byte for byte, and give its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path
