"""Files that may hold what people asked: readable by their owner alone, and outside of Git work trees."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from knobctl.documents.files import write_atomically
from knobctl.errors import AnswerError, RefusedError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MODE: Final = 0o600


def refuse_in_work_tree(path: Path, *, allowed: bool) -> None:
    """Refuse a place from which a commit could carry private text away.

    A `.git` of any kind above it is enough: the folder of a repository, the file of a linked work
    tree. Links are followed first; where it is a link itself, it is replaced, so its own place counts
    as well as the one that it leads to.

    Args:
        path: What is to be written.
        allowed: Whether somebody said that it may lie there.

    Raises:
        RefusedError: Naming the work tree and the flag.
    """
    if allowed:
        return
    for folder in (*path.parent.resolve().joinpath(path.name).parents, *path.resolve().parents):
        if (folder / ".git").exists() or folder.name == ".git":
            raise RefusedError(
                f"{visible(str(path))} lies in the Git work tree {visible(str(folder))}, and it can hold what people asked.",
                hint="Nothing was written. Choose a place outside of it, or say that it may lie there: --allow-in-repo",
            )


def write_private(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file whole or not at all, readable by its owner alone; its folders are made.

    Raises:
        AnswerError: If the disk or the permissions do not allow it; the old file stays as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, pieces, mode=MODE)
    except OSError as error:
        raise AnswerError(f"{visible(str(path))} could not be written: {error.strerror}") from error


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Wait until nobody else holds this lock, and hold it; who is killed holds it no more.

    Args:
        path: A file that is made for it and stays.

    Raises:
        AnswerError: If the disk or the permissions do not allow it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = path.open("ab")
    except OSError as error:
        raise AnswerError(f"{visible(str(path))} could not be written: {error.strerror}") from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
