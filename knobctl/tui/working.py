"""Asking in the background: nothing that may take long runs where the screen is drawn."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from textual.dom import DOMNode
from textual.worker import get_current_worker

from knobctl.errors import KnobctlError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from textual.worker import Worker

T = TypeVar("T")


def begun(question: Callable[[], T]) -> Future[T]:
    """Ask in a thread that nobody waits for when the program ends: what it reads may take minutes."""
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(question())
        except BaseException as error:  # noqa: BLE001  it is raised where the answer is taken
            answer.set_exception(error)

    Thread(target=work, daemon=True).start()
    return answer


class Working(DOMNode):
    """A screen or widget that asks in threads and hears the answer where the screen is drawn."""

    def ask(
        self,
        group: str,
        question: Callable[[], T],
        then: Callable[[T], object],
        *,
        failed: Callable[[KnobctlError], object] | None = None,
    ) -> Worker[None]:
        """Ask in a thread; a later question of the same group makes the answer to this one stale.

        Args:
            group: What it is about: `repository`, `live`, `judge`.
            question: Runs in the thread.
            then: Gets the answer, on the screen's own thread, unless that is gone or asks anew.
            failed: Gets the error; it is told in any case.
        """

        def work() -> None:
            worker = get_current_worker()
            try:
                answer = question()
            except KnobctlError as error:
                if not worker.is_cancelled:
                    self.app.call_from_thread(self._fail, error, failed)
                return
            if not worker.is_cancelled:
                self.app.call_from_thread(self._hear, answer, then)

        return self.run_worker(
            work, group=f"{group} of {self.id or type(self).__name__}", exclusive=True, thread=True
        )

    def follow(
        self,
        group: str,
        steps: Callable[[], Iterable[T]],
        each: Callable[[T], object],
        *,
        done: Callable[[], object] = lambda: None,
        failed: Callable[[KnobctlError], object] | None = None,
    ) -> Worker[None]:
        """Ask in a thread for what comes bit by bit; a later question of the same group ends this one.

        Args:
            group: As for `ask`.
            steps: Runs in the thread; a step that takes the interpreter for long stops the screen.
            each: Gets each bit, on the screen's own thread; the next one is not made before.
            done: Runs there after the last one.
            failed: Gets the error, which is told by nobody else: what is asked again and again fails often.
        """

        def work() -> None:
            worker = get_current_worker()
            try:
                for step in steps():
                    if worker.is_cancelled:
                        return
                    self.app.call_from_thread(self._hear, step, each)
            except KnobctlError as error:
                if not worker.is_cancelled:
                    self.app.call_from_thread(self._hear, error, failed or self._fail_with)
                return
            if not worker.is_cancelled:
                self.app.call_from_thread(self._hear, None, lambda _: done())

        return self.run_worker(
            work, group=f"{group} of {self.id or type(self).__name__}", exclusive=True, thread=True
        )

    @contextmanager
    def telling(self, told: Callable[[str], object] | None = None) -> Iterator[None]:
        """Tell of what could not be done in the block, instead of ending the program.

        Args:
            told: Hears it in words, where it is not told as a message.
        """
        try:
            yield
        except KnobctlError as error:
            (told or self._tell)(words_of(error))

    @property
    def is_here(self) -> bool:
        """Whether it can be drawn on: what is being taken away has lost some of its parts already."""
        return self.is_attached and not self._pruning

    def _hear(self, answer: T, then: Callable[[T], object]) -> None:
        if self.is_here:
            then(answer)

    def _fail(self, error: KnobctlError, failed: Callable[[KnobctlError], object] | None) -> None:
        self._tell(words_of(error))
        if failed and self.is_here:
            failed(error)

    def _fail_with(self, error: KnobctlError) -> None:
        self._tell(words_of(error))

    def _tell(self, text: str) -> None:
        from knobctl.tui.ui import tell

        tell(self.app, text, "error")


def words_of(error: KnobctlError) -> str:
    """An error in words, and what to do about it."""
    return f"{error.message}\n{error.hint or ''}".strip()
