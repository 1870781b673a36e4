"""The GitHub Action, its shell steps run for real: one verdict, one comment, nothing outside reaches the shell."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.meeting.action_runner import ACTION, EXPRESSION, ROOT, Runner
from tests.meeting.code_host import BOT, CodeHost, code_host
from tests.meeting.git_repository import Git, repository

MARK = "<!-- knobctl check -->\n"
LAYER = "layer: eu\nknobs:\n  retrieval_min_score: {}\n"
HOSTILE = "a\n::error::owned\n$(touch owned)`touch owned`<img src=x>@everybody"


@pytest.fixture
def host() -> Iterator[CodeHost]:
    """A code host that keeps comments."""
    with code_host() as one:
        yield one


@pytest.fixture
def origin(tmp_path: Path) -> Git:
    """The repository of a pull request: main, and a branch that raises a layer's floor."""
    git = repository(tmp_path / "origin")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    git.write("layers/eu.yaml", LAYER.format("0.3"))
    git.write("tenants/acme.yaml", "tenant: acme\nlayers: [eu]\nknobs: {rrf_k: 30}\n")
    git.write("tenants/old.yaml", "tenant: old\nknobs: {retrieval_min_score: 0.34}\n")
    git.commit("main")
    git("checkout", "-q", "-b", "branch")
    git.write("layers/eu.yaml", LAYER.format("0.45"))
    git.commit("raise the floor")
    git("checkout", "-q", "main")
    git.write("tenants/late.yaml", "tenant: late\nknobs: {retrieval_min_score: 0.4}\n")
    git.commit("meanwhile on main")
    return git


def checked_out(origin: Git, tmp_path: Path, host: CodeHost, *, merged: bool = True) -> Runner:
    """A runner as actions/checkout leaves it: a shallow clone of the trial merge, or of the branch."""
    event = {"number": 7, "base": {"sha": origin("rev-parse", "main")},
             "head": {"sha": origin("rev-parse", "branch")}}  # fmt: skip
    if merged:
        origin("checkout", "-q", "-B", "trial", "main")
        origin("merge", "-q", "--no-ff", "-m", "trial", "branch")
        origin("checkout", "-q", "main")
    place = tmp_path / "checkout"
    branch = "trial" if merged else "branch"
    origin("clone", "-q", "--depth=1", "--branch", branch, f"file://{origin.folder}", place)
    return Runner(
        checkout=place, temporary=tmp_path / "temp", api=host.url, event={"pull_request": event}
    )


@pytest.mark.parametrize("merged", [True, False], ids=["trial merge", "head of the branch"])
def test_it_judges_what_the_pull_request_changes(
    origin: Git, tmp_path: Path, host: CodeHost, *, merged: bool
) -> None:
    """From a shallow clone: the tenant that the layer reaches is new, what main has is standing."""
    ran = checked_out(origin, tmp_path, host, merged=merged).use(fail_on="warning")
    assert ran.code == 5, ran.log
    assert (ran.outputs["exit-code"], ran.outputs["outcome"]) == ("5", "warnings")
    warnings = [line for line in ran.log.splitlines() if line.startswith("::warning")]
    assert warnings
    assert all("file=layers/eu.yaml,line=3" in line and "acme" in line for line in warnings)
    assert ran.summary.startswith(MARK)
    results = json.loads(Path(ran.outputs["sarif"]).read_text())["runs"][0]["results"]
    assert {"new", "unchanged"} >= {one["baselineState"] for one in results}
    [comment] = host.own
    assert comment["body"] == ran.summary


def test_a_partial_clone_gets_the_files_of_the_base(
    origin: Git, tmp_path: Path, host: CodeHost
) -> None:
    """A checkout with a filter lacks what the base had: it is fetched, so that a reset is seen."""
    origin("config", "uploadpack.allowFilter", "true")
    origin("checkout", "-q", "branch")
    origin.write("tenants/acme.yaml", "tenant: acme\nlayers: [eu]\n")
    origin.commit("drop a knob")
    event = {"number": 7, "base": {"sha": origin("rev-parse", "main")},
             "head": {"sha": origin("rev-parse", "branch")}}  # fmt: skip
    place = tmp_path / "partial"
    origin(
        "clone", "-q", "--filter=blob:none", "--branch", "branch", f"file://{origin.folder}", place
    )
    runner = Runner(
        checkout=place, temporary=tmp_path / "temp", api=host.url, event={"pull_request": event}
    )
    ran = runner.use(fail_on="warning")
    assert ran.code == 5, ran.log
    assert "reset-by-omission" in ran.log


def test_a_second_run_updates_the_comment(origin: Git, tmp_path: Path, host: CodeHost) -> None:
    """One comment after two runs, the second without a finding."""
    runner = checked_out(origin, tmp_path, host)
    runner.use()
    (runner.checkout / "layers/eu.yaml").write_text(LAYER.format("0.3"))
    ran = runner.use()
    [comment] = host.own
    assert "comment updated" in ran.log
    assert comment["body"] == ran.summary


def test_a_push_is_judged_whole_and_comments_nowhere(
    origin: Git, tmp_path: Path, host: CodeHost
) -> None:
    """Without a pull request there is no base and no comment."""
    pull = checked_out(origin, tmp_path, host)
    runner = Runner(checkout=pull.checkout, temporary=pull.temporary, api=host.url)
    ran = runner.use(fail_on="warning")
    assert ran.code == 5
    assert "tenants/old.yaml" in ran.log
    assert host.calls == []


def test_hostile_texts_stay_texts(origin: Git, tmp_path: Path, host: CodeHost) -> None:
    """Names and messages of a pull request start no command, no markup and no mention."""
    runner = checked_out(origin, tmp_path, host)
    name = "tenants/$(touch owned);`touch owned`.yaml"
    (runner.checkout / name).write_text(f"tenant: {json.dumps(HOSTILE)}\nknobs: {{rrf_k: 0.5}}\n")
    (runner.checkout / "tenants/::error::owned.yaml").write_text("tenant: [\n")
    ran = runner.use(outputs="junit=knobctl.xml\ngitlab=knobctl.json")
    assert (ran.code, ran.outputs["outcome"]) == (4, "findings")
    assert not list(tmp_path.rglob("owned"))
    assert not [line for line in ran.log.splitlines() if line.startswith("::error::owned")]
    [comment] = host.own
    assert "<img src" not in comment["body"]
    assert (runner.checkout / "knobctl.xml").exists()
    assert json.loads((runner.checkout / "knobctl.json").read_text())


@pytest.mark.parametrize(
    "case",
    [
        ({"paths": "; touch owned"}, 2, "usage", "touch owned"),
        ({"live": "true", "engine": "http://127.0.0.1:9"}, 8, "engine", "127.0.0.1:9"),
    ],
)
def test_what_could_not_be_judged_is_said_in_the_comment(
    origin: Git, tmp_path: Path, host: CodeHost, case: tuple[dict[str, str], int, str, str]
) -> None:
    """An old verdict must not stay on the pull request as if it were of this change."""
    inputs, code, outcome, said = case
    runner = checked_out(origin, tmp_path, host)
    host.say(f"{MARK}the verdict of yesterday", BOT)
    ran = runner.use(install=False, **inputs)
    assert (ran.code, ran.outputs["outcome"], ran.outputs["sarif"]) == (code, outcome, ""), ran.log
    [comment] = host.own
    assert comment["body"].startswith(f"{MARK}**knobctl could not judge this change**")
    assert said in comment["body"]
    assert not list(tmp_path.rglob("owned"))


def test_a_folder_of_a_larger_repository(origin: Git, tmp_path: Path, host: CodeHost) -> None:
    """working-directory is where PATHs are looked for; places stay those of the checkout."""
    origin("checkout", "-q", "branch")
    (origin.folder / "knobs").mkdir()
    for name in ("layers", "tenants"):
        origin("mv", name, f"knobs/{name}")
    origin.write("knobs/knobctl.toml", "")
    origin.write("compose.yaml", "services: {}\n")
    origin.commit("moved")
    runner = checked_out(origin, tmp_path, host, merged=False)
    ran = runner.use(working_directory="knobs", paths="layers\ntenants/acme.yaml", base="HEAD")
    assert ran.code == 0, ran.log
    assert host.own == []  # nothing is new, nothing changes: nobody is told
    whole = Runner(checkout=runner.checkout, temporary=runner.temporary, api=host.url)
    assert "file=knobs/layers/eu.yaml,line=3" in whole.use(working_directory="knobs").log


def test_a_base_that_cannot_be_fetched_is_explained(
    origin: Git, tmp_path: Path, host: CodeHost
) -> None:
    """Where the clone lacks it and the origin is gone, the words say what to set."""
    runner = checked_out(origin, tmp_path, host)
    origin.folder.rename(tmp_path / "gone")
    ran = runner.use()
    assert ran.code == 2
    assert "fetch-depth: 0" in ran.log


def test_an_old_python_is_explained(tmp_path: Path, host: CodeHost) -> None:
    """Before anything is installed."""
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    (tmp_path / "checkout").mkdir()
    runner = Runner(checkout=tmp_path / "checkout", temporary=tmp_path / "temp", api=host.url)
    ran = runner.use(install=True, python=str(old))
    assert ran.code == 2
    assert "needs Python 3.11 or newer" in ran.log


def test_no_expression_stands_in_a_script() -> None:
    """What is interpolated into a script is code; values come through variables."""
    for step in ACTION["runs"]["steps"]:
        assert not EXPRESSION.search(step["run"])


def test_github_takes_the_file() -> None:
    """By the official schema of actions; each input and output says what it is."""
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema",
         "--builtin-schema", "vendor.github-actions", "action.yml"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for one in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert one["description"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_installs_what_it_belongs_to(origin: Git, tmp_path: Path, host: CodeHost) -> None:
    """All steps, the installation of this checkout into an environment of its own included."""
    ran = checked_out(origin, tmp_path, host).use(
        install=True, fail_on="warning", python=sys.executable
    )
    assert ran.code == 5, ran.log
    assert len(host.own) == 1
