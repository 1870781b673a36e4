"""Bringing files into form: whole or not at all, and never over somebody's change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knobctl.documents.formatting import Formatted, format_files
from knobctl.documents.repository import open_repository
from knobctl.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def formatted(folder: Path, text: str) -> Formatted:
    """One file, read and brought into form."""
    (folder / "t.yaml").write_text(text, encoding="utf-8", newline="")
    repository = open_repository(["t.yaml"], catalogue=None, cwd=folder, stdin=bytes)
    (found,) = format_files(repository, ())
    return found


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    """An editor may have saved it between the read and the write."""
    found = formatted(tmp_path, "knobs: {}\ntenant: t\n")
    (tmp_path / "t.yaml").write_text("tenant: u\n")
    with pytest.raises(RefusedError):
        found.write()
    assert (tmp_path / "t.yaml").read_text() == "tenant: u\n"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Here it is gone."""
    found = formatted(tmp_path, "knobs: {}\ntenant: t\n")
    (tmp_path / "t.yaml").unlink()
    with pytest.raises(UsageError, match=r"t\.yaml cannot be written"):
        found.write()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("tenant: t\nknobs: {rrf_k: 8.0}\n", (2, 17, 2, 20)),
        ("knobs: {}\ntenant: t\n", (1, 1, 1, 10)),
    ],
)
def test_the_first_place_that_differs_is_shown(
    tmp_path: Path, text: str, place: tuple[int, int, int, int]
) -> None:
    """To the end of its line."""
    found = formatted(tmp_path, text)
    assert found.differs
    where = found.finding().primary
    assert where is not None
    assert (where.line, where.column, where.end_line, where.end_column) == place
