"""How far a run is: nothing where it is short, plain lines in a pipe, a bar with its rate on a terminal."""

from __future__ import annotations

import io

import pytest

from knobctl.report.progress import progress


class Clock:
    """Moves so many seconds a look."""

    def __init__(self, step_s: float) -> None:
        self.now, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now += self.step_s
        return self.now


class Screen(io.StringIO):
    """A terminal that keeps what it shows."""

    def isatty(self) -> bool:
        return True


def run(stream: io.StringIO, total: int, step_s: float, *, wanted: bool = True) -> str:
    with progress(total, "writing", stream, clock=Clock(step_s), wanted=wanted) as step:
        for _ in range(total):
            step()
    return stream.getvalue()


def test_a_long_run_says_a_line_now_and_then_in_a_pipe() -> None:
    """Every ten seconds, with the rate and the time left, without anything that a log mangles."""
    lines = run(io.StringIO(), 1000, 0.1).splitlines()
    assert 5 <= len(lines) <= 20
    done, rate = lines[0].split(", ")[0], lines[0].split(", ")[1]
    assert done.startswith("writing ")
    assert done.endswith(" of 1,000")
    assert rate.endswith("/s")
    assert lines[0].endswith(" left")
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("total", [0, 1, 50])
def test_what_is_over_soon_says_nothing_in_a_pipe(total: int) -> None:
    """Quiet success is silent."""
    assert run(io.StringIO(), total, 0.001) == ""


@pytest.mark.parametrize("stream", [io.StringIO(), Screen()])
def test_who_wants_quiet_has_it(stream: io.StringIO) -> None:
    """On a terminal and in a pipe."""
    assert run(stream, 1000, 0.1, wanted=False) == ""


def test_on_a_terminal_a_bar_has_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within eighty columns."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(Screen(), 40_000, 0.01)
    last = shown.replace("\n", "").split("\r")[-1]
    assert "40000/40000" in last
    assert "/s" in last
    assert all(len(click_free(line)) <= 80 for line in shown.split("\r"))


def click_free(line: str) -> str:
    """A line without the sequences that draw it."""
    for sequence in ("\x1b[?25l", "\x1b[?25h", "\x1b[K", "\n"):
        line = line.replace(sequence, "")
    return line.rstrip()


@pytest.mark.parametrize(("stream", "lines"), [(io.StringIO(), 1), (Screen(), 2)])
def test_a_word_beside_the_bar_has_a_line_of_its_own(stream: io.StringIO, lines: int) -> None:
    """On a terminal the bar's line ends first; in a pipe there is none to end."""
    with progress(50, "writing", stream, clock=Clock(0.1)) as step:
        step()
        before = stream.getvalue()
        step.make_room()
        stream.write("note: a word\n")
    assert stream.getvalue().removeprefix(before).split("note: a word")[0] == "\n" * (lines - 1)
