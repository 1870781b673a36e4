"""Plays the console sessions of a page in a folder of its own, as somebody who reads it would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
SESSION: Final = re.compile(r"(?<=```console\n)(.*?)(?=```\n)", re.DOTALL)
FILE: Final = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
MAIN: Final = "from knobctl.cli.main import main; main()"
COMMAND: Final = f"exec {sys.executable} -c '{MAIN}' \"$@\""
_HOMES: Final = ("DATA", "CONFIG", "STATE", "CACHE")
_WHO: Final = ("AUTHOR", "COMMITTER")


class Stage:
    """A folder with an empty home, Anna before it, and `knobctl` as the checkout has it."""

    def __init__(self, folder: Path, command: str = COMMAND) -> None:
        """Set it up.

        Args:
            folder: Where commands run.
            command: What `knobctl` does, as a line of the shell.
        """
        self.folder = folder
        shims = folder / ".bin"
        shims.mkdir()
        shim = shims / "knobctl"
        shim.write_text(f"#!/bin/sh\n{command}\n")
        shim.chmod(0o755)
        self.environment = {
            "PATH": f"{shims}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "LOGNAME": "anna",
            "LANG": "C.UTF-8",
            **{f"XDG_{kind}_HOME": str(folder / f".{kind.lower()}") for kind in _HOMES},
            **{f"GIT_{who}_NAME": "anna" for who in _WHO},
            **{f"GIT_{who}_EMAIL": "anna@example.invalid" for who in _WHO},
        }

    def write_files(self, page: str) -> None:
        """Write the files that the page shows with their names."""
        for name, text in FILE.findall(page):
            (self.folder / name).parent.mkdir(exist_ok=True, parents=True)
            (self.folder / name).write_text(text)

    def shell(self, line: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run one line; an `export` holds for those that follow."""
        if line.startswith("export "):
            key, value = line.removeprefix("export ").split("=", 1)
            self.environment[key] = value
            return subprocess.CompletedProcess(line, 0, "")
        return subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=self.environment | more, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip


def commands(session: str) -> list[str]:
    """The lines of a session that somebody types."""
    return [line[2:] for line in session.splitlines() if line.startswith("$ ")]


def steady(output: str) -> str:
    """An output without what differs from run to run: ages, durations, hashes."""
    output = re.sub(r"\b[0-9a-f]{64}\b", "5e0c...", output)
    output = re.sub(r"(just now|\d+ s ago)", "just now", output)
    output = re.sub(r"\(\d+\.\d s,\s+[\d.]+\s+chunks/s\)", "(1.1 s,\n  37.3 chunks/s)", output)
    output = re.sub(r"\(run [0-9a-f]{8}, ", "(run 7b21e0c4, ", output)
    return re.sub(r"(\(|, )\d+\.\d s\)", r"\g<1>0.0 s)", output)
