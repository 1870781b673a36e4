"""How soon the terminal UI is on the screen, as a ratio to importing Textual alone.

Run: python -m tests.benchmarks.tui_start [REPEATS]
"""

import fcntl
import os
import pty
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from tests.benchmarks.timing import line, tenant_files

HEADER = b"embedded:"
"""Stands in the first line of the first picture."""
LIST = b"t19"
"""A tenant that the first picture of the fleet shows."""


def main() -> None:
    """Print the ratio beside its limit, and how soon the fleet was there."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    knobctl = shutil.which("knobctl", path=str(Path(sys.executable).parent))
    assert knobctl, "install knobctl beside this interpreter first"
    bare, paint, ready = [], [], []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "fleet").mkdir()
        tenant_files(folder / "fleet", 50)
        command = [knobctl, "tui", "fleet", "--engine", "embedded:engine.db"]
        for turn in range(repeats + 1):  # one more warms up
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", "import textual.app"], check=True)
            imported = time.perf_counter() - start
            painted, listed = first_paint(command, folder)
            if turn:
                bare.append(imported)
                paint.append(painted)
                ready.append(listed)
    textual = statistics.median(bare)
    print(
        line(
            'first paint to `python -c "import textual.app"`', statistics.median(paint) / textual, 3
        )
    )
    print(
        f"{'':12}import textual.app {textual:.3f} s, first paint {statistics.median(paint):.3f} s"
    )
    print(f"{'':12}50 tenants on the screen {statistics.median(ready):.3f} s")


def first_paint(command: list[str], folder: Path) -> tuple[float, float]:
    """Start the UI on a terminal of 80x60; seconds until its header and until its list is drawn."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 80, 0, 0))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        seen, painted = b"", 0.0
        while LIST not in seen:
            ready, _, _ = select.select([ours], [], [], 30)
            assert ready, "nothing more is drawn"
            assert time.perf_counter() - start < 60, "the list does not come"
            seen += os.read(ours, 65536)
            if not painted and HEADER in seen:
                painted = time.perf_counter() - start
        return painted, time.perf_counter() - start
    finally:
        process.kill()
        process.wait()
        os.close(ours)


if __name__ == "__main__":
    main()
