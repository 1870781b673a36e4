"""README says what the product does: its sessions, its table of commands, its exit codes.

To write the sessions' output and the table anew: python -m tests.test_readme
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from knobctl.cli.group import COMMANDS
from knobctl.errors import ExitCode
from tests.playing import ROOT, SESSION, Stage, commands, steady

if TYPE_CHECKING:
    from tests.cli.inside import Inside

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
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
            shutil.copy(ROOT / "examples" / name_, copy)
        stage = Stage(folder)

        def play(session: re.Match[str]) -> str:
            return "".join(
                f"$ {line}\n{steady(stage.shell(line).stdout)}" for line in commands(session[1])
            )

        return SESSION.sub(play, text)


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
    sorted({one for page in PAGES for one in OPTIONS.findall(page.read_text())}),
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
    [*PAGES, *ROOT.glob("examples/*/README.md")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    """From where the page stands."""
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("code", list(ExitCode))
def test_every_exit_code_is_listed(code: ExitCode) -> None:
    """The table of exit codes has a row for each that can occur."""
    rows = [line for line in README.read_text().splitlines() if line.startswith("| ")]
    assert any(re.match(rf"\| (\d+, )?{code.value}(, \d+)? \| ", row) for row in rows)


if __name__ == "__main__":
    written = TABLE.sub(f"<!-- commands -->\n{command_table()}", README.read_text())
    README.write_text(played(written))
