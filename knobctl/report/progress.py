"""How far a run is: a bar on a terminal, a plain line now and then in a pipe."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LINE_EVERY_S: Final = 10.0
"""In a pipe: what is over sooner says nothing."""


@contextmanager
def progress(
    total: int,
    label: str,
    stream: TextIO,
    *,
    clock: Callable[[], float],
    wanted: bool = True,
) -> Iterator[Steps]:
    """Show how far a run is, how fast it goes, and how long it will take.

    Args:
        total: How many steps there are.
        label: What is done.
        stream: Where it goes: a bar if it is a terminal, else a line every ten seconds.
        clock: Seconds that only grow.
        wanted: Whether the person wants to see it.

    Yields:
        What to call after each step.
    """
    if not wanted or total < 2:
        yield Steps(lambda: None)
        return
    pace = _Pace(total, clock)
    if not stream.isatty():
        yield Steps(lambda: _line(pace, label, stream))
        return
    # Words and numbers beside the bar take some forty columns; what is wider scrolls the screen.
    width = max(8, min(36, shutil.get_terminal_size().columns - 44))

    def shown(_: int | None) -> str:
        return pace.rate

    with click.progressbar(
        length=total,
        label=label,
        file=stream,
        show_pos=True,
        width=width,
        item_show_func=shown,
    ) as bar:

        def step() -> None:
            pace.step()
            bar.update(1)

        yield Steps(step, stream)


class Steps:
    """What is called after each step, and before somebody else writes where the bar is."""

    def __init__(self, step: Callable[[], None], bar: TextIO | None = None) -> None:
        self._step, self._bar = step, bar

    def __call__(self) -> None:
        """One more is done."""
        self._step()

    def make_room(self) -> None:
        """End the line of the bar, if there is one; it goes on below."""
        if self._bar is not None:
            click.echo(file=self._bar)


class _Pace:
    """How far a run is, and how fast it goes."""

    def __init__(self, total: int, clock: Callable[[], float]) -> None:
        self.total, self._clock = total, clock
        self.done = 0
        self._start = self._told = clock()

    def step(self) -> None:
        """One more is done."""
        self.done += 1

    @property
    def per_second(self) -> float:
        """Steps a second since the start."""
        return self.done / max(self._clock() - self._start, 1e-3)

    @property
    def rate(self) -> str:
        """The rate for people: `85/s`, `0.4/s`."""
        return f"{self.per_second:,.{0 if self.per_second >= 10 else 1}f}/s"

    @property
    def is_due(self) -> bool:
        """Whether it is time for another line, which counts as told then."""
        now = self._clock()
        if now - self._told < LINE_EVERY_S:
            return False
        self._told = now
        return True

    @property
    def left(self) -> str:
        """How long it will take at this rate: `40 s left`, `7 min left`."""
        seconds = (self.total - self.done) / self.per_second
        return f"{seconds:,.0f} s left" if seconds < 100 else f"{seconds / 60:,.0f} min left"


def _line(pace: _Pace, label: str, stream: TextIO) -> None:
    pace.step()
    if pace.done < pace.total and pace.is_due:
        click.echo(
            f"{label} {pace.done:,} of {pace.total:,}, {pace.rate}, {pace.left}", file=stream
        )
