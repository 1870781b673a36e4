"""What a session asked of the outside and what it was told: bounded, without secrets. Pure but for its lock."""

from __future__ import annotations

import re
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from knobctl.documents.git import GitCall
    from knobctl.engine.telling import Call

KEPT: Final = 1_000
"""So many entries are kept, the latest ones."""
MOST: Final = 4_000
"""So many characters of an entry are kept."""
_SECRETS: Final = (
    (re.compile(r"kct_\w+?_[\w-]+"), "kct_***"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s'\",;]+"), r"\1 ***"),
    (re.compile(r"(://)[^\s/@]{1,200}@"), r"\1***@"),
)
"""What could be a secret in words of others; nothing of ours is sent here with one in it."""


class Kind(StrEnum):
    """What an entry is about."""

    ENGINE = "engine"
    GIT = "git"
    FILE = "file"
    EDITOR = "editor"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


KINDS: Final[Mapping[str, Kind]] = {
    "information": Kind.NOTE,
    "warning": Kind.WARNING,
    "error": Kind.ERROR,
}
"""What a message that goes away is in the log, by how grave it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the log."""

    number: int
    """From 1, never given twice."""
    at: datetime
    kind: Kind
    text: str
    """What was asked, or what was told; may have several lines."""
    seconds: float | None = None
    outcome: str = ""
    failed: bool = False


class Logbook:
    """The log of a session. Written and read from any thread."""

    def __init__(
        self, now: Callable[[], datetime], clock: Callable[[], float] = lambda: 0.0
    ) -> None:
        """Begin an empty one.

        Args:
            now: The time, with its zone.
            clock: Seconds since whenever, never going back.
        """
        self._now, self._clock = now, clock
        self._lock = Lock()
        self._entries: deque[Entry] = deque(maxlen=KEPT)
        self._written = 0

    @property
    def written(self) -> int:
        """How many entries there ever were: whoever shows them sees by it that there are more."""
        return self._written

    def entries(self) -> tuple[Entry, ...]:
        """Those that are kept, oldest first."""
        with self._lock:
            return tuple(self._entries)

    def write(
        self,
        kind: Kind,
        text: str,
        *,
        seconds: float | None = None,
        outcome: str = "",
        failed: bool = False,
    ) -> None:
        """Note something."""
        at, text, outcome = self._now(), _clean(text), _clean(outcome)
        with self._lock:
            self._written += 1
            self._entries.append(
                Entry(
                    number=self._written,
                    at=at,
                    kind=kind,
                    text=text,
                    seconds=seconds,
                    outcome=outcome,
                    failed=failed,
                )
            )

    @contextmanager
    def noting(self, kind: Kind, text: str) -> Iterator[None]:
        """Note what is done in the block, once it is over; why it failed is told elsewhere."""
        began, failed = self._clock(), True
        try:
            yield
            failed = False
        finally:
            self.write(
                kind,
                text,
                seconds=self._clock() - began,
                outcome="failed" if failed else "ok",
                failed=failed,
            )

    def called(self, call: Call) -> None:
        """Note a call of the engine."""
        self.write(
            Kind.ENGINE,
            f"{call.method} {call.tenant}".rstrip(),
            seconds=call.seconds,
            outcome=call.outcome,
            failed=call.failed,
        )

    def asked_git(self, call: GitCall) -> None:
        """Note a call of Git; that it says no to what was asked is an answer: whoever asked judges it."""
        ended = "cannot be run" if call.status is None else f"status {call.status}"
        self.write(
            Kind.GIT,
            " ".join(("git", *call.arguments)),
            seconds=call.seconds,
            outcome="ok" if call.status == 0 else ended,
            failed=call.status is None,
        )


def _clean(text: str) -> str:
    text = text if len(text) <= MOST else f"{text[: MOST - 1]}…"
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text.strip("\n")


def duration_text(seconds: float) -> str:
    """Write how long something took, in a unit that fits: `3 ms`, `1.2 s`, `75 s`."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
