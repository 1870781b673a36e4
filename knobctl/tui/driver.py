"""The terminal as Textual drives it on Linux and macOS, with what it forgets: a terminal can be lost."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Final, cast

from textual.drivers.linux_driver import LinuxDriver

from knobctl.errors import ExitCode

if TYPE_CHECKING:
    from types import FrameType

    from knobctl.tui.app import KnobctlApp

LOOK_S: Final = 1.0
"""How often it is looked whether the terminal is still there: nobody has to tell us that it went."""
ENDS: Final = {
    signal.SIGTERM: ExitCode.TERMINATED,
    signal.SIGHUP: ExitCode.TERMINATED,
    signal.SIGINT: ExitCode.INTERRUPTED,
}
"""The signals that end it, and what the exit code says then."""


class Terminal(LinuxDriver):
    """Leaves in good order on SIGTERM, SIGHUP and SIGINT, and where the terminal went without either.

    Textual waits for ever for a thread that died of writing to a terminal that is gone, and reads for
    ever what nobody types.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        assert self._file is not None  # the edge opens what is closed
        self._stream = _Forgiving(self._file)
        self._file = cast("Any", self._stream)
        self._loop = asyncio.get_running_loop()
        self._looking: asyncio.TimerHandle | None = None

    def start_application_mode(self) -> None:
        """Take the terminal, and hear when it is to be given back."""
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual has no types here
        for number in ENDS:
            signal.signal(number, self._heard)
        self._look()

    def stop_application_mode(self) -> None:
        """Give the terminal back, for an editor or for good.

        A hang-up comes twice, from the terminal and from the shell: what is still being finished then
        must not die of the second one. So only Ctrl-C gets its usual meaning back here.
        """
        if self._looking:
            self._looking.cancel()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Read what is typed, as long as there is a terminal."""
        try:
            super().run_input_thread()
        except OSError:
            self._app.call_later(self._lost)

    def _look(self) -> None:
        if os.isatty(self.fileno) and self._stream.isatty():
            self._looking = self._loop.call_later(LOOK_S, self._look)
        else:
            self._lost()

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: it is ending already
            self._loop.call_soon_threadsafe(self._lost, ENDS[signal.Signals(number)])

    def _lost(self, code: ExitCode = ExitCode.TERMINATED) -> None:
        cast("KnobctlApp", self._app).lost(code)


class _Forgiving:
    """A stream to a terminal that may be gone: what cannot be written is nobody's loss."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, if there is anybody."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Send it, if there is anybody."""
        with suppress(OSError):
            self._stream.flush()

    def isatty(self) -> bool:
        """Whether there is a terminal."""
        with suppress(OSError):
            return self._stream.isatty()
        return False

    def fileno(self) -> int:
        """The file below."""
        return self._stream.fileno()
