"""Runs knobctl on a pseudo-terminal, as a person does, and types at it."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@dataclass
class Terminal:
    """One run on a terminal."""

    process: subprocess.Popen[bytes]
    handle: int
    shown: str = ""
    """All that was shown so far, line ends as line feeds."""
    raw: bytearray = field(default_factory=bytearray)

    def expect(self, text: str, timeout_s: float = 20.0) -> None:
        """Wait until a text was shown."""
        self._read(timeout_s, until=text)
        assert text in self.shown, f"{text!r} did not come: {self.shown}"

    def type(self, text: str) -> None:
        """Type at it."""
        os.write(self.handle, text.encode())

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        os.kill(self.process.pid, number)

    def interrupt(self) -> None:
        """Ctrl-C: the terminal sends SIGINT to all that runs in its foreground."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self, timeout_s: float = 30.0) -> int:
        """Wait for its end; give the exit code."""
        self._read(timeout_s)
        return self.process.wait(timeout_s)

    def _read(self, timeout_s: float, until: str | None = None) -> None:
        stop = time.monotonic() + timeout_s
        while time.monotonic() < stop and (until is None or until not in self.shown):
            ready, _, _ = select.select([self.handle], [], [], 0.1)
            if not ready:
                continue
            try:
                chunk = os.read(self.handle, 65536)
            except OSError:  # the other side is closed
                return
            if not chunk:
                return
            self.raw += chunk
            self.shown = re.sub(r"\r+\n", "\n", self.raw.decode("utf-8", "replace"))


@contextmanager
def on_terminal(folder: Path, *arguments: str | Path, **environment: str) -> Iterator[Terminal]:
    """Start one command line on a terminal of 80 columns, in a folder, with an empty home beside it."""
    home = {
        f"XDG_{name}_HOME": str(folder.parent / "home" / name.lower())
        for name in ("DATA", "CONFIG", "STATE", "CACHE")
    }
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("KNOBCTL_") and key not in {"VISUAL", "EDITOR", "NO_COLOR"}
    }
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from knobctl.cli.main import main; main()", *map(str, arguments)],
        cwd=folder,
        env={
            **kept,
            **home,
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm",
            "COLUMNS": "80",
            **environment,
        },
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)
