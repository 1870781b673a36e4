"""Files of recorded scores: those that a person names, and those that a tenant's document does."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from knobctl.errors import InputError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

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

    try:
        with open_regular(str(folder / Path(path).expanduser())) as stream:
            return read_recording(stream, path)
    except OSError as error:
        why = (error.strerror or "it cannot be read").lower()
        raise InputError(f"{visible(path)}: {why}") from error


def named_recording(root: Path, names: Iterable[str], folder: Path) -> Recording | None:
    """Read the first file of recorded scores among those that a document names as evidence.

    One that cannot be opened is passed over: the checks tell of it.

    Args:
        root: The repository: nothing outside it is read, and no link is followed.
        names: The files.
        folder: What they are named relative to for people, so that a command can be told the same name.

    Raises:
        InputError: If a line of it is not as it must be.
    """
    from knobctl.documents.sources import open_enclosed
    from knobctl.evidence.reading import MOST_LINE, is_recording, read_recording

    for name in names:
        with suppress(OSError), open_enclosed(root, name) as stream:
            if is_recording(stream.readline(MOST_LINE)):
                stream.seek(0)
                return read_recording(stream, os.path.relpath(root / name, folder))
    return None
