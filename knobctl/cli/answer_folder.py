"""The folder in which answers are kept: bounded, the user's own, and thrown away without harm."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from knobctl.documents.files import is_own

if TYPE_CHECKING:
    from pathlib import Path

MOST_ENTRIES: Final = 64
MOST_BYTES: Final = 64 * 2**20
LARGEST: Final = 16 * 2**20
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class AnswerFolder:
    """Answers by key. What cannot be read, or is not whole, or is somebody else's, is not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, key: str) -> bytes | None:
        """Give what was kept under a key; None where nothing of one's own was."""
        try:
            folder = self._opened()
        except OSError:
            return None
        try:
            return self._read(folder, key)
        except OSError:
            return None
        finally:
            os.close(folder)

    def keep(self, key: str, content: bytes) -> None:
        """Keep an answer, if there is room and leave to; the ones that were asked for longest ago make way."""
        if len(content) > LARGEST:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = self._opened()
            try:
                _write(folder, key, content)
                _make_room(folder)
            finally:
                os.close(folder)

    def _opened(self) -> int:
        """Open the folder itself, so that another one cannot take its place meanwhile.

        Raises:
            OSError: If there is none, or others may write into it: they could put words into our mouth.
        """
        handle = os.open(self._folder, _FOLDER)
        if is_own(os.fstat(handle)):
            return handle
        os.close(handle)
        raise PermissionError

    @staticmethod
    def _read(folder: int, key: str) -> bytes | None:
        with os.fdopen(os.open(key, _READ, dir_fd=folder), "rb") as file:
            about = os.fstat(file.fileno())
            if not (stat.S_ISREG(about.st_mode) and is_own(about)):
                return None
            head, _, rest = file.read(LARGEST + 1000).partition(b"\n")
        sum_, _, content = rest.partition(b"\n")
        if head != key.encode() or sum_ != _sum(content):
            return None
        with suppress(OSError):  # it was asked for: others make way before it
            os.utime(key, dir_fd=folder, follow_symlinks=False)
        return content


def _sum(content: bytes) -> bytes:
    return blake2b(content, digest_size=32).hexdigest().encode()


def _write(folder: int, key: str, content: bytes) -> None:
    """Write beside and rename: a reader finds all of an answer or nothing. The disk is not waited for."""
    beside = f".{key}.{os.getpid()}"
    with suppress(FileNotFoundError):  # of a run that was killed, and had our number
        os.unlink(beside, dir_fd=folder)
    handle = os.open(beside, _WRITE, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(b"\n".join((key.encode(), _sum(content), content)))
        os.rename(beside, key, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise


def _make_room(folder: int) -> None:
    """Remove what was asked for longest ago."""
    entries = []
    for name in os.listdir(folder):
        with suppress(OSError):  # another run may have removed it
            about = os.stat(name, dir_fd=folder, follow_symlinks=False)
            entries.append((about.st_mtime_ns, about.st_size, name))
    entries.sort(reverse=True)
    held = 0
    for number, (_, size, name) in enumerate(entries):
        held += size
        if number >= MOST_ENTRIES or held > MOST_BYTES:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
