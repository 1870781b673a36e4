"""The files of `--output`: where an answer may be written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable


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


def _is_stream(path: Path) -> bool:
    from knobctl.documents.files import leads_to_a_stream

    return leads_to_a_stream(path)


def _is_writable(path: Path) -> bool:
    if _is_stream(path):
        return os.access(path, os.W_OK)
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
