"""README says what the product does: its sessions, its table of commands, its exit codes.

To write the sessions' output and the table anew: python -m tests.test_readme
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from knobctl.cli.group import COMMANDS
from knobctl.errors import ExitCode

if TYPE_CHECKING:
    from tests.cli.inside import Inside

README = Path(__file__).parent.parent / "README.md"
GATE = README.parent / "docs" / "gate.md"
BENCHMARK = README.parent / "docs" / "benchmark.md"
SESSION = re.compile(r"(?<=```console\n)(.*?)(?=```\n)", re.DOTALL)
TABLE = re.compile(r"<!-- commands -->\n(.*?)(?=\n\n`knobctl COMMAND)", re.DOTALL)
NAMED = re.compile(r"`knobctl ([a-z]+)")
OPTIONS = re.compile(r"`knobctl ((?:[a-z]+ )+[^`]*--[^`]*)`")
TEXTS = {".json", ".yaml", ".yml", ".py", ".toml"}
FIRST = "tenant: acme\nknobs:\n  retrieval_min_score: 0,15\n  retrieval_vector_top_k: 32\n"


def played(text: str) -> str:
    """The README with the output of its sessions as it is now, all played in one folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "acme.yaml").write_text(FIRST)
        (folder / "examples").mkdir()
        for name_ in ("corpus.jsonl", "squad2-dev/scores.jsonl"):
            copy = folder / "examples" / name_
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(README.parent / "examples" / name_, copy)
        shims = folder / ".bin"
        shims.mkdir()
        shim = shims / "knobctl"
        shim.write_text(
            f'#!/bin/sh\nexec {sys.executable} -c "from knobctl.cli.main import main; main()" "$@"\n'
        )
        shim.chmod(0o755)
        environment = {
            "PATH": f"{shims}:{os.environ['PATH']}",
            "PYTHONPATH": str(README.parent),
            "LOGNAME": "anna",
            "LANG": "C.UTF-8",
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", "anna"), ("EMAIL", "anna@example.invalid"))
            },
            **{
                f"XDG_{kind}_HOME": str(folder / f".{kind}")
                for kind in ("DATA", "CONFIG", "STATE", "CACHE")
            },
        }

        def play(session: re.Match[str]) -> str:
            lines = [line[2:] for line in session[1].splitlines() if line.startswith("$ ")]
            return "".join(f"$ {line}\n{output(line)}" for line in lines)

        def output(line: str) -> str:
            if line.startswith("export "):
                key, value = line.removeprefix("export ").split("=", 1)
                environment[key] = value
                return ""
            done = subprocess.run(
                ["bash", "-c", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            )  # fmt: skip
            return steady(done.stdout)

        return SESSION.sub(play, text)


def steady(output: str) -> str:
    """An output without what differs from run to run: ages, durations, hashes."""
    output = re.sub(r"\b[0-9a-f]{64}\b", "5e0c...", output)
    output = re.sub(r"(just now|\d+ s ago)", "just now", output)
    output = re.sub(r"\(\d+\.\d s,\s+[\d.]+\s+chunks/s\)", "(1.1 s,\n  37.3 chunks/s)", output)
    output = re.sub(r"\(run [0-9a-f]{8}, ", "(run 7b21e0c4, ", output)
    return re.sub(r"(\(|, )\d+\.\d s\)", r"\g<1>0.0 s)", output)


def command_table() -> str:
    """The table of commands, from the group itself."""
    rows = [f"| `{name}` | {text} |" for name, text in COMMANDS.items()]
    return "\n".join(["| command | does |", "|---|---|", *rows])


def test_the_sessions_show_what_the_commands_print() -> None:
    """Each console block is the real output of its commands."""
    text = README.read_text()
    assert len(SESSION.findall(text)) >= 5
    assert played(text) == text


def test_the_table_lists_every_command() -> None:
    """A command without a row, or a row without a command, is a lie."""
    found = TABLE.search(README.read_text())
    assert found
    assert found[1] == command_table()


def test_no_text_names_a_command_that_is_not_there() -> None:
    """Neither the documentation nor a schema, a policy or a message promises a command."""
    root = README.parent
    texts = [README, root / "CHANGELOG.md", *(root / "docs").glob("*.md")]
    for folder in ("schemas", "policies", "knobctl", "examples"):
        texts += (path for path in (root / folder).rglob("*.*") if path.suffix in TEXTS)
    named = {
        (path.name, name)
        for path in texts
        for name in NAMED.findall(path.read_text(encoding="utf-8"))
    }
    assert ("README.md", "diff") in named
    assert {(file, name) for file, name in named if name not in COMMANDS} == set()


@pytest.mark.parametrize(
    "options",
    sorted(
        {one for page in (README, GATE, BENCHMARK) for one in OPTIONS.findall(page.read_text())}
    ),
)
def test_no_page_names_an_option_that_is_not_there(inside: Inside, options: str) -> None:
    """What the text gives as a command with options is taken by that command."""
    name, *words = options.split()
    below = [word for word in words[:1] if not word.startswith("-")]
    asked = inside(name, *below, "--help")
    assert asked.code == 0
    for word in words:
        assert not word.startswith("--") or word in asked.out, options


@pytest.mark.parametrize(
    "page",
    [README, GATE, *README.parent.glob("examples/*/README.md")],
    ids=lambda path: path.parent.name,
)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    """From where the page stands."""
    links = re.findall(r"\]\(([^)#:\s]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("code", list(ExitCode))
def test_every_exit_code_is_listed(code: ExitCode) -> None:
    """The table of exit codes has a row for each that can occur."""
    rows = [line for line in README.read_text().splitlines() if line.startswith("| ")]
    assert any(re.match(rf"\| (\d+, )?{code.value}(, \d+)? \| ", row) for row in rows)


if __name__ == "__main__":
    written = TABLE.sub(f"<!-- commands -->\n{command_table()}", README.read_text())
    README.write_text(played(written))
