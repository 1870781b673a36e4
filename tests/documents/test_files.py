"""Files that the tool writes: the former or the new one, never a part."""

from __future__ import annotations

import os
import resource
import signal
from typing import TYPE_CHECKING

import pytest

from knobctl.documents.files import write_atomically, write_new

if TYPE_CHECKING:
    from pathlib import Path

FORMER, NEW = b"former\n" * 4, b"new\n" * 4


def with_room_for(size: int, path: Path) -> int:
    """Write in a child that may write so many bytes; its errno, or 0."""
    child = os.fork()
    if child == 0:
        code = 255
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            write_atomically(path, NEW)
            code = 0
        except OSError as error:
            code = error.errno or 255
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_without_room_for_the_last_byte_the_former_file_stays(tmp_path: Path) -> None:
    """P09, P10: at each size that the disk may have, and nothing is left beside it."""
    path = tmp_path / "f"
    for size in range(len(NEW)):
        path.write_bytes(FORMER)
        assert with_room_for(size, path) != 0
        assert path.read_bytes() == FORMER
        assert list(tmp_path.iterdir()) == [path]
    assert with_room_for(len(NEW), path) == 0
    assert path.read_bytes() == NEW


def test_a_flush_that_fails_leaves_the_former_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may not be on the disk does not take the place of what is."""
    path = tmp_path / "f"
    path.write_bytes(FORMER)

    def failing(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="Input/output error"):
        write_atomically(path, NEW)
    assert path.read_bytes() == FORMER
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_replaces_nothing(tmp_path: Path) -> None:
    """Neither a file, nor a link to nowhere; and what was begun is not left behind."""
    write_new(tmp_path / "a", NEW)
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("a", "link"):
        with pytest.raises(FileExistsError):
            write_new(tmp_path / name, FORMER)
    assert (tmp_path / "a").read_bytes() == NEW
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "link"]
