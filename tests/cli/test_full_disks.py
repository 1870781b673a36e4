"""P10: full disks, read-only folders and mounts stop before the first write, and the words name the cause."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.cli.fleets import APPLY, MAIN, finish, fleet_of, folder_of, live_sets
from tests.cli.inside import ENGINE, Inside
from tests.cli.killing import in_child
from tests.cli.privileges import as_anybody
from tests.cli.terminal import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WHY = ("--yes", "--reason", "why", *ENGINE)


def anybody(inside: Inside, *arguments: str) -> tuple[int, str]:
    """Run the command without root's privileges: its exit code, and what it says on stderr."""
    done = subprocess.run(
        [*MAIN, *arguments],
        cwd=inside.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        preexec_fn=as_anybody,
        check=False,
    )
    return done.returncode, done.stderr.decode()


@pytest.fixture
def repository(inside: Inside) -> Iterator[Inside]:
    """A tenant that was pushed twice, whose document may not be edited."""
    inside.write("knobctl.toml", "")
    inside.write("t/acme.yaml", "tenant: acme\nknobs: {rrf_k: 31}\n")
    inside.hold(rrf_k=30)
    inside.hold(rrf_k=31)
    folder = inside.folder / "t"
    folder.chmod(0o500)
    yield inside
    folder.chmod(0o700)


@pytest.mark.parametrize(
    "line",
    [
        ("set", "acme", "rrf_k=32", "--also-file", *WHY),
        ("set", "acme", "rrf_k=32", "--file", "--yes"),
        ("rollback", "acme", *WHY),
    ],
    ids=" ".join,
)
def test_where_the_file_cannot_be_edited_the_engine_is_not_written(
    repository: Inside, line: tuple[str, ...]
) -> None:
    """A change that GitOps would undo is no half of a success."""
    code, said = anybody(repository, *line)
    assert (code, repository.live()) == (6, {"rrf_k": 31})
    assert "t/acme.yaml cannot be edited: Permission denied. Nothing was written." in said
    assert repository.read("t/acme.yaml") == "tenant: acme\nknobs: {rrf_k: 31}\n"
    assert [path.name for path in (repository.folder / "t").iterdir()] == ["acme.yaml"]


def test_a_plan_that_cannot_be_written_is_not_made(inside: Inside) -> None:
    """Nobody waits for a fleet to be read to hear that the folder is read-only."""
    fleet_of(inside, 2)
    (inside.folder / "out").mkdir(mode=0o500)
    code, said = anybody(inside, "plan", "t", "-o", "out/p.json", *ENGINE)
    assert (code, (inside.folder / "e.db").exists()) == (2, False)
    assert "-o cannot write out/p.json: Permission denied" in said


def test_a_pull_into_a_folder_that_cannot_be_written_writes_no_other_file(inside: Inside) -> None:
    """All files or none."""
    inside.write("knobctl.toml", "")
    for name in ("a", "b"):
        inside.write(f"{name}/{name}.yaml", f"tenant: {name}\nknobs: {{rrf_k: 31}}\n")
        inside.hold(name, rrf_k=30)
    (inside.folder / "b").chmod(0o500)
    code, said = anybody(inside, "pull", "a", "b", "--yes", *ENGINE)
    (inside.folder / "b").chmod(0o700)
    assert (code, "b/b.yaml cannot be edited: Permission denied" in said) == (6, True)
    assert "31" in inside.read("a/a.yaml")


def test_a_file_that_does_not_fit_on_the_disk_stops_before_the_engine(inside: Inside) -> None:
    """A file system of 64 KiB, filled up."""
    inside.write("knobctl.toml", "")
    inside.hold(rrf_k=31)
    (inside.folder / "t").mkdir()
    document = "tenant: acme\nknobs:\n  rrf_k: 31\n" + "# why\n" * 5000
    inside.write("acme.yaml", document)
    script = (
        "mount -t tmpfs -o size=64k none t && mv acme.yaml t/ && head -c 28000 /dev/zero > t/fill;"
        f" {_line('set', 'acme', 'rrf_k=32', '--also-file', *WHY)}; code=$?; cat t/acme.yaml >&2; exit $code"
    )
    code, said = mounted(inside, script)
    assert (code, inside.live()) == (6, {"rrf_k": 31}), said
    assert "t/acme.yaml cannot be edited: No space left on device. Nothing was written." in said
    assert document in said


@pytest.mark.parametrize(
    ("options", "cause"),
    [("size=1m,ro", "Read-only file system"), ("size=16k", "No space left on device")],
)
def test_a_state_folder_that_takes_no_journal_stops_the_run(
    inside: Inside, options: str, cause: str
) -> None:
    """A mount that is read-only, and one on which the plan does not fit."""
    fleet_of(inside, 60)
    state = inside.folder.parent / "home" / "state"
    state.mkdir(parents=True, exist_ok=True)
    code, said = mounted(inside, f"mount -t tmpfs -o {options} none {state}; {_line(*APPLY)}")
    assert (code, live_sets(inside)) == (6, {}), said
    assert "the journal of this run cannot be written" in said
    assert cause in said


def test_a_cache_that_cannot_be_written_changes_nothing(inside: Inside) -> None:
    """It is a help and no more."""
    fleet_of(inside, 3)
    usual = inside("plan", "t", "--format", "json", *ENGINE).json["summary"]
    cache = inside.folder.parent / "home" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for options in ("size=1m,ro", "size=4k"):
        answers = " && ".join((_line("check", "t"), _line("plan", "t", *ENGINE)))
        code, said = mounted(inside, f"mount -t tmpfs -o {options} none {cache}; {answers}")
        assert (code, said) == (0, "")
    assert inside("plan", "t", "--format", "json", *ENGINE).json["summary"] == usual


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
def test_a_disk_that_does_not_keep_what_it_took_stops_the_run(inside: Inside, failing: int) -> None:
    """The flush of the folder, of the beginning or of intents fails, once: nothing is sent whose record may be lost."""
    sets = fleet_of(inside, 60)
    code, said = in_child((*APPLY, "--parallelism", "2"), _failing_flush(failing))
    written = live_sets(inside)
    (path,) = folder_of(inside).iterdir()
    noted = path.read_bytes()
    assert written.keys() <= {
        name for name in sets if f'"intent", "tenant": "{name}"'.encode() in noted
    }
    assert (code, bool(written)) == ((6, False) if failing < 4 else (9, True)), said
    assert "the journal of this run cannot be written" in said or "not begun" in said
    assert "Input/output error" in said
    if written:
        finish(inside, sets)


def _failing_flush(number: int) -> Callable[[], None]:
    calls = count(1)
    flush = os.fsync

    def failing(handle: int) -> None:
        if next(calls) == number:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flush(handle)

    def prepare() -> None:
        pytest.MonkeyPatch().setattr(os, "fsync", failing)  # the child is ours alone

    return prepare


def mounted(inside: Inside, script: str) -> tuple[int, str]:
    """Run a script of a shell that may mount what nobody else sees: its exit code and its stderr."""
    rights = "-m" if os.geteuid() == 0 else "-rm"
    done = subprocess.run(
        ["unshare", rights, "bash", "-c", script],
        cwd=inside.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stderr.decode()


def _line(*arguments: str) -> str:
    return shlex.join([*MAIN, *arguments])
