"""Shell completion, in real shells."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from knobctl.changes.journal import Chain, Heading
from knobctl.knobs import load_catalogue
from tests.cli.engines import FIRST, embedded, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.running import Knobctl

ROOT = Path(__file__).parent.parent.parent
TAB = "\t"


def run_of(knobctl: Knobctl, name: str, *, left: int) -> None:
    """A run's journal, as far as completion looks at it."""
    folder = knobctl.folder.with_name(f"{knobctl.folder.name}-home") / "state/knobctl/runs"
    folder.mkdir(parents=True, exist_ok=True)
    heading = Heading(
        run=name,
        command="apply",
        started_at="2026-11-30T05:00:00+00:00",
        made_by="",
        actor="",
        folder="",
        engine="embedded:e.db",
        place="",
        fleet=None,
        reason="",
    )
    end = {"kind": "end", "left": left, "ended_at": "", "outcomes": {}}
    chain = Chain()
    lines = [chain.line(record) for record in (heading.as_record(), end)]
    (folder / f"{name}.jsonl").write_bytes(b"".join(lines))


@pytest.fixture
def program(knobctl: Knobctl) -> Path:
    """A folder for PATH that holds `knobctl`."""
    folder = knobctl.folder.with_name("bin")
    folder.mkdir()
    script = folder / "knobctl"
    script.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'from knobctl.cli.main import main; main()' \"$@\"\n"
    )
    script.chmod(0o755)
    return folder


def surroundings(knobctl: Knobctl, program: Path) -> dict[str, str]:
    """The environment of a user whose shell finds knobctl."""
    home = knobctl.folder.with_name(f"{knobctl.folder.name}-home")
    home.mkdir(exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("KNOBCTL_")}
    folders = {
        f"XDG_{name}_HOME": str(home / name.lower())
        for name in ("DATA", "CONFIG", "STATE", "CACHE")
    }
    return {
        **kept,
        **folders,
        "HOME": str(home),
        "PATH": f"{program}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TERM": "dumb",
        "INPUTRC": "/dev/null",
    }


class Bash:
    """An interactive bash on a pseudo-terminal, with the completion script loaded."""

    def __init__(self, knobctl: Knobctl, program: Path) -> None:
        script = knobctl.folder.with_name("completion.bash")
        script.write_text(knobctl("completion", "bash").out)
        self.process, self.terminal = self._start(knobctl, program)
        self.send(f"bind 'set bell-style none'; source {script}; echo loaded-$((40 + 2))\n")
        self.read_until("loaded-(42)")

    @staticmethod
    def _start(knobctl: Knobctl, program: Path) -> tuple[subprocess.Popen[bytes], int]:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=knobctl.folder,
            env={**surroundings(knobctl, program), "PS1": "ready> "},
            start_new_session=True,
        )
        os.close(theirs)
        return process, ours

    def send(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def read_until(self, pattern: str, limit_s: float = 10.0) -> str:
        """What the pattern's group holds once it is shown."""
        seen = ""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.1)[0]:
                seen += os.read(self.terminal, 65536).decode()
            if found := re.search(pattern, seen):
                return str(found[1])
        pytest.fail(f"bash did not show {pattern!r}: {seen!r}")

    def completed(self, typed: str) -> str:
        """The line after TAB, up to where the cursor then stands."""
        self.send(f"{typed}{TAB}")
        # Bash reads on when the completion has come. Back to the front of the line, to make it an argument of echo that keeps its spaces.
        self.send("'\x01echo done-$((40 + 2)) '\x05\n")
        return self.read_until(r"done-42 (.*?)\r\n")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


@pytest.fixture
def bash(knobctl: Knobctl, program: Path) -> Iterator[Bash]:
    """A bash in a folder with two tenants, and an engine with a third."""
    knobctl.write("knobctl.toml", "")
    knobctl.write("tenants/acme.yaml", "# one\ntenant: acme\nknobs: {}\n")
    knobctl.write("tenants/more.yaml", '---\ntenant: "globex-eu"\nknobs: {}\n---\nlayer: gold\n')
    data = knobctl.folder.with_name(f"{knobctl.folder.name}-home") / "data" / "knobctl"
    data.mkdir(parents=True)
    with embedded(data / "engine.db") as engine:
        write(engine, "stored-only", FIRST)
    knobctl("context", "add", "staging", "--engine", "https://s.example")
    run_of(knobctl, "7b21e0c1", left=0)
    run_of(knobctl, "a01b02c3", left=3)
    shell = Bash(knobctl, program)
    yield shell
    shell.close()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("knobctl hist", "knobctl history "),
        ("knobctl get ac", "knobctl get acme "),
        ("knobctl get glo", "knobctl get globex-eu "),
        ("knobctl get sto", "knobctl get stored-only "),
        ("knobctl get --form", "knobctl get --format "),
        ("knobctl get --format js", "knobctl get --format json "),
        ("knobctl get --context st", "knobctl get --context staging "),
        ("knobctl context us", "knobctl context use "),
        ("knobctl context use s", "knobctl context use staging "),
        ("knobctl completion z", "knobctl completion zsh "),
        ("knobctl unset acme retrieval_min", "knobctl unset acme retrieval_min_score "),
        ("knobctl set acme retrieval_min", "knobctl set acme retrieval_min_score="),
        (
            "knobctl set acme recency_ranker_mode=D",
            "knobctl set acme recency_ranker_mode=DISABLED ",
        ),
        ("knobctl runs 7", "knobctl runs 7b21e0c1 "),
        ("knobctl runs --stop a", "knobctl runs --stop a01b02c3 "),
        ("knobctl rollback --run 7", "knobctl rollback --run 7b21e0c1 "),
        ("knobctl apply --resume ", "knobctl apply --resume a01b02c3 "),
        ("knobctl set acme rrf_k=6", "knobctl set acme rrf_k=60 "),
        ("knobctl set acme rrf_k=30 gate_mode=E", "knobctl set acme rrf_k=30 gate_mode=ENABLED "),
    ],
)
def test_bash_completes(bash: Bash, typed: str, completed: str) -> None:
    """Commands, options, tenants, knobs and their values, contexts, formats; `=` splits no word of ours."""
    assert bash.completed(typed) == completed


def test_a_key_press_does_not_wait(knobctl: Knobctl, program: Path) -> None:
    """Tenants of a large repository are offered in the time of a start and a bounded search."""
    for number in range(3000):
        knobctl.write(f"tenants/t{number:04}.yaml", f"tenant: t{number:04}\nknobs: {{}}\n")
    environment = surroundings(knobctl, program) | {
        "COMP_WORDS": "knobctl get t00",
        "COMP_CWORD": "2",
        "_KNOBCTL_COMPLETE": "bash_complete",
    }

    def run() -> tuple[float, list[str]]:
        started = time.monotonic()
        done = subprocess.run(
            [program / "knobctl"],
            cwd=knobctl.folder,
            env=environment,
            capture_output=True,
            check=True,
        )
        return time.monotonic() - started, done.stdout.decode().split()

    runs = [run() for _ in range(4)]
    bare = time.monotonic()
    subprocess.run([sys.executable, "-c", "import click"], check=True)
    bare = time.monotonic() - bare

    assert min(seconds for seconds, _ in runs) < 0.2 + 2 * bare
    assert all(
        words and set(words) <= {f"plain,t00{n:02}" for n in range(100)} for _, words in runs
    )


def test_no_engine_is_asked_over_the_network(knobctl: Knobctl, program: Path) -> None:
    """With a remote engine only the documents here are offered, and nothing is sent."""
    knobctl.write("a.yaml", "tenant: acme\nknobs: {}\n")
    environment = surroundings(knobctl, program) | {
        "KNOBCTL_ENGINE": "http://127.0.0.1:9",
        "COMP_WORDS": "knobctl get a",
        "COMP_CWORD": "2",
        "_KNOBCTL_COMPLETE": "bash_complete",
    }
    done = subprocess.run(
        [program / "knobctl"], cwd=knobctl.folder, env=environment, capture_output=True, check=True
    )

    assert done.stdout == b"plain,acme\n"
    assert done.stderr == b""


@pytest.mark.parametrize("broken", ["contexts: [", "\x00", "contexts: 3", "- a"])
def test_a_broken_context_file_is_no_trouble_for_a_key_press(
    knobctl: Knobctl, program: Path, broken: str
) -> None:
    """Completion offers what it can, and says nothing."""
    home = knobctl.folder.with_name(f"{knobctl.folder.name}-home") / "config" / "knobctl"
    home.mkdir(parents=True)
    (home / "contexts.yaml").write_text(broken)
    environment = surroundings(knobctl, program) | {
        "COMP_WORDS": "knobctl get --context ",
        "COMP_CWORD": "3",
        "_KNOBCTL_COMPLETE": "bash_complete",
    }
    done = subprocess.run(
        [program / "knobctl"], cwd=knobctl.folder, env=environment, capture_output=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"\n", b"")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_it_can_read(knobctl: Knobctl, shell: str) -> None:
    """Where the shell is installed it parses the script without a word."""
    answer = knobctl("completion", shell)

    assert answer.code == 0
    assert "_KNOBCTL_COMPLETE" in answer.out
    found = shutil.which(shell)
    if found:
        script = knobctl.write("script", answer.out)
        flag = "--no-execute" if shell == "fish" else "-n"
        done = subprocess.run([found, flag, script], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_zsh_and_fish_are_told_what_each_word_means(knobctl: Knobctl, program: Path) -> None:
    """Knobs come with their titles."""
    environment = surroundings(knobctl, program) | {"COMP_WORDS": "knobctl unset acme rrf_k"}
    title = load_catalogue()["rrf_k"].title

    for shell, word in (("zsh", "3"), ("fish", "rrf_k")):
        done = subprocess.run(
            [program / "knobctl"],
            cwd=knobctl.folder,
            env=environment | {"COMP_CWORD": word, "_KNOBCTL_COMPLETE": f"{shell}_complete"},
            capture_output=True,
            check=True,
        )
        assert title in done.stdout.decode()


def test_an_unknown_shell_is_usage(knobctl: Knobctl) -> None:
    """With the three that are known."""
    answer = knobctl("completion", "tcsh")

    assert answer.code == 2
    assert "fish" in answer.err
