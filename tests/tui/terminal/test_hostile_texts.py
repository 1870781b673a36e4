"""Texts from outside in a real terminal: they are seen, and nothing obeys them."""

from __future__ import annotations

import re
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.engines import Clock
from tests.tui.hostile import TAKEN, hostile_engine, hostile_fleet, unseen
from tests.tui.terminal.driving import AS_IT_WAS, MAIN, Tmux, terminal

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


@pytest.mark.parametrize(("width", "height"), [(80, 24), (140, 40)])
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
            tmux.wait(tenant, "retrieval_vector_top_k", "live r1")
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_gives_the_terminal_back(work: Path, number: signal.Signals) -> None:
    """Whoever ends the program from outside finds the shell as it was, and the code that says how it ended."""
    with terminal(work) as tmux:
        title = tmux.title
        tmux.run("tui", "fleet", "--engine", "embedded:engine.db")
        tmux.wait("state", "findings")
        tmux.signal(number)
        assert tmux.back() == (130 if number is signal.SIGINT else 143)
        assert (tmux.modes, tmux.title, tmux.clipboard) == (AS_IT_WAS, title, [])


def test_a_crash_gives_the_terminal_back_and_says_where_its_report_is(work: Path) -> None:
    """No traceback on the screen; exit code 1, which is no verdict."""
    crashing = (
        f"from knobctl.tui.app import KnobctlApp; KnobctlApp.action_theme = lambda _: 1 / 0; {MAIN}"
    )
    with terminal(work, main=crashing) as tmux:
        title = tmux.title
        tmux.run("tui", "fleet", "--engine", "embedded:engine.db")
        tmux.wait("state", "findings")
        tmux.type(":theme")
        tmux.press("Enter")
        assert tmux.back() == 1
        assert (tmux.modes, tmux.title, tmux.clipboard) == (AS_IT_WAS, title, [])
        screen = tmux.screen()
        assert "internal error" in screen
        assert "ZeroDivisionError" in screen
        assert "Traceback" not in screen


def test_a_terminal_that_can_only_write_lines_is_told_what_to_use_instead(work: Path) -> None:
    """`TERM=dumb` and no terminal at all: words, the command that shows the same, exit code 2."""
    with terminal(work) as tmux:
        for line in (
            "TERM=dumb knobctl tui fleet",
            "knobctl tui fleet </dev/null | cat; (exit ${PIPESTATUS[0]})",
        ):
            tmux.type(line)
            tmux.send("Enter")
            assert (tmux.back(), tmux.modes) == (2, AS_IT_WAS)
            assert "knobctl check, diff, set, apply" in tmux.screen()


def test_without_colour_signs_and_words_say_it_all(work: Path) -> None:
    """`NO_COLOR`: not one colour reaches the terminal, and the states are words."""
    with terminal(work, NO_COLOR="1") as tmux:
        tmux.run("tui", "fleet", "--engine", "embedded:engine.db")
        tmux.wait("state", "findings", "x error")
        colours = set(re.findall(r"\x1b\[[0-9;:]*m", tmux.screen(colors=True)))
        assert not [one for one in colours if re.search(r"[34][0-8]\b|9[0-7]\b|10[0-7]\b", one)]
