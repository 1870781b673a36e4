"""Gives processes another clock: the real libfaketime, which stands between a program and the system's time."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

_SHARED_OBJECT = Path("vendor", "libfaketime", "src", "libfaketime.so.1")


def clock_at(offset: str) -> dict[str, str]:
    """The environment of a process whose clock is off, by `+10y` or `-10y`; what is monotonic stays so."""
    return {**_preloaded(), "FAKETIME": offset}


def clock_in(file: Path) -> dict[str, str]:
    """The environment of a process whose clock is off by what a file says, at any time anew."""
    return {**_preloaded(), "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"}


def _preloaded() -> dict[str, str]:
    found = find_spec("libfaketime")
    assert found is not None
    assert found.origin is not None
    library = Path(found.origin).parent / _SHARED_OBJECT
    # Without the last one, threads that wait for one another wait too long.
    return {
        "LD_PRELOAD": str(library),
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
    }


def year_at(environment: dict[str, str]) -> int:
    """The year that a process sees, to know that its clock is off indeed."""
    program = "import datetime; print(datetime.datetime.now().year)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True
    )
    return int(done.stdout)


def this_year() -> int:
    """The year of this process."""
    return datetime.now().astimezone().year
