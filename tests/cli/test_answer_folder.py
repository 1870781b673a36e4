"""Kept answers: one of which a byte is missing or a bit is wrong is no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.cli.answer_folder import AnswerFolder

if TYPE_CHECKING:
    from pathlib import Path

KEY = "0" * 64


def test_cut_or_changed_anywhere_nothing_is_found(tmp_path: Path) -> None:
    """P09: at every byte, and every bit of it."""
    folder = AnswerFolder(tmp_path / "answers")
    folder.keep(KEY, b"an answer\n")
    (entry,) = (tmp_path / "answers").iterdir()
    whole = entry.read_bytes()
    assert folder.find(KEY) == b"an answer\n"
    for at in range(len(whole)):
        entry.write_bytes(whole[:at])
        assert folder.find(KEY) is None
        for bit in range(8):
            entry.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            assert folder.find(KEY) is None
