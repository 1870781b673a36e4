"""The files of `--output`: where an answer may be written."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable

_BEGINNING: Final = 200
_FORMAT: Final = re.compile(rb'\s*\{\s*"format"\s*:\s*"([a-z-]+)"')
EVIDENCE: Final = "knobctl-evidence"
RANKINGS: Final = "knobctl-rankings"
SCORES: Final = "knobctl-replay-scores"


def split_outputs(formats: tuple[str, ...]) -> Callable[..., list[tuple[str, Path]]]:
    """The callback that reads every FORMAT=FILE, and refuses what cannot or must not be written."""

    def split(
        _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
    ) -> list[tuple[str, Path]]:
        pairs: list[tuple[str, Path]] = []
        for value in values:
            format_, sign, path = value.partition("=")
            if not sign or not path or format_ not in formats:
                raise click.BadParameter(
                    f"{value!r} must be FORMAT=FILE, FORMAT one of {', '.join(formats)}"
                )
            if not _is_writable(Path(path)):
                raise click.BadParameter(f"{value!r}: no file can be written there")
            if any(Path(path) == other for _, other in pairs) and not _is_stream(Path(path)):
                raise click.BadParameter(f"{value!r}: another answer is written there already")
            if _holds_documents(Path(path)):
                raise click.BadParameter(f"{value!r}: a document of ours stands there")
            pairs.append((format_, Path(path)))
        return pairs

    return split


def file_of(*formats: str, in_new_folders: bool = False) -> Callable[..., Path | None]:
    """The callback of an option that names the one file to write: before anything is measured.

    Args:
        *formats: What may stand there and be replaced: files that begin with one of these as their `format`.
        in_new_folders: Whether the folders above it are made where they are missing.
    """

    def place(_ctx: click.Context, _param: click.Parameter, path: Path | None) -> Path | None:
        if path is None:
            return None
        is_new = in_new_folders and not path.exists()
        if not (is_new or _is_writable(path)) or _waits_for_a_reader(path):
            raise click.BadParameter(f"{visible(str(path))}: no file can be written there")
        if not _may_be_replaced(path, formats):
            raise click.BadParameter(
                f"{visible(str(path))}: what stands there was not written by this option; it is left as it is"
            )
        return path

    return place


def _waits_for_a_reader(path: Path) -> bool:
    """Whether opening it would wait, and no signal end that; what a shell opened beforehand is read already."""
    return path.is_fifo() and not str(path).startswith(("/dev/", "/proc/"))


def _may_be_replaced(path: Path, formats: tuple[str, ...]) -> bool:
    if not path.exists() or _is_stream(path):
        return True
    try:
        with path.open("rb") as file:
            begins = file.read(_BEGINNING)
    except OSError:
        return False
    named = _FORMAT.match(begins)
    return not begins or bool(named and named[1].decode() in formats)


def _is_stream(path: Path) -> bool:
    from knobctl.documents.files import leads_to_a_stream

    return leads_to_a_stream(path)


def _is_writable(path: Path) -> bool:
    try:
        if _is_stream(path):
            return os.access(path, os.W_OK)
    except OSError:  # a name that is too long, a folder that may not be entered
        return False
    return path.parent.is_dir() and os.access(path.parent, os.W_OK) and not path.is_dir()


def _holds_documents(path: Path) -> bool:
    """Whether an answer would replace a tenant's document, or another of ours."""
    from knobctl.documents.sources import SUFFIXES

    if not path.name.endswith(SUFFIXES) or not path.is_file() or _is_stream(path):
        return False
    if not os.access(path, os.R_OK):
        return False
    from knobctl.documents.at_a_glance import may_be_ours
    from knobctl.documents.kinds import sort_documents
    from knobctl.documents.reader import MAX_BYTES, read_bytes

    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if not may_be_ours(raw):
        return False
    found = sort_documents(read_bytes(raw, str(path)), named=False)
    # Pipelines name answers in any format x.json; who writes YAML writes documents, broken ones too.
    return bool(found.documents or (found.findings and path.suffix != ".json"))
