"""How many requests a second an engine gets at most: the workers of a run take turns."""

from __future__ import annotations

import time
from threading import Event, Lock, local
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_PER_S: Final = 100_000
LEEWAY_S: Final = 0.05
"""How far behind its time a turn may be and still not delay the next: what a sleeper oversleeps is
caught up with, and no window of a second holds more than a twentieth too many."""
SLOWER: Final = 1.02
"""How much longer than need be the turns are apart: what the network does to them makes no second too full."""
_LEEWAY_FROM_PER_S: Final = 20
"""Below it one turn that is caught up with would be more than a tenth too many."""


class Pace:
    """Turns, evenly spaced, for all threads of a run: each request takes one, also when it is sent again.

    Requests that finish what was begun, such as reading back, go ahead of those that begin something:
    so a run that is stopped has little left to wait for.
    """

    def __init__(
        self,
        per_s: int,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        """Begin with a turn at once.

        Args:
            per_s: Requests a second, at least 1.
            monotonic: Seconds that never go back.
            pause: Waits for some seconds.
        """
        self.per_s = per_s
        self._monotonic = monotonic
        self._pause = pause
        self._leeway_s = LEEWAY_S if per_s >= _LEEWAY_FROM_PER_S else 0.0
        self._next = monotonic()
        self._turn = Lock()
        """Held while one waits for its time, so that who oversleeps delays the others too."""
        self._line = Lock()
        """Where those wait that begin something: one of them at a time asks for the turn."""
        self._of_thread = local()

    def turn(self) -> None:
        """Wait until this thread may send a request."""
        if getattr(self._of_thread, "is_held", False):
            self._of_thread.is_held = False
            return
        with self._turn:
            left = self._next - self._monotonic()
            if left > 0:
                self._pause(left)
            self._take()

    def begin(self, stop: Event) -> bool:
        """Wait for the turn of a write that is not begun yet; this thread's next request has it then.

        Args:
            stop: Ends the waiting.

        Returns:
            Whether it may begin: not once the run is to stop.
        """
        with self._line, self._turn:
            if stop.is_set() or stop.wait(max(0.0, self._next - self._monotonic())):
                return False
            self._take()
        self._of_thread.is_held = True
        return True

    def _take(self) -> None:
        due = max(self._next, self._monotonic() - self._leeway_s)
        self._next = due + SLOWER / self.per_s
