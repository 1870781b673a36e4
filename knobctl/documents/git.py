"""Git as a program: what it runs in, and who hears of each call."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class GitCall:
    """One call, after it ended."""

    arguments: tuple[str, ...]
    """What Git was asked, without the settings that every call has."""
    seconds: float
    status: int | None
    """How it ended; None where there is no Git."""


def _no_time() -> float:
    return 0.0


class Git:
    """Runs Git without a shell. Safe to call from several threads."""

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        heard: Callable[[GitCall], object] = lambda _: None,
        clock: Callable[[], float] = _no_time,
    ) -> None:
        """Say how.

        Args:
            environment: What it runs in; None for what this process runs in.
            heard: Hears of each call, in the thread that made it.
            clock: Seconds since whenever, never going back; without one, calls take no time.
        """
        self.environment = environment
        self._heard = heard
        self._clock = clock

    def run(
        self, command: Sequence[str], arguments: Sequence[str]
    ) -> subprocess.CompletedProcess[bytes]:
        """Run it to its end, and keep what it says.

        Args:
            command: The program with what comes before every question.
            arguments: The question.

        Raises:
            OSError: If it cannot be run.
        """
        began, status = self._clock(), None
        try:
            done = subprocess.run(  # noqa: S603  an argument list, no shell
                [*command, *arguments], capture_output=True, check=False, env=self.environment
            )
            status = done.returncode
        finally:
            self._heard(GitCall(tuple(arguments), self._clock() - began, status))
        return done


USUAL: Final = Git()
"""In what this process runs in; nobody hears."""
