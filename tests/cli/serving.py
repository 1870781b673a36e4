"""`engine serve` in a process of its own, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


MAIN = "from knobctl.cli.main import main; main()"


@contextmanager
def serving(
    folder: Path, *arguments: str, main: str = MAIN
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `engine serve` until the end of the block; gives the process and its address."""
    ports = folder / "ports.json"
    process = subprocess.Popen(
        [sys.executable, "-c", main, "engine", "serve", "--port-file", str(ports), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not ports.exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        yield process, f"http://127.0.0.1:{json.loads(ports.read_text())['http']}"
    finally:
        process.kill()
        process.communicate()
