"""The terminal that the tests drive: tmux, installed where it is missing and may be."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

INSTALL = ("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120", "install", "-y", "tmux")


@cache
def require_tmux() -> None:
    """See that there is tmux; install it by Debian's packages as root, else skip and say what to install."""
    lock = Path(tempfile.gettempdir()) / f"knobctl-tests-{os.geteuid()}-tmux.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # tests run side by side, and one of them installs
        if shutil.which("tmux") is None and os.geteuid() == 0 and shutil.which("apt-get"):
            for command in (("apt-get", "-qq", "update"), INSTALL):
                subprocess.run(command, check=False, capture_output=True, timeout=240)
    if shutil.which("tmux") is None:
        pytest.skip("no terminal to drive: install tmux, for example with apt-get install tmux")
