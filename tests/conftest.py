"""Fixtures for tests of every room."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.running import Knobctl

settings.register_profile("everywhere", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("everywhere")


@pytest.fixture
def knobctl(tmp_path: Path) -> Knobctl:
    """The command, in a folder of its own that no Git repository holds."""
    folder = tmp_path / "work"
    folder.mkdir()
    return Knobctl(folder)
