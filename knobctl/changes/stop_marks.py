"""The emergency stop: files whose being there stops runs, whatever they are doing. No network is needed for it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from knobctl.errors import RefusedError
from knobctl.text import rfc3339, visible

if TYPE_CHECKING:
    from pathlib import Path

ALL: Final = "stop"
"""The name of the file that stops every run of this user, and lets none begin."""
ONE: Final = ".stop"
"""How the file ends that stops one run."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The file that stops every run, as it stands there."""

    path: Path
    stamp_ns: int
    """When it was made; it tells this stop from every other, and orders nothing."""

    @property
    def since(self) -> str:
        """When it was made, RFC 3339."""
        try:
            moment = datetime.fromtimestamp(self.stamp_ns // 1_000_000_000, UTC)
        except (ValueError, OverflowError, OSError):  # a file can have a time that no calendar has
            return str(self.stamp_ns)
        return rfc3339(moment)


class StopMarks:
    """The files of this user that stop runs."""

    def __init__(self, state_folder: Path) -> None:
        self._all = state_folder / ALL
        self._runs = state_folder / "runs"

    def mark(self) -> Mark | None:
        """The file that stops every run, if it is there.

        Raises:
            RefusedError: If that cannot be seen.
        """
        try:
            return Mark(self._all, self._all.lstat().st_mtime_ns)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise RefusedError(
                f"it cannot be seen whether all runs are stopped: {self._all}: {error.strerror}",
                hint="Nothing was written.",
            ) from error

    def stops(self, run: str, acknowledged: Mark | None) -> Path | None:
        """The file that stops a run that is under way, if one is there.

        Args:
            run: The run.
            acknowledged: The stop of all runs in spite of which it was begun.
        """
        own = self._runs / f"{run}{ONE}"
        if _is_there(own):
            return own
        try:
            found = self.mark()
        except RefusedError:
            return self._all  # who cannot look does not go on
        return self._all if found and found != acknowledged else None

    def stop_all(self) -> Mark:
        """Stop every run, and let none begin until `lift`; asked again, it is another stop.

        Raises:
            RefusedError: If the file cannot be made.
        """
        _make(self._all)
        found = self.mark()
        assert found
        return found

    def stop(self, run: str) -> None:
        """Stop a run that is under way.

        Raises:
            RefusedError: If the file cannot be made.
        """
        _make(self._runs / f"{run}{ONE}")

    def lift(self) -> Mark | None:
        """Let runs begin again; the stop that is lifted, None where there was none.

        Raises:
            RefusedError: If the file cannot be removed.
        """
        found = self.mark()
        try:
            self._all.unlink(missing_ok=True)
        except OSError as error:
            raise RefusedError(
                f"{self._all} cannot be removed, runs stay stopped: {error.strerror}"
            ) from error
        return found

    def forget(self, run: str) -> None:
        """Take away what stops one run: it has ended, or is gone on with."""
        with suppress(OSError):
            (self._runs / f"{run}{ONE}").unlink(missing_ok=True)

    def under_way(self) -> list[str]:
        """The runs that a process is writing now."""
        try:
            paths = sorted(self._runs.glob("*.jsonl"))
        except OSError:
            return []
        return [path.stem for path in paths if _is_locked(path)]


def _is_there(path: Path) -> bool:
    # A link to nowhere is there, too: who makes a file in a hurry makes whatever.
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _make(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.utime(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise RefusedError(
            f"{visible(str(path))} cannot be made, nothing is stopped: {error.strerror}",
            hint="stop the process itself: SIGINT finishes the writes in flight and begins no other",
        ) from error


def _is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a journal."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    else:
        return False
    finally:
        os.close(handle)
