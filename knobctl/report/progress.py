"""A progress bar on a terminal; nothing in a pipe."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress(
    total: int, label: str, stream: TextIO, *, wanted: bool = True
) -> Iterator[Callable[[], None]]:
    """Show how far a run is.

    Args:
        total: How many steps there are.
        label: What is done.
        stream: Where the bar goes, if it is a terminal.
        wanted: Whether the person wants to see it.

    Yields:
        What to call after each step.
    """
    if not wanted or total < 2 or not stream.isatty():
        yield lambda: None
        return
    # Words and numbers beside the bar take some thirty columns; what is wider scrolls the screen.
    width = max(8, min(36, shutil.get_terminal_size().columns - 34))
    with click.progressbar(
        length=total, label=label, file=stream, show_pos=True, width=width
    ) as bar:
        yield lambda: bar.update(1)
