"""Programs that the tests drive: tmux and Chromium, installed where they are missing and may be."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

INSTALL = ("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120", "install", "-y")
INSTALLING_S = {"tmux": 240, "chromium": 280}


@cache
def require_tmux() -> None:
    """See that there is a terminal to drive."""
    _require("tmux", "no terminal to drive")


@cache
def require_chromium() -> None:
    """See that there is a browser to drive."""
    _require("chromium", "no browser to drive")


def _require(program: str, missing: str) -> None:
    """Install it by Debian's package of its name as root, else skip and say what to install."""
    lock = Path(tempfile.gettempdir()) / f"knobctl-tests-{os.geteuid()}-{program}.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # tests run side by side, and one of them installs
        if shutil.which(program) is None and os.geteuid() == 0 and shutil.which("apt-get"):
            for command in (("apt-get", "-qq", "update"), (*INSTALL, program)):
                subprocess.run(
                    command, check=False, capture_output=True, timeout=INSTALLING_S[program]
                )
    if shutil.which(program) is None:
        pytest.skip(f"{missing}: install {program}, for example with apt-get install {program}")
