"""A list that is fetched before anybody asks for it, while other work is done."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from knobctl.errors import KnobctlError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")
SHORT_TURN_S: Final = 0.0002
"""How long a thread keeps the interpreter from one that waits for it, while a list is fetched.

With the usual 5 ms each piece of an answer that comes in waits that long before anybody takes it, and the
engine with it: 0.8 s for 100,000 sets while a repository is read.
"""


class Ahead(Generic[T]):
    """Items that are fetched in a thread from now on."""

    def __init__(self, pieces: Iterator[Sequence[T]]) -> None:
        """Begin.

        Args:
            pieces: Fetches them, a page or so at a time: each piece takes its turn with the other thread.
                The thread ends with it; nobody else may ask it.
        """
        self._handed: SimpleQueue[Sequence[T] | KnobctlError | None] = SimpleQueue()
        self._is_over = Event()
        Thread(target=self._fetch, args=(pieces,), name="knobctl-ahead", daemon=True).start()

    def items(self) -> Iterator[T]:
        """Give the items in their order, once.

        Raises:
            KnobctlError: What fetching them raised, behind the items that came before.
        """
        try:
            while (piece := self._handed.get()) is not None:
                if isinstance(piece, KnobctlError):
                    raise piece
                yield from piece
        finally:
            self.stop()

    def stop(self) -> None:
        """Fetch no more: nobody wants the rest."""
        self._is_over.set()

    def _fetch(self, pieces: Iterator[Sequence[T]]) -> None:
        try:
            with _TURNS.short():
                for piece in pieces:
                    if self._is_over.is_set():
                        return
                    self._handed.put(piece)
        except KnobctlError as error:
            self._handed.put(error)
        finally:
            self._handed.put(None)


class _Turns:
    """The turns of the process's threads, which all lists that are fetched at a time share."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._lists = 0
        self._usual_s = 0.0

    @contextmanager
    def short(self) -> Iterator[None]:
        """Keep them short while at least one list is fetched."""
        with self._lock:
            if not self._lists:
                self._usual_s = sys.getswitchinterval()
                sys.setswitchinterval(SHORT_TURN_S)
            self._lists += 1
        try:
            yield
        finally:
            with self._lock:
                self._lists -= 1
                if not self._lists:
                    sys.setswitchinterval(self._usual_s)


_TURNS: Final = _Turns()
