"""The way in: the fast path of `--version`, then the commands."""

from __future__ import annotations

import sys


def main() -> None:
    """Run knobctl and exit with one of the contract's codes."""
    if sys.argv[1:] == ["--version"]:
        from knobctl import __version__

        print(f"knobctl {__version__}")
        return
    from knobctl.cli.edge import run

    sys.exit(run(sys.argv[1:]))
