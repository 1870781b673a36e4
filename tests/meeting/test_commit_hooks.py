"""The hooks for pre-commit: what they run, over what, and when they stop a commit."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.meeting.git_repository import AUTHOR, Git, repository

if TYPE_CHECKING:
    from tests.running import Knobctl, Result

ROOT = Path(__file__).parents[2]
HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
}
CONFIGURATION = """\
repos:
  - repo: {repository}
    rev: {revision}
    hooks: [{{id: knobctl-fmt}}, {{id: knobctl-validate}}, {{id: knobctl-check}}]
"""
GOOD = {
    "layers/eu.yaml": "layer: eu\nknobs:\n  rrf_k: 30\n",
    "tenants/acme.yaml": "tenant: acme\nlayers: [eu]\nknobs:\n  retrieval_min_score: 0.3\n",
    "package.json": '{"name": "somebody else\'s"}\n',
    ".github/workflows/x.yml": "on: push\n",
}
WIDE = """\
layer: eu
knobs:
  assembly_max_chunks: 200
  retrieval_vector_top_k: 5
  retrieval_bm25_top_k: 5
  retrieval_recency_top_k: 5
"""


def commit_runs(hook: str, knobctl: Knobctl) -> Result:
    """Run a hook's own entry as pre-commit does: in the folder, with the files that it passes."""
    program, *arguments = shlex.split(HOOKS[hook]["entry"])
    assert program == "knobctl"
    passed = sorted(GOOD) if HOOKS[hook].get("pass_filenames", True) else []
    return knobctl(*arguments, *passed)


@pytest.fixture
def given(knobctl: Knobctl) -> Knobctl:
    """A folder with documents of ours, and with files of other people."""
    for name, text in GOOD.items():
        knobctl.write(name, text)
    return knobctl


def test_there_are_three_and_pre_commit_reads_them() -> None:
    """One each for form, schema and policies; pre-commit itself takes the file."""
    assert set(HOOKS) == {"knobctl-fmt", "knobctl-validate", "knobctl-check"}
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("hook", HOOKS)
def test_what_is_right_passes_among_other_peoples_files(hook: str, given: Knobctl) -> None:
    """YAML that is none of ours stops no commit."""
    done = commit_runs(hook, given)
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize(
    ("hook", "name", "text", "told"),
    [
        ("knobctl-validate", "tenants/acme.yaml", "tenant: acme\nknobs: {rrf_k: x}\n", "wrong-type"),
        ("knobctl-check", "tenants/acme.yaml", "tenant: acme\nknobs: {rrf_k: x}\n", "wrong-type"),
        ("knobctl-check", "layers/eu.yaml", WIDE, "pipeline-width"),
        ("knobctl-fmt", "tenants/acme.yaml", "tenant: acme\nknobs: {rrf_k: 1, rrf_k: 2}\n",
         "duplicate-key"),
    ],
)  # fmt: skip
def test_an_error_stops_the_commit(
    hook: str, name: str, text: str, told: str, given: Knobctl
) -> None:
    """Also one that a layer brings into a tenant that is not staged."""
    given.write(name, text)
    done = commit_runs(hook, given)
    assert done.code == 4
    assert told in done.out


@pytest.mark.parametrize("hook", ["knobctl-validate", "knobctl-check"])
def test_a_layer_that_went_stops_the_commit(hook: str, given: Knobctl) -> None:
    """A removal stages no file that is there, so the hook must not wait for one."""
    assert HOOKS[hook]["always_run"]
    (given.folder / "layers/eu.yaml").unlink()
    assert commit_runs(hook, given).code == 4


def test_the_form_is_mended_and_shown_by_git(given: Knobctl) -> None:
    """fmt exits 0 and leaves a changed file, at which pre-commit stops; a second run changes nothing."""
    given.write("tenants/acme.yaml", "tenant: acme\nlayers: [eu]\nknobs:\n  rrfK: 30\n")
    done = commit_runs("knobctl-fmt", given)
    mended = (given.folder / "tenants/acme.yaml").read_text()
    assert (done.code, "rrf_k: 30" in mended) == (0, True)
    assert commit_runs("knobctl-fmt", given).out == ""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pre_commit_runs_them_from_a_clone(tmp_path: Path) -> None:
    """pre-commit itself: it installs this repository, stops what is wrong, and lets pass what is right."""
    Git(ROOT)("clone", "-q", ROOT, tmp_path / "knobctl")
    git = repository(tmp_path / "knobs")
    revision = Git(tmp_path / "knobctl")("rev-parse", "HEAD")
    for name, text in GOOD.items():
        git.write(name, text)
    git.write(
        ".pre-commit-config.yaml",
        CONFIGURATION.format(repository=tmp_path / "knobctl", revision=revision),
    )
    git("add", "-A")
    environment = {**os.environ, **AUTHOR, "PRE_COMMIT_HOME": str(tmp_path / "home")}
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")

    def pre_commit(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", *arguments],
            cwd=git.folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    passed = pre_commit("run", "--all-files")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert passed.stdout.count("Passed") == 3
    assert pre_commit("install").returncode == 0
    git.commit("what is right")  # through the hook

    git.write("tenants/acme.yaml", "tenant: acme\nlayers: [eu]\nknobs:\n  rrfK: 45\n")
    git("add", "-A")
    mended = pre_commit("run")
    assert mended.returncode == 1
    assert "files were modified by this hook" in mended.stdout
    assert mended.stdout.count("Passed") == 2

    git("rm", "-q", "layers/eu.yaml")
    broken = pre_commit("run")
    assert broken.returncode == 1
    assert "exit code: 4" in broken.stdout
