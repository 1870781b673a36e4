"""Asks the rankers at once, waits no longer than each may take, and says what became of each."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T")

PREPARATION_S: Final = 30.0
"""Longest time that a ranker may take to get ready: to load a model, or to bring an index up to date."""
_THREADS: Final = 8
"""Of one ranker. Calls of a ranker that hangs take its own threads and nobody else's."""


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """What became of one ranker."""

    value: T | None
    error: BaseException | None = None
    is_late: bool = False
    latency_ms: float = 0.0
    """Of the answering alone; the time waited where it was late."""


class Stopwatch:
    """When one ranker was asked, and since when it has been answering."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self.asked = self.answering = monotonic()
        self.is_preparing = False
        self.finished: float | None = None

    @contextmanager
    def preparation(self) -> Iterator[None]:
        """Not the ranker's time: its limit begins anew behind this."""
        self.is_preparing = True
        try:
            yield
        finally:
            self.answering = self._monotonic()
            self.is_preparing = False

    def deadline(self, timeout_s: float) -> float:
        """When the ranker is late, as far as can be told by now."""
        if self.is_preparing:
            return self.asked + PREPARATION_S
        return self.answering + timeout_s


class FanOut:
    """Threads for each ranker. Safe to use from several threads."""

    def __init__(self, rankers: tuple[str, ...], *, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._threads = {
            name: ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix=f"ranker-{name}")
            for name in rankers
        }

    def ask(
        self, tasks: Mapping[str, Callable[[Stopwatch], T]], *, timeout_s: float
    ) -> dict[str, Answered[T]]:
        """Start every ranker's task, and wait until each has answered, failed or is late.

        Args:
            tasks: Ranker to what it does.
            timeout_s: The time that each has, preparations left out.
        """
        watches = {name: Stopwatch(self._monotonic) for name in tasks}
        futures = {
            name: self._threads[name].submit(copy_context().run, self._timed, task, watches[name])
            for name, task in tasks.items()
        }
        self._wait(futures, watches, timeout_s)
        return {name: self._answered(futures[name], watches[name], timeout_s) for name in tasks}

    def close(self) -> None:
        """Take no more tasks; what is running comes to its own end."""
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)

    def _timed(self, task: Callable[[Stopwatch], T], watch: Stopwatch) -> T:
        try:
            return task(watch)
        finally:
            watch.finished = self._monotonic()

    def _wait(
        self, futures: Mapping[str, Future[T]], watches: Mapping[str, Stopwatch], timeout_s: float
    ) -> None:
        pending = dict(futures)
        while pending:
            now = self._monotonic()
            left = {name: watches[name].deadline(timeout_s) - now for name in pending}
            pending = {name: future for name, future in pending.items() if left[name] > 0}
            # A preparation may end at any time, and the ranker's own limit begins then.
            longest = min((left[name] for name in pending), default=0.0)
            done, _ = wait(pending.values(), timeout=min(longest, timeout_s))
            pending = {name: future for name, future in pending.items() if future not in done}

    def _answered(self, future: Future[T], watch: Stopwatch, timeout_s: float) -> Answered[T]:
        latency_s = (watch.finished or self._monotonic()) - watch.answering
        future.cancel()
        if not future.done() or future.cancelled() or latency_s > timeout_s:
            return Answered(None, is_late=True, latency_ms=latency_s * 1000)
        error = future.exception()
        return Answered(None if error else future.result(), error, latency_ms=latency_s * 1000)
