"""What tests of the terminal UI begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.desks import Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A folder that is the working folder, an empty home, and anna at the keyboard."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("DATA", "CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name.lower()))
    for name in ("VISUAL", "EDITOR", "KNOBCTL_ENGINE", "NO_COLOR", "TEXTUAL_DRIVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOGNAME", "anna")
    return Desk(folder)
