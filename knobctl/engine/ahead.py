"""Things that are fetched before anybody asks for them, while other work is done."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event, Lock, Semaphore, Thread
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from knobctl.errors import KnobctlError

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")
MOST_AHEAD: Final = 64
"""So many wait to be asked for: a list without an end does not fill the memory."""
SHORT_TURN_S: Final = 0.0002
"""How long a thread keeps the interpreter from one that waits for it, while anything is fetched.

With the usual 5 ms each piece of an answer that comes in waits that long before anybody takes it, and the
engine with it: 0.8 s for 100,000 sets while a repository is read.
"""


class Ahead(Generic[T]):
    """Items that are fetched in a thread from now on."""

    def __init__(self, items: Iterator[T]) -> None:
        """Begin.

        Args:
            items: Fetches them. The thread ends with it; nobody else may ask it.
        """
        self._handed: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()
        self._room = Semaphore(MOST_AHEAD)
        self._is_over = Event()
        Thread(target=self._fetch, args=(items,), name="knobctl-ahead", daemon=True).start()

    def items(self) -> Iterator[T]:
        """Give the items in their order, once.

        Raises:
            BaseException: What fetching them raised, behind the items that came before.
        """
        try:
            while (handed := self._handed.get()) is not None:
                if isinstance(handed, BaseException):
                    raise handed
                self._room.release()
                yield handed[0]
        finally:
            self.stop()

    def stop(self) -> None:
        """Fetch no more: nobody wants the rest."""
        self._is_over.set()
        self._room.release()

    def _fetch(self, items: Iterator[T]) -> None:
        try:
            with _TURNS.short():
                for item in items:
                    self._handed.put((item,))
                    self._room.acquire()
                    if self._is_over.is_set():
                        return
        except KnobctlError as error:
            self._handed.put(error)
        except BaseException as error:
            self._handed.put(error)
            raise
        finally:
            self._handed.put(None)


class _Turns:
    """The turns of the process's threads, which all that is fetched at a time shares."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._threads = 0
        self._usual_s = 0.0

    @contextmanager
    def short(self) -> Iterator[None]:
        """Keep them short while at least one thread fetches."""
        with self._lock:
            if not self._threads:
                self._usual_s = sys.getswitchinterval()
                sys.setswitchinterval(SHORT_TURN_S)
            self._threads += 1
        try:
            yield
        finally:
            with self._lock:
                self._threads -= 1
                if not self._threads:
                    sys.setswitchinterval(self._usual_s)


_TURNS: Final = _Turns()
