"""What Git is believed of a working folder, whatever its settings."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from knobctl.documents.blobs import Blobs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "setting", ["core.trustctime=true", "core.trustctime=false", "core.checkStat=minimal"]
)
def test_an_edit_that_keeps_size_and_time_is_no_blob_of_gits(tmp_path: Path, setting: str) -> None:
    """Copies with their times kept, and tools that put times back, are met where these are set."""
    path = tmp_path / "t.yaml"
    path.write_text("a: 1\n", encoding="utf-8")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    for command in (["init", "-q"], ["config", *setting.split("=")], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert list(Blobs(tmp_path).ids()) == ["t.yaml"]

    time.sleep(1.01)  # Git looks at whole seconds of the time that nobody can put back
    path.write_text("a: 2\n", encoding="utf-8")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert Blobs(tmp_path).ids() == {}
