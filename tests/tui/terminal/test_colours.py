"""The colours that reach a real terminal: none where none are wanted, its own where it has few."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from tests.tui.terminal.driving import terminal

if TYPE_CHECKING:
    from pathlib import Path

_SGR: Final = re.compile(r"\x1b\[([0-9;]*)m")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one tenant."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    (folder / "acme.yaml").write_text("tenant: acme\nknobs: {rrf_k: 30}\n", encoding="utf-8")
    return folder


def colours(folder: Path, *options: str, **variables: str) -> set[int]:
    """The parameters of all colours on the screen of the palette, which has all kinds of text."""
    with terminal(folder) as tmux:
        given = [f"{name}={value}" for name, value in variables.items()]
        tmux.type(" ".join(["env", *given, "knobctl", "tui", *options]))
        tmux.send("Enter")
        tmux.wait("acme")
        tmux.send(":", "t")
        tmux.wait(":theme")
        screen = tmux.screen(colors=True)
        tmux.send("Escape")
        tmux.wait("acme")
        tmux.send("q")
        assert tmux.back() == 0
    parts = {int(part or 0) for found in _SGR.findall(screen) for part in found.split(";")}
    return {part for part in parts if part not in {0, 1, 2, 4, 7, 39, 49}}


def test_no_color_means_none(folder: Path) -> None:
    """Bold, dim, underlined and turned round is all there is."""
    assert colours(folder, NO_COLOR="1") == set()
    assert colours(folder, "--color", "never") == set()


def test_a_terminal_of_sixteen_colours_gets_its_own(folder: Path) -> None:
    """No number of a palette, no mixed colour."""
    found = colours(folder, TERM="xterm", COLORTERM="")
    assert not found & {38, 48}


def test_a_theme_that_is_asked_for_is_taken(folder: Path) -> None:
    """Even against what the terminal seems to want."""
    assert colours(folder, "--theme", "high-contrast", NO_COLOR="1") & {38, 48}


def test_a_mistyped_theme_is_told_before_anything_is_drawn(folder: Path) -> None:
    """In words, with exit code 2."""
    with terminal(folder) as tmux:
        tmux.run("tui", "--theme", "high-contast")
        tmux.wait("did you mean high-contrast?")
        assert tmux.back() == 2
