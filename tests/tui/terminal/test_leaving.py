"""Leaving gives the terminal back as it was, however it comes about; what is no terminal is told so."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.tui.terminal.driving import AS_IT_WAS, ended, terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Knobctl

FLEET = "tenant: acme\nknobs:\n  retrieval_min_score: 0.45\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one tenant."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    (folder / "acme.yaml").write_text(FLEET, encoding="utf-8")
    return folder


def test_ctrl_c_explains_how_to_leave_and_q_leaves(folder: Path) -> None:
    """Ctrl-C ends nothing; `q` does, with exit code 0 and the terminal as it was."""
    with terminal(folder) as tmux:
        tmux.run("tui")
        tmux.wait("acme")
        tmux.send("C-c")
        tmux.wait("press q or type :q to leave", "acme")
        tmux.send("q")
        assert tmux.back() == 0
        assert tmux.modes == AS_IT_WAS


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGINT, 130)]
)
def test_a_signal_ends_it_in_good_order(folder: Path, number: signal.Signals, code: int) -> None:
    """The exit code says which signal it was, and the terminal is as it was."""
    with terminal(folder) as tmux:
        tmux.run("tui")
        tmux.wait("acme")
        tmux.signal(number)
        assert tmux.back() == code
        assert tmux.modes == AS_IT_WAS


def test_a_lost_terminal_ends_it(folder: Path) -> None:
    """Nothing is left behind that burns a core where nobody looks."""
    with terminal(folder) as tmux:
        tmux.run("tui")
        tmux.wait("acme")
        assert ended(tmux.lose())


def test_a_lost_terminal_ends_it_even_where_nobody_is_told(folder: Path) -> None:
    """A process that was started to survive its terminal gets no signal, and must see by itself."""
    with terminal(folder) as tmux:
        tmux.type("trap '' HUP; knobctl tui")
        tmux.send("Enter")
        tmux.wait("acme")
        assert ended(tmux.lose())


def test_a_dumb_terminal_is_refused_in_words(folder: Path) -> None:
    """The answer names the commands that need no screen."""
    with terminal(folder) as tmux:
        tmux.type("TERM=dumb knobctl tui")
        tmux.send("Enter")
        tmux.wait("TERM is dumb", "knobctl check")
        assert tmux.back() == 2
        tmux.type("knobctl tui 2>errors")
        tmux.send("Enter")
        assert tmux.back() == 2
        assert "standard error is no terminal" in (folder / "errors").read_text(encoding="utf-8")


def test_without_any_terminal_it_does_not_start(knobctl: Knobctl) -> None:
    """A script gets exit code 2 and is told what to call instead."""
    result = knobctl("tui")
    assert result.code == 2
    assert "needs a terminal" in result.err
    assert "knobctl check" in result.err


def test_without_its_documents_it_does_not_start(knobctl: Knobctl) -> None:
    """A mistyped path is said before anything is drawn."""
    done = knobctl("tui", "nowhere")
    assert (done.code, "'nowhere' does not exist" in done.err) == (2, True), done.err


def test_it_ends_in_good_order_after_an_editor_had_the_terminal(folder: Path) -> None:
    """What hears signals and a lost terminal is there again with the screen."""
    editor = folder.with_name("editor.sh")
    editor.write_text("#!/bin/sh\necho the-editor-is-here\nsleep 1\n", encoding="utf-8")
    editor.chmod(0o755)
    with terminal(folder, EDITOR=str(editor)) as tmux:
        tmux.run("tui")
        tmux.wait("acme")
        tmux.send("Enter")
        tmux.wait("e edit", "rrf_k")
        tmux.send("o")
        tmux.wait("the-editor-is-here")
        tmux.wait("rrf_k", without="the-editor-is-here")
        tmux.signal(signal.SIGTERM)
        assert tmux.back() == 143
        assert tmux.modes == AS_IT_WAS


_DEFECT = """
from knobctl.tui.app import KnobctlApp
from knobctl.cli.main import main

def broken(self):
    secret = "token-of-somebody"
    raise ValueError("a defect")

KnobctlApp.action_help = broken
main()
"""


def test_a_crash_gives_the_terminal_back_and_writes_a_report(folder: Path) -> None:
    """Exit code 1, a line that names the report, and no traceback with values on the terminal."""
    (folder / "defect.py").write_text(_DEFECT, encoding="utf-8")
    with terminal(folder) as tmux:
        tmux.type(f"{sys.executable} defect.py tui .")
        tmux.send("Enter")
        tmux.wait("acme")
        tmux.send("?")
        screen = tmux.wait("internal error", "this is a defect of knobctl")
        assert "Traceback" not in screen
        assert "token-of-somebody" not in screen
        assert tmux.back() == 1
        assert tmux.modes == AS_IT_WAS
    (report,) = folder.with_name("fleet-home").glob("state/knobctl/crash-*.txt")
    assert "ValueError: a defect" in report.read_text(encoding="utf-8")


def test_a_terminal_too_small_says_so_in_a_line(folder: Path) -> None:
    """Below 60x16 the command that does the same is named; grown again, the place is back."""
    with terminal(folder) as tmux:
        tmux.run("tui")
        tmux.wait("acme")
        tmux.resize(59, 15)
        tmux.wait("59x15 is too small", "knobctl get", without="acme ")
        tmux.resize(60, 16)
        tmux.wait("acme", "? help", without="too small")
        tmux.resize(200, 60)
        tmux.wait("acme", "? help")
