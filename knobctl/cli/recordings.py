"""Files of recorded scores: those that a person names, and those that a tenant's document does."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from knobctl.errors import InputError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from knobctl.evidence.recording import Recording


def recorded(path: str, folder: Path) -> Recording:
    """Read a file of recorded scores that a person names.

    Args:
        path: As it was typed.
        folder: What it is relative to.

    Raises:
        InputError: If there is no such file, or a line of it is not as it must be.
    """
    from knobctl.documents.sources import open_regular
    from knobctl.evidence.reading import read_recording

    whole = str(folder / Path(path).expanduser())
    with _opened(partial(open_regular, whole), path) as stream:
        return read_recording(stream, path)


def named_recording(root: Path, names: Iterable[str], folder: Path) -> Recording | None:
    """Read the first file of recorded scores among those that a document names as evidence.

    Args:
        root: The repository: nothing outside it is read, and no link is followed.
        names: The files.
        folder: What they are named relative to for people, so that a command can be told the same name.

    Raises:
        InputError: If one cannot be read, or a line of it is not as it must be.
    """
    from knobctl.documents.sources import open_enclosed
    from knobctl.evidence.reading import MOST_LINE, is_recording, read_recording

    for name in names:
        with _opened(partial(open_enclosed, root, name), name) as stream:
            if is_recording(stream.readline(MOST_LINE)):
                stream.seek(0)
                return read_recording(stream, os.path.relpath(root / name, folder))
    return None


def _opened(open_: Callable[[], BinaryIO], name: str) -> BinaryIO:
    try:
        return open_()
    except OSError as error:
        why = (error.strerror or "it cannot be read").lower()
        raise InputError(f"{visible(name)}: {why}") from error
