"""Start-up of knobctl as ratios to a bare interpreter and to `import click`.

Run: python -m tests.benchmarks.startup
"""

import shutil
import sys
from pathlib import Path

from tests.benchmarks.timing import line, medians


def main() -> None:
    """Print each ratio beside its limit."""
    knobctl = shutil.which("knobctl", path=str(Path(sys.executable).parent))
    assert knobctl, "install knobctl beside this interpreter first"
    seconds = medians(
        {
            "bare": [sys.executable, "-c", "pass"],
            "click": [sys.executable, "-c", "import click"],
            "version": [knobctl, "--version"],
            "help": [knobctl, "--help"],
        },
        repeats=21,
    )
    print(line("--version to a bare `python -c pass`", seconds["version"] / seconds["bare"], 2))
    print(line('--help to `python -c "import click"`', seconds["help"] / seconds["click"], 1.6))


if __name__ == "__main__":
    main()
