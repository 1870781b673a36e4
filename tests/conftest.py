"""Fixtures for tests of every room."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.cli.inside import Inside
from tests.running import Knobctl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# As the program itself has it; what a module leaves behind is looked through for garbage once, see below.
gc.set_threshold(50_000, 20, 50)
# What a process compiles it keeps, for the hundreds of processes that tests start: a third of a start is compiling.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
settings.register_profile("everywhere", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("everywhere")


@pytest.fixture(scope="module", autouse=True)
def _what_stays_is_no_garbage() -> Iterator[None]:
    """Compiled schemas and policies stay for the whole run: they are looked through once and not again and again."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def knobctl(tmp_path: Path) -> Knobctl:
    """The command, in a folder of its own that no Git repository holds."""
    folder = tmp_path / "work"
    folder.mkdir()
    return Knobctl(folder)


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


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Move this process to a time zone, until the test is over."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()
