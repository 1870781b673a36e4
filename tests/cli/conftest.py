"""Fixtures for tests of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.inside import Inside

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Inside:
    """The command inside this process, in a folder of its own, with an empty home and no terminal."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("DATA", "CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name.lower()))
    for name in ("VISUAL", "EDITOR", "KNOBCTL_ENGINE"):
        monkeypatch.delenv(name, raising=False)
    return Inside(folder, capsys)
