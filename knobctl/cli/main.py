"""The way in: the fast path of `--version`, then the commands."""

from __future__ import annotations

import sys


def main() -> None:
    """Run knobctl and exit with one of the contract's codes."""
    if sys.argv[1:] == ["--version"]:
        from knobctl import __version__

        print(f"knobctl {__version__}")
        return
    import gc

    # A command makes documents and modules, which are no garbage: looking for it that often costs 3%.
    gc.set_threshold(50_000, 20, 50)
    from knobctl.cli.edge import run

    code = run(sys.argv[1:])
    # The interpreter looks for garbage once more as it ends: 0.25 s where a fleet of 100,000 was read.
    gc.freeze()
    sys.exit(code)
