"""The CI files of examples/fleet: valid, and about what is there."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import yaml

from tests.meeting.action_runner import ACTION, ROOT
from tests.meeting.gitlab_runner import INPUTS

FLEET = ROOT / "examples" / "fleet"


def test_its_workflow_uses_the_action() -> None:
    """By GitHub's own schema; only with inputs and outputs that the action has."""
    file = FLEET / ".github/workflows/knobs.yml"
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", file],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    steps: list[dict[str, Any]] = yaml.safe_load(file.read_text())["jobs"]["check"]["steps"]
    [use] = [step for step in steps if step.get("uses") == "./.knobctl"]
    assert set(use.get("with", {})) <= set(ACTION["inputs"])
    assert "sarif" in ACTION["outputs"]


def test_its_pipeline_includes_the_component() -> None:
    """With the inputs that the component asks for."""
    [include] = yaml.safe_load((FLEET / ".gitlab-ci.yml").read_text())["include"]
    assert (ROOT / include["file"]).is_file()
    needed = {name for name, one in INPUTS.items() if "default" not in one}
    assert needed <= set(include["inputs"]) <= set(INPUTS)


def test_its_hooks_can_be_read() -> None:
    """pre-commit takes the file."""
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config", FLEET / ".pre-commit-config.yaml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
