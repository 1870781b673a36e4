"""The folder in which the journals of runs lie: the user's own, one file a run."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO, Final

from knobctl.changes.journal_reading import EmptyJournalError, read_listed, read_run
from knobctl.changes.journal_writing import Journal, JournalError
from knobctl.changes.outcomes import Outcome
from knobctl.errors import ConflictError, InputError, UsageError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knobctl.changes.journal import Ended, Run

KEPT: Final = 200
"""Finished runs whose journals stay; unfinished ones that may have written something stay all."""
KEPT_BYTES: Final = 2 * 2**30
"""What the journals of finished runs may take together: about six runs that wrote 100,000 tenants each."""
SUFFIX: Final = ".jsonl"
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD: Final = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_END_BYTES: Final = 64 * 1024
_ENDED: Final = b'"record": {"kind": "end"'
_WRITTEN: Final = (Outcome.APPLIED, Outcome.UNKNOWN, Outcome.ROLLED_BACK)
"""The outcomes of a tenant that was written, or may be."""


class RunFolder:
    """Journals by run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def new(self, run: str) -> Journal:
        """Open the journal of a new run, and let old ones of finished runs make way.

        Raises:
            JournalError: If that is not possible.
        """
        path = self._folder / f"{run}{SUFFIX}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._tidy()
            handle = os.open(path, _NEW, 0o600)
            self._sync()
        except OSError as error:
            raise JournalError(path, error) from error
        _lock(handle, path)
        return Journal(handle, path, run=run)

    def next_number(self) -> int:
        """A number that is greater than those of all runs so far."""
        with suppress(OSError):  # `new` says so
            return 1 + max(map(_number, self._listed()), default=0)
        return 1

    def reopen(self, run: str) -> tuple[Run, Journal]:
        """Read a run and open its journal to go on with it.

        Raises:
            UsageError: If there is no such run.
            ConflictError: If another process is writing it.
            InputError: If it is damaged.
            JournalError: If it cannot be opened.
        """
        path = self._path(run)
        try:
            handle = os.open(path, _OLD)
        except OSError as error:
            raise JournalError(path, error) from error
        try:
            _lock(handle, path)
            with path.open("rb") as file:
                found = read_run(file, str(path))
            os.ftruncate(handle, found.size)  # a torn end would be glued to the next record
        except BaseException:
            os.close(handle)
            raise
        return found, Journal(handle, path, run=found.heading.run, last=found.last)

    def read(self, run: str) -> Run:
        """Read a run.

        Args:
            run: Its name, or as much of it as no other has.

        Raises:
            UsageError: If there is no such run.
            InputError: If its journal is damaged.
        """
        path = self._path(run)
        with _opened(path) as file:
            return read_run(file, str(path))

    def named(self, run: str) -> str:
        """The whole name of a run.

        Args:
            run: Its name, or as much of it as no other has.

        Raises:
            UsageError: If there is no such run.
        """
        return self._path(run).stem

    def all(self) -> Iterator[Run | Ended | InputError]:
        """Read of every run what a list needs; those that had noted nothing are left out, damaged ones are errors."""
        for path in self._paths():
            try:
                with _opened(path) as file:
                    yield read_listed(file, str(path))
            except EmptyJournalError:
                continue
            except InputError as error:
                yield error

    def _path(self, run: str) -> Path:
        found = [path for path in self._paths() if path.stem.startswith(run)] if run else []
        exact = [path for path in found if path.stem == run]
        if len(exact or found) == 1:
            return (exact or found)[0]
        if not found:
            raise UsageError(f"there is no run {visible(run)!r}", hint="see them: knobctl runs")
        names = ", ".join(path.stem for path in found[:5])
        raise UsageError(
            f"{visible(run)!r} is the beginning of {count(len(found), 'run')}: {names}"
        )

    def _paths(self) -> list[Path]:
        try:
            return self._listed()
        except OSError as error:
            raise InputError(f"{self._folder} cannot be read: {error.strerror}") from error

    def _listed(self) -> list[Path]:
        with suppress(FileNotFoundError):
            return sorted(path for path in self._folder.iterdir() if path.suffix == SUFFIX)
        return []

    def _sync(self) -> None:
        """Make the name of a new journal durable."""
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _tidy(self) -> None:
        """Remove the journals of those runs begun longest ago that nobody has to finish.

        One that ended before it wrote anything is none: a pipeline that is refused every five minutes
        leaves one each time, and applying again does all that resuming it would. The last run stays
        however large its journal is: it is the one that somebody may have to take back.
        """
        paths = self._listed()
        with suppress(OSError):  # another run may have removed one
            sizes = {path: path.stat().st_size for path in paths}
            if len(sizes) <= KEPT and sum(sizes.values()) <= KEPT_BYTES:
                return
            ended = [path for path in sizes if _has_ended(path) or _ended_unwritten(path)]
            ended.sort(key=lambda path: (_number(path), path.stat().st_mtime_ns), reverse=True)
            together = accumulate(sizes[path] for path in ended)
            for place, (path, size) in enumerate(zip(ended, together, strict=True)):
                if place >= KEPT or (place and size > KEPT_BYTES):
                    path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What a short look at a journal tells, believed unproven: for who chooses a run by name."""

    name: str
    what: str
    """The command, when it was started, and where it went."""
    has_ended: bool
    """Whether its last record says that nothing is left."""


def glimpses(folder: Path) -> Iterator[Glimpse]:
    """Look at the journals of a folder, those that were written last first; what is none is passed over."""
    with suppress(OSError):
        paths = [(path.stat().st_mtime_ns, path) for path in folder.glob(f"*{SUFFIX}")]
        for _, path in sorted(paths, reverse=True):
            with suppress(OSError, ValueError, KeyError, TypeError), path.open("rb") as file:
                record = json.loads(file.readline(_END_BYTES))["record"]
                what = f"{record['command']} to {record['engine']}, {record['started_at']}"
                yield Glimpse(path.stem, what, _has_ended(path))


def _lock(handle: int, path: Path) -> None:
    """Take the lock of a journal's open file; closing it, or dying, gives it free."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConflictError(
            f"run {path.stem} is under way in another process; nothing was written.",
            hint=f"wait for it, or stop it: knobctl runs --stop {path.stem}",
        ) from None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _number(path: Path) -> int:
    """The number of a run, by the first record of its journal; 0 where that cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError), path.open("rb") as file:
        return int(json.loads(file.readline(_END_BYTES))["record"].get("number", 0))
    return 0


def _has_ended(path: Path) -> bool:
    """Whether the last record says that nothing is left; a look at the end of the file is enough."""
    last = _last_line(path)
    return _ENDED in last and b'"left": 0,' in last


def _ended_unwritten(path: Path) -> bool:
    """Whether the last record says that an attempt came to its end and nothing was or may be written."""
    last = _last_line(path)
    return _ENDED in last and not any(b'"%b"' % one.encode() in last for one in _WRITTEN)


def _last_line(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END_BYTES))
        return file.read().rstrip(b"\n").rpartition(b"\n")[2]
