"""Writes files so that a reader never sees half of one."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLOCK_BYTES: Final = 1 << 20


def is_own(about: os.stat_result) -> bool:
    """Whether a file or folder is the user's and nobody else may write it: others could put words into our mouth."""
    return about.st_uid == os.geteuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def leads_to_a_stream(path: Path) -> bool:
    """Whether there is a device or a pipe under a name, or the name is one of the system's for an open file."""
    if not path.exists() or path.is_dir():
        return False
    of_system = os.path.abspath(path).startswith(("/dev/", "/proc/"))  # noqa: PTH100  /dev/stdout must not be resolved
    return not path.is_file() or (of_system and path.is_symlink())


def write_atomically(
    path: Path, content: bytes | Iterable[bytes], *, mode: int | None = None
) -> None:
    """Write a file whole or not at all: temporary file beside it, flush, rename, flush the folder.

    A device, a pipe and `/dev/stdout` are no files to replace: they are written to. A link in a folder
    of the user's is replaced, so that a checkout cannot send what is written elsewhere.

    Args:
        path: The file; its folder must exist.
        content: All of it, whole or in pieces.
        mode: Permission bits; those of the file it replaces, or 0o644, if None.

    Raises:
        OSError: If the disk or the permissions do not allow it; the old file stays as it was.
    """
    if leads_to_a_stream(path):
        with path.open("wb") as stream:
            stream.writelines((content,) if isinstance(content, bytes) else content)
        return
    if mode is None:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines((content,) if isinstance(content, bytes) else content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that is not there yet, whole or not at all; nothing is replaced, whoever is faster.

    Raises:
        FileExistsError: If there is something of that name.
        OSError: As `write_atomically`.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        path.hardlink_to(name)
    finally:
        Path(name).unlink(missing_ok=True)


def prove_room(folder: Path, size: int) -> None:
    """See that files of so many bytes in all can be written into a folder: one is, and is gone again.

    Args:
        folder: Which; the nearest folder above it that is there, where it is to be made.
        size: Bytes.

    Raises:
        OSError: If the disk or the permissions do not allow it.
    """
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder, prefix=".") as file:
        for start in range(0, size, _BLOCK_BYTES):
            file.write(bytes(min(_BLOCK_BYTES, size - start)))
        file.flush()
        os.fsync(file.fileno())
