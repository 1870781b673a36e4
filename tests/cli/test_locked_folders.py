"""Folders and files that may not be read or entered: an error that says so, never a pass and never a crash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.cli.privileges import as_anybody

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.inside import Inside

_TENANT: Final = "tenant: a\nknobs: {}\n"


def _run(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the command without root's privileges: its exit code, and all that it says."""
    done = subprocess.run(
        [sys.executable, "-c", "from knobctl.cli.main import main; main()", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "KNOBCTL_NO_CACHE": "1"},
        capture_output=True,
        preexec_fn=as_anybody,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.fixture
def locked(inside: Inside) -> Iterator[Path]:
    """A folder with a tenant and a policy that may not be entered, in a folder with a tenant."""
    inside.write("a.yaml", _TENANT)
    inside.write("locked/b.yaml", _TENANT.replace("a", "b", 1))
    inside.write("locked/p.yaml", "policy: p\nseverity: error\nwhen: 'true'\nmessage: m\n")
    folder = inside.folder / "locked"
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


@pytest.mark.parametrize(
    ("command", "place"),
    [
        (("check",), "locked/:1:1"),
        (("check", "a.yaml"), "locked/:1:1"),
        (("check", "locked"), "locked/:1:1"),
        (("validate", "locked/b.yaml"), "locked/b.yaml:1:1"),
        (("fmt", "--check", "locked"), "locked/:1:1"),
        (("policy", "test"), "locked/:1:1"),
        (("policy", "list", "locked"), "locked/:1:1"),
    ],
)
def test_what_cannot_be_looked_at_fails_the_run(
    locked: Path, command: tuple[str, ...], place: str
) -> None:
    """At the folder where it was to be listed, at the file where it was named."""
    code, said = _run(locked.parent, *command)
    assert (code, f"{place}  error  unreadable-file" in said) == (4, True), said
    assert "Permission denied" in said


def test_no_waiver_is_written_into_a_locked_folder(locked: Path) -> None:
    """A wrong command line, not a crash."""
    (locked.parent / "knobctl.toml").write_text('skip = ["locked"]\n')
    (locked.parent / "a.yaml").write_text("tenant: a\nknobs: {retrieval_min_score: 0.5}\n")
    waivers = locked.parent / "waivers"
    waivers.mkdir()
    (waivers / "note.txt").touch()
    waivers.chmod(0)
    code, said = _run(locked.parent, "check", "--write-waivers", "--expires", "2099-03-31")
    waivers.chmod(0o700)
    assert code == 2, said
    assert sorted(one.name for one in waivers.iterdir()) == ["note.txt"]


@pytest.mark.parametrize("what", ["pipe", "link", "folder"])
def test_settings_that_are_no_file_are_not_no_settings(inside: Inside, what: str) -> None:
    """Who weighs a rule in them would not be heard."""
    inside.write("a.yaml", _TENANT)
    path = inside.folder / "knobctl.toml"
    match what:
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to("nowhere")
        case _:
            path.mkdir()
    result = inside("check")
    assert (result.code, "knobctl.toml is no file" in result.err) == (4, True), result.err
