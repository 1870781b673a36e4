"""GitLab: the component's own lines, and those of a new repository, run with the variables that GitLab sets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.meeting.git_repository import Git, repository
from tests.meeting.gitlab_runner import INPUTS, ROOT, Job, filled_in

LAYER = "layer: eu\nknobs:\n  retrieval_min_score: {}\n"
FROM_HERE = {"source": str(ROOT)}


@pytest.fixture
def request_(tmp_path: Path) -> Git:
    """The checkout of a merge request that raises a layer's floor."""
    git = repository(tmp_path / "checkout")
    git.write("layers/eu.yaml", LAYER.format("0.3"))
    git.write("tenants/acme.yaml", "tenant: acme\nlayers: [eu]\nknobs: {rrf_k: 30}\n")
    git.write("tenants/old.yaml", "tenant: old\nknobs: {retrieval_min_score: 0.34}\n")
    git.commit("main")
    git("checkout", "-q", "-b", "branch")
    git.write("layers/eu.yaml", LAYER.format("0.45"))
    git.commit("raise the floor")
    return git


def job_of(git: Git, tmp_path: Path, **variables: str) -> Job:
    """The job's surroundings in a pipeline."""
    return Job(checkout=git.folder, programs=tmp_path / "bin", variables=variables)


def reports(git: Git, job: dict[str, Any]) -> tuple[list[dict[str, Any]], ET.Element]:
    """The code quality report and the test report that the job hands to GitLab."""
    named = job["artifacts"]["reports"]
    quality: list[dict[str, Any]] = json.loads((git.folder / named["codequality"]).read_text())
    return quality, ET.fromstring((git.folder / named["junit"]).read_bytes())


@pytest.mark.parametrize("variable", ["CI_MERGE_REQUEST_DIFF_BASE_SHA", "CI_MERGE_REQUEST_TARGET_BRANCH_SHA"])  # fmt: skip
def test_a_merge_request_is_judged_by_what_it_changes(
    request_: Git, tmp_path: Path, variable: str
) -> None:
    """Detached and merged-result pipelines; what was there before is standing and weighs as info."""
    job = filled_in(**FROM_HERE, fail_on="warning")["knobctl"]
    base = request_("rev-parse", "main")
    code, log = job_of(request_, tmp_path, **{variable: base}).run(job)
    assert code == 5, log
    quality, junit = reports(request_, job)
    new = [one for one in quality if one["severity"] != "info"]
    assert {one["location"]["path"] for one in new} == {"layers/eu.yaml"}
    assert {one["location"]["lines"]["begin"] for one in new} == {3}
    assert junit.findall(".//failure")
    assert (request_.folder / job["artifacts"]["paths"][0]).read_text().startswith("<!-- knobctl")


def test_a_branch_is_judged_whole(request_: Git, tmp_path: Path) -> None:
    """Without a merge request there is no base."""
    job = filled_in(**FROM_HERE, fail_on="warning")["knobctl"]
    code, log = job_of(request_, tmp_path).run(job)
    assert code == 5, log
    paths = {one["location"]["path"] for one in reports(request_, job)[0] if one["severity"] != "info"}  # fmt: skip
    assert paths == {"layers/eu.yaml", "tenants/old.yaml"}


def test_a_base_outside_the_clone_is_fetched(request_: Git, tmp_path: Path) -> None:
    """A shallow clone gets the commit from the origin."""
    request_("config", "uploadpack.allowAnySHA1InWant", "true")
    shallow = Git(tmp_path / "shallow")
    request_("clone", "-q", "--depth=1", f"file://{request_.folder}", shallow.folder)
    job = filled_in(**FROM_HERE)["knobctl"]
    base = request_("rev-parse", "main")
    code, log = job_of(shallow, tmp_path, CI_MERGE_REQUEST_DIFF_BASE_SHA=base).run(job)
    assert code == 0, log
    assert shallow("cat-file", "-t", base) == "commit"


def test_inputs_reach_the_command_as_they_are(request_: Git, tmp_path: Path) -> None:
    """Several paths; a path that looks like a command is a path."""
    job = filled_in(**FROM_HERE, paths="tenants layers", fail_on="warning")["knobctl"]
    assert job_of(request_, tmp_path).run(job)[0] == 5
    job = filled_in(**FROM_HERE, paths="$(touch${IFS}owned)")["knobctl"]
    code, log = job_of(request_, tmp_path).run(job)
    assert (code, "there is no file or folder" in log) == (2, True)
    assert not (request_.folder / "owned").exists()


def test_the_pipeline_of_a_new_repository_runs(tmp_path: Path) -> None:
    """The lines of what `init` writes: they pass, and their reports are there."""
    git = repository(tmp_path / "checkout")
    made = job_of(git, tmp_path)
    init = {"script": ["pip", f'knobctl init . --source "{ROOT}"']}
    assert made.run(init)[0] == 0
    base = git.commit("start")
    pipeline = yaml.safe_load((git.folder / ".gitlab-ci.yml").read_text())
    code, log = job_of(git, tmp_path, CI_MERGE_REQUEST_DIFF_BASE_SHA=base).run(
        {**pipeline["check"], "script": [*pipeline["before_script"], *pipeline["check"]["script"]]}
    )
    assert code == 0, log
    assert reports(git, pipeline["check"])


def test_gitlab_takes_the_pipeline(tmp_path: Path) -> None:
    """By the official schema, whatever is filled in; each input says what it is."""
    files = [ROOT / "examples/fleet/.gitlab-ci.yml"]
    for inputs in ({}, {"job": "gate", "fail_on": "warning", "paths": "a b"}):
        pipeline = filled_in(source="knobctl @ git+https://git.example.org/knobctl@v1", **inputs)
        files.append(tmp_path / f"{len(files)}.yml")
        files[-1].write_text(yaml.safe_dump(pipeline))
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.gitlab-ci", *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(one["description"] for one in INPUTS.values())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_installs_its_source(request_: Git, tmp_path: Path) -> None:
    """All lines, in an environment of their own, the installation of this checkout included."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    job = filled_in(**FROM_HERE, fail_on="warning")["knobctl"]
    there = Job(checkout=request_.folder, programs=tmp_path / "venv" / "bin", variables={})
    code, log = there.run(job, install=True)
    assert code == 5, log
