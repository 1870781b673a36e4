"""The workflow and the hooks that `init` writes, their own lines run over what it wrote."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.meeting.git_repository import Git, repository

ROOT = Path(__file__).parents[2]
START = 'exec {} -c "from knobctl.cli.main import main; main()" "$@"'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Git repository in which `init` was run, committed, and the command beside it."""
    place = tmp_path_factory.mktemp("made")
    program = place / "bin" / "knobctl"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={ROOT}\n{START.format(shlex.quote(sys.executable))}\n"
    )
    program.chmod(0o755)
    git = repository(place / "knobs")
    assert shell(git, "knobctl init .").returncode == 0
    git.commit("start")
    return place


@pytest.fixture
def git(made: Path, tmp_path: Path) -> Git:
    """That repository, one for each test."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return Git(tmp_path / "knobs")


def shell(git: Git, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script in the repository, with knobctl on the PATH."""
    path = f"{git.folder.parent / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
        cwd=git.folder,
        env={"PATH": path, "HOME": str(git.folder.parent / "home"), **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def steps(git: Git, job: str) -> list[str]:
    """The scripts of a job of the workflow, but for the installation."""
    workflow = yaml.safe_load((git.folder / ".github/workflows/knobctl.yml").read_text())
    return [
        step["run"]
        for step in workflow["jobs"][job]["steps"]
        if "pip" not in step.get("run", "pip")
    ]


def test_its_workflow_judges_the_trial_merge(git: Git, tmp_path: Path) -> None:
    """The check passes on what `init` wrote, names a new finding at its line, and fills the job summary."""
    git("checkout", "-q", "-b", "branch")
    path = git.folder / "tenants/bolt.yaml"
    longer = path.read_text().replace("knobs:\n", "knobs:\n  assembly_token_budget: 9000\n")
    git.write("tenants/bolt.yaml", longer)
    git.commit("longer prompts")
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "trial", "branch")
    form, check = steps(git, "check")
    assert shell(git, form).returncode == 0
    summary = tmp_path / "summary"
    done = shell(git, check, BASE="HEAD^1", GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 4, done.stdout + done.stderr
    line = longer.splitlines().index("  assembly_token_budget: 9000") + 1
    assert f"::error file=tenants/bolt.yaml,line={line}" in done.stdout
    assert "::warning" not in done.stdout  # the one of `init` is standing
    assert summary.read_text().startswith("<!-- knobctl check -->")


def test_its_workflow_pushes_what_reached_main(git: Git) -> None:
    """The apply job's own line, to an engine of the test."""
    assert "KNOBCTL_ENGINE" in (git.folder / ".github/workflows/knobctl.yml").read_text()
    [push] = steps(git, "apply")
    done = shell(git, push, GITHUB_SHA="c0ffee", KNOBCTL_ENGINE="embedded:engine.db")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 applied, read back equal" in done.stdout
    assert git("status", "--porcelain") == ""  # the engine's file is ignored


def test_its_hooks_stop_a_commit_and_let_one_pass(git: Git) -> None:
    """pre-commit itself runs them, with the knobctl on the PATH: an error stops, what is right passes."""
    variables = {"PRE_COMMIT_HOME": str(git.folder.parent / "home")}
    run = f"{shlex.quote(sys.executable)} -m pre_commit run"
    passed = shell(git, f"{run} --all-files", **variables)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert passed.stdout.count("Passed") == 2
    git("rm", "-q", "layers/enterprise.yaml")
    stopped = shell(git, run, **variables)
    assert stopped.returncode == 1
    assert "exit code: 4" in stopped.stdout
