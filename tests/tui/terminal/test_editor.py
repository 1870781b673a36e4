"""The user's editor gets the terminal and gives it back; a draft outlives the terminal."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from tests.tui.terminal.driving import Tmux, ended, terminal

if TYPE_CHECKING:
    from pathlib import Path

FILE = "# Contract of 2024.\ntenant: acme\nknobs:\n  retrieval_min_score: 0.25\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one tenant."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    (folder / "acme.yaml").write_text(FILE, encoding="utf-8")
    return folder


def editor(folder: Path, *rounds: str) -> str:
    """A program that edits the n-th time it is called as the n-th shell line says, and shows that it ran."""
    path = folder.parent / "editor"
    lines = "\n".join(f"  {number}) {line} ;;" for number, line in enumerate(rounds))
    path.write_text(
        "#!/bin/sh\n"
        f'n=$(cat "{path}.n" 2>/dev/null || echo 0); echo $((n + 1)) > "{path}.n"\n'
        f'test -t 0 && test -t 2 && echo "edited $n" >> "{path}.ran"\n'
        f"case $n in\n{lines}\nesac\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def opened(tmux: Tmux) -> None:
    """Open the tenant."""
    tmux.run("tui", "--engine", "embedded:engine.db")
    tmux.wait("acme")
    tmux.press(":")
    tmux.wait("tenant:NAME")
    tmux.type("tenant acme")
    tmux.press("Enter")
    tmux.wait("live, never written", "retrieval_min_score = 0.25")


def test_what_is_saved_in_the_editor_stands_in_the_draft(folder: Path) -> None:
    """A text with errors is told and can be edited again; one that cannot be edited changes nothing."""
    rounds = editor(
        folder,
        """sed -i 's/0.25/4/' "$1" """,
        """sed -i 's/: 4/: 0.20/' "$1" """,
        "exit 3",
        "true",
    )
    with terminal(folder, EDITOR=rounds) as tmux:
        opened(tmux)
        tmux.press("o")
        tmux.wait("1 error in the text; nothing was taken from it", "out-of-range")
        tmux.press("y")
        tmux.wait("retrieval_min_score = 0.20", "what was saved", "1 edit")
        assert tmux.modes.alternate
        tmux.press("o")
        tmux.wait("the editor ended with 3")
        tmux.press("o")
        tmux.wait("nothing was changed")
        tmux.press("u")
        tmux.wait("undone: retrieval_min_score")
    assert (folder / "acme.yaml").read_text(encoding="utf-8") == FILE
    ran = (folder.parent / "editor.ran").read_text().splitlines()
    assert ran == ["edited 0", "edited 1", "edited 2", "edited 3"]
    assert list((folder.with_name("fleet-home") / "state/knobctl/edits").iterdir()) == []


def test_more_than_knobs_is_written_where_writing_is_armed(folder: Path) -> None:
    """Comments are no edits of a draft: the file is written after its diff was seen, else the text is kept."""
    change = """sed -i 's/2024/2025/; s/0.25/0.2/' "$1" """
    with terminal(folder, EDITOR=editor(folder, change, change)) as tmux:
        opened(tmux)
        tmux.press("o")
        tmux.wait("needs the file", "is kept in", "1 edit")
        tmux.press(":")
        tmux.wait("tenant:NAME")
        tmux.type("arm comments")
        tmux.press("Enter")
        tmux.wait("Enter arms for 15 minutes")
        tmux.press("Enter")
        tmux.wait("ARMED")
        tmux.press("o")
        tmux.wait("Write acme.yaml?", "+# Contract of 2025.")
        tmux.press("y")
        tmux.wait("the file of acme is written", without="1 edit")
    text = (folder / "acme.yaml").read_text(encoding="utf-8")
    assert text == FILE.replace("2024", "2025").replace("0.25", "0.2")


def test_a_lost_terminal_loses_no_edit(folder: Path) -> None:
    """The next session goes on with the draft."""
    with terminal(folder) as tmux:
        opened(tmux)
        tmux.press("e")
        tmux.type("0.4")
        tmux.wait("retrieval_min_score = 0.4 ", "1 edit")
        tmux.press("Enter")
        tmux.wait("retrieval_min_score = 0.4 ", without="Enter keeps")
        assert ended(tmux.lose())
    with terminal(folder) as tmux:
        tmux.run("tui", "--engine", "embedded:engine.db")
        tmux.wait("acme")
        tmux.press(":")
        tmux.wait("tenant:NAME")
        tmux.type("tenant acme")
        tmux.press("Enter")
        tmux.wait("retrieval_min_score = 0.4 ", "1 edit")
