"""Recorded scores are found among what a document names, inside the repository and nowhere else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from knobctl.errors import InputError
from knobctl.evidence.opening import named_recording, recorded
from tests.evidence.recordings import SHIPPED, WITHOUT_RECENCY


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with two recordings, a summary, and one outside."""
    inside = tmp_path / "repository"
    (inside / "evidence").mkdir(parents=True)
    shutil.copy(SHIPPED, inside / "evidence" / "scores.jsonl")
    shutil.copy(WITHOUT_RECENCY, inside / "older.jsonl")
    (inside / "summary.json").write_text('{"format": "knobctl-evidence"}\n')
    shutil.copy(SHIPPED, tmp_path / "outside.jsonl")
    (inside / "link.jsonl").symlink_to("../outside.jsonl")
    os.mkfifo(inside / "pipe.jsonl")
    return inside


def test_the_first_recording_is_read(root: Path) -> None:
    """Behind a summary, a missing file, a link and a pipe; named as a command would be told."""
    names = ["summary.json", "gone.jsonl", "link.jsonl", "pipe.jsonl", "evidence/scores.jsonl"]
    found = named_recording(root, [*names, "older.jsonl"], root.parent)
    assert found is not None
    assert found.source == "repository/evidence/scores.jsonl"
    assert len(found.questions) == 400


@pytest.mark.parametrize(
    "name", ["link.jsonl", "../outside.jsonl", "pipe.jsonl", "evidence", "summary.json", "a//b"]
)
def test_nothing_else_is_one(root: Path, name: str) -> None:
    """No link is followed, nothing outside is read, nobody waits for a pipe."""
    assert named_recording(root, [name], root) is None


def test_a_broken_one_is_told(root: Path) -> None:
    """It says that it is one, so it is not passed over."""
    first = SHIPPED.read_bytes().split(b"\n")[0]
    (root / "torn.jsonl").write_bytes(first + b"\n{")
    with pytest.raises(InputError, match=r"torn\.jsonl:2: no JSON"):
        named_recording(root, ["torn.jsonl", "older.jsonl"], root)


def test_a_person_may_name_any_file_that_is_one(root: Path) -> None:
    """A link too; no pipe, no folder."""
    assert recorded("link.jsonl", root).source == "link.jsonl"
    for name in ("pipe.jsonl", "evidence", "gone.jsonl"):
        with pytest.raises(InputError, match=name):
            recorded(name, root)
