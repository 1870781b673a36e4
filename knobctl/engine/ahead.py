"""A list that is fetched before anybody asks for it, while other work is done."""

from __future__ import annotations

from itertools import islice
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from knobctl.errors import KnobctlError

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")
_CHUNK: Final = 200
"""So many items are handed over at a time: each takes its turn with the other thread."""


class Ahead(Generic[T]):
    """Items that are fetched in a thread from now on."""

    def __init__(self, items: Iterator[T]) -> None:
        """Begin.

        Args:
            items: Fetches them. The thread ends with it; nobody else may ask it.
        """
        self._handed: SimpleQueue[list[T] | KnobctlError | None] = SimpleQueue()
        self._is_over = Event()
        Thread(target=self._fetch, args=(items,), name="knobctl-ahead", daemon=True).start()

    def items(self) -> Iterator[T]:
        """Give the items in their order, once.

        Raises:
            KnobctlError: What fetching them raised, behind the items that came before.
        """
        try:
            while chunk := self._handed.get():
                if isinstance(chunk, KnobctlError):
                    raise chunk
                yield from chunk
        finally:
            self.stop()

    def stop(self) -> None:
        """Fetch no more: nobody wants the rest."""
        self._is_over.set()

    def _fetch(self, items: Iterator[T]) -> None:
        try:
            while not self._is_over.is_set() and (chunk := list(islice(items, _CHUNK))):
                self._handed.put(chunk)
        except KnobctlError as error:
            self._handed.put(error)
        finally:
            self._handed.put(None)
