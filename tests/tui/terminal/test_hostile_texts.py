"""Texts from outside in a real terminal: they are seen, and nothing obeys them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.engines import Clock
from tests.tui.hostile import TAKEN, hostile_engine, hostile_fleet, unseen
from tests.tui.terminal.driving import AS_IT_WAS, Tmux, terminal

START = datetime.now(UTC) - timedelta(days=1)
STEPS = 6
"""So many times ten lines of the fleet are walked over: broken files, odd names, hostile owners."""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A hostile fleet, and an engine that hostile actors wrote to."""
    folder = tmp_path / "work"
    hostile_fleet(folder / "fleet")
    hostile_engine(folder / "engine.db", Clock(START))
    return folder


def harmless(tmux: Tmux, title: str) -> None:
    """Nothing that was tried came true."""
    screen = tmux.screen()
    assert (tmux.title, tmux.clipboard) == (title, [])
    assert tmux.modes.alternate, screen
    assert not unseen(screen.replace("\n", "")), unseen(screen)


@pytest.mark.parametrize(
    ("width", "height"), [(80, 24), pytest.param(140, 40, marks=pytest.mark.slow)]
)
def test_a_hostile_fleet_takes_nothing_over(work: Path, width: int, height: int) -> None:
    """Title, clipboard, alternate screen and shell are as they were, wherever one goes."""
    with terminal(work, width=width, height=height) as tmux:
        title = tmux.title
        tmux.run("tui", "fleet", "--engine", "embedded:engine.db")
        tmux.wait("state", "findings")
        for _ in range(STEPS):
            tmux.send(*["j"] * 10)
            harmless(tmux, title)
        for tenant in ("h-title", "h-click"):
            tmux.type(f":tenant {tenant}")
            tmux.send("Enter")
            tmux.wait(tenant, "live r1", "reset")
            harmless(tmux, title)
            tmux.press("d")
            tmux.wait("what the draft changes")
            harmless(tmux, title)
            tmux.press("Escape")
            tmux.wait(
                "effective", without="what the draft"
            )  # what follows an escape at once belongs to it
        tmux.type(":push")
        tmux.send("Enter")
        tmux.wait("PUSH PLAN")
        harmless(tmux, title)
        tmux.press("3")
        tmux.wait("h-click: 1 event")
        harmless(tmux, title)
        tmux.press("1")
        tmux.wait("state", "findings")
        tmux.press("3")
        tmux.wait("28 events")
        harmless(tmux, title)
        tmux.send(*["j"] * 20)
        harmless(tmux, title)
        tmux.press("L")
        tmux.wait("log")
        harmless(tmux, title)
        tmux.press("q")
        assert tmux.back() == 0
        assert (tmux.modes, tmux.title, tmux.clipboard) == (AS_IT_WAS, title, [])
        assert TAKEN not in tmux.screen()
