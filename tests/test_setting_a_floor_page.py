"""docs/setting-a-floor.md says what happens: played whole on the judged corpus, from the symptom to the push.

To write the sessions' output anew: python -m tests.test_setting_a_floor_page
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.playing import ROOT, SESSION, Stage, commands, steady

PAGE = ROOT / "docs" / "setting-a-floor.md"


def played(page: str) -> str:
    """The page with the output of its sessions as it is now."""
    with tempfile.TemporaryDirectory() as name:
        private, folder = Path(name) / "private", Path(name) / "knobs"
        private.mkdir()
        folder.mkdir()
        files = ROOT / "examples" / "squad2_files.py"
        subprocess.run([sys.executable, files, private], check=True, stdout=subprocess.DEVNULL)
        stage = Stage(folder)
        stage.write_files(page)
        (folder / ".gitignore").write_text(".*\n")
        begun = stage.shell("git init -q -b main && git add . && git commit -qm knobs")
        assert begun.returncode == 0, begun.stdout
        (folder / "evidence").mkdir()

        def play(session: re.Match[str]) -> str:
            return "".join(
                f"$ {line}\n{without_times(stage.shell(line).stdout)}"
                for line in commands(session[1])
            )

        return SESSION.sub(play, page)


def without_times(output: str) -> str:
    """An output without what differs from run to run, and without progress."""
    output = re.sub(r"(?m)^(asking|embedding|loading) .*\n", "", steady(output))
    output = re.sub(r"\bplan [0-9a-f]{12}\b", "plan c3885eb2ae5f", output)
    output = re.sub(r"(?<=\brun )[0-9a-f]{8}\b", "7b21e0c4", output)
    output = re.sub(r"\b20\d\d-\d\d-\d\d\b", "2026-11-30", output)
    output = output.replace("until 2026-11-30", "until 2026-12-30")
    output = re.sub(r"(?<=, )[0-9a-f]{12}(?=\])", "51d0381856f2", output)
    kept = "~/.local/share/knobctl/calibrations/8e13"
    return re.sub(r"/[\w/.-]*/knobctl/calibrations/[0-9a-f]+", kept, output)


@pytest.fixture(scope="module")
def page() -> str:
    """The page."""
    return PAGE.read_text()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_floor_is_set_as_the_page_says(page: str) -> None:
    """Each console block is the real output of its commands, played one after the other."""
    assert len(SESSION.findall(page)) >= 10
    assert played(page) == page


def test_it_names_what_its_last_run_measured(page: str) -> None:
    """Every session that prints something shows it: no block was left empty."""
    silent = ("export", "git", "sed", "knobctl unset")
    for session in SESSION.findall(page):
        lines = session.splitlines()
        asks = [line for line in commands(session) if not line.startswith(silent)]
        assert len(lines) > len(commands(session)) or not asks, session


if __name__ == "__main__":
    PAGE.write_text(played(PAGE.read_text()))
