"""Git as a program: each call is heard of, whatever came of it."""

from __future__ import annotations

import subprocess
from itertools import count
from typing import TYPE_CHECKING

import pytest

from knobctl.documents.blobs import Blobs
from knobctl.documents.git import Git, GitCall
from knobctl.documents.revisions import standing_at

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def heard() -> list[GitCall]:
    """What was heard."""
    return []


@pytest.fixture
def git(heard: list[GitCall]) -> Git:
    """Git, of which somebody hears; each look at the clock takes a second."""
    ticks = count()
    return Git(heard=heard.append, clock=lambda: float(next(ticks)))


def test_each_call_is_heard_of_with_how_it_ended(
    tmp_path: Path, git: Git, heard: list[GitCall]
) -> None:
    """And how long it took."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert git.run(("git", "-C", str(tmp_path)), ("rev-parse", "--git-dir")).returncode == 0
    assert git.run(("git", "-C", str(tmp_path)), ("nonsense",)).returncode == 1
    assert heard == [
        GitCall(("rev-parse", "--git-dir"), 1.0, 0),
        GitCall(("nonsense",), 1.0, 1),
    ]


def test_without_git_that_is_heard_of(git: Git, heard: list[GitCall]) -> None:
    """The caller is told as well."""
    with pytest.raises(FileNotFoundError):
        git.run(("no-such-git",), ("status",))
    assert heard == [GitCall(("status",), 1.0, None)]


def test_whoever_asks_git_asks_in_this_way(tmp_path: Path, git: Git, heard: list[GitCall]) -> None:
    """What a checkout stands at, and its blobs."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    assert standing_at(tmp_path, git) == ""
    assert Blobs(tmp_path, git).ids() == {}
    asked = {call.arguments[0] for call in heard}
    assert {"rev-parse", "ls-files", "diff-files"} <= asked
    assert asked <= {"rev-parse", "ls-files", "diff-files", "config", "check-attr"}
