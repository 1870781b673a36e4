"""How far a load is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol, TextIO

import click

from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from click._termui_impl import ProgressBar

BETWEEN_LINES_S: Final = 15.0


class Bar(Protocol):
    """What is told of the progress."""

    def embedded(self, chunks: int) -> None:
        """So many chunks more were embedded."""

    def taken(self, size: int, texts: int) -> None:
        """So many bytes and texts more are in the store."""


@contextmanager
def loading_bar(
    size: int,
    texts: int,
    stream: TextIO,
    *,
    wanted: bool,
    monotonic: Callable[[], float] = time.monotonic,
) -> Iterator[Bar]:
    """Show how far a load is.

    Args:
        size: How many bytes there are to load.
        texts: How many texts.
        stream: Where it is shown.
        wanted: Whether the person wants to see it.
        monotonic: Seconds that never go back.
    """
    if not wanted:
        yield _Quiet()
    elif not stream.isatty():
        yield _Lines(size, texts, stream, monotonic)
    else:
        rate = _Rate(monotonic)
        bar: ProgressBar[int] = click.progressbar(
            length=size, label="loading", file=stream, width=24, item_show_func=lambda _: str(rate)
        )
        with bar:
            yield _Drawn(bar, rate)


class _Rate:
    """Chunks a second since the beginning."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._began = monotonic()
        self.chunks = 0

    @property
    def seconds(self) -> float:
        return self._monotonic() - self._began

    def __str__(self) -> str:
        if not self.chunks or not self.seconds:
            return ""
        return f"{count(self.chunks, 'chunk')}, {self.chunks / self.seconds:.3g}/s"


class _Quiet:
    def embedded(self, chunks: int) -> None:
        pass

    def taken(self, size: int, texts: int) -> None:
        pass


class _Drawn:
    def __init__(self, bar: ProgressBar[int], rate: _Rate) -> None:
        self._bar = bar
        self._rate = rate

    def embedded(self, chunks: int) -> None:
        self._rate.chunks += chunks
        self._bar.current_item = self._rate.chunks
        self._bar.render_progress()

    def taken(self, size: int, texts: int) -> None:  # noqa: ARG002  a bar counts bytes
        self._bar.update(size)


class _Lines:
    def __init__(
        self, size: int, texts: int, stream: TextIO, monotonic: Callable[[], float]
    ) -> None:
        self._size, self._texts, self._stream = size, texts, stream
        self._rate = _Rate(monotonic)
        self._done_size = self._done_texts = 0
        self._next = BETWEEN_LINES_S

    def embedded(self, chunks: int) -> None:
        self._rate.chunks += chunks
        self._write()

    def taken(self, size: int, texts: int) -> None:
        self._done_size += size
        self._done_texts += texts
        self._write()

    def _write(self) -> None:
        seconds = self._rate.seconds
        if seconds < self._next or self._done_texts == self._texts:
            return
        self._next = seconds + BETWEEN_LINES_S
        parts = [f"{self._done_texts:,} of {count(self._texts, 'text')}", str(self._rate)]
        if self._done_size:
            parts.append(_left(seconds * (self._size / self._done_size - 1)))
        self._stream.write(", ".join(part for part in parts if part) + "\n")
        self._stream.flush()


def _left(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(round(seconds), 1)} s left"
    minutes = round(seconds / 60)
    return f"about {minutes} min left" if minutes < 120 else f"about {round(minutes / 60)} h left"
