"""`knobctl init`: a repository that passes its own gate, and nothing of what was there is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from knobctl.cli.init import requirement_of
from knobctl.documents.scaffold import scaffold_files
from tests.cli.outputs import faults_of

if TYPE_CHECKING:
    from tests.cli.inside import Inside

ENGINE = ("--engine", "embedded:engine.db")


@pytest.fixture
def made(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a new repository, which is the working folder."""
    assert inside("init", "knobs").code == 0
    monkeypatch.chdir(inside.folder / "knobs")
    return inside.folder / "knobs"


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_it_passes_its_own_gate_with_one_warning(inside: Inside, made: Path) -> None:
    """Valid, canonical, checked: exit 0, and one warning at the line that a comment explains."""
    assert inside("validate").code == 0
    assert inside("policy", "test").code == 0
    assert inside("fmt", "--check").code == 0
    checked = inside("check", "--format", "json")
    assert (checked.code, checked.json["summary"]["errors"]) == (0, 0)
    [warning] = [one for one in checked.json["findings"] if one["severity"] == "warning"]
    assert (warning["rule"], warning["file"]) == ("floor-above-vector-ceiling", "tenants/acme.yaml")
    line = (made / warning["file"]).read_text().splitlines()[warning["line"] - 1]
    assert line == "  retrieval_min_score: 0.45"
    assert inside("check", "--fail-on", "warning").code == 5


def test_its_policy_keeps_what_its_examples_promise(inside: Inside, made: Path) -> None:
    """The rule of the scaffold finds the tenant that breaks it."""
    (made / "tenants/bolt.yaml").write_text(
        "tenant: bolt\nowner: support\nknobs: {assembly_token_budget: 9000}\n"
    )
    checked = inside("check", "--format", "json")
    assert checked.code == 4
    assert "long-prompts-are-for-enterprise" in checked.rules


@pytest.mark.usefixtures("made")
def test_the_commands_that_it_names_work(inside: Inside) -> None:
    """What the answer says to try, tried; a second push changes nothing."""
    assert inside("explain", "retrieval_min_score", "0.45").code == 0
    applied = inside("apply", ".", "--yes", "--reason", "first try", *ENGINE)
    assert applied.code == 0, applied.err
    assert "2 applied, read back equal" in applied.out
    again = inside("apply", ".", "--yes", "--reason", "second try", *ENGINE)
    assert again.out.startswith("2 tenants: no changes;")


def test_the_answer_names_files_and_commands(inside: Inside) -> None:
    """Every file, then three commands to copy."""
    done = inside("init", "knobs")
    named = {line.strip() for line in done.out.splitlines() if line.startswith("  ")}
    assert set(files(inside.folder / "knobs")) <= named
    assert "try  cd knobs && knobctl check\n" in done.out
    for line in done.out.splitlines():
        assert len(line) <= 120


def test_the_answer_for_machines_has_its_schema(inside: Inside) -> None:
    """Written files as they are on the disk; the settings, which make it a repository, last."""
    answer = inside("init", "knobs", "--format", "json").json
    assert faults_of(answer, "output-init.v1.schema.json") == []
    assert sorted(answer["written"]) == sorted(files(inside.folder / "knobs"))
    assert answer["written"][-1] == "knobctl.toml"


def test_a_dry_run_writes_nothing(inside: Inside) -> None:
    """It names the same files; not even the folder appears."""
    tried = inside("init", "knobs", "--dry-run", "--format", "json").json
    assert not (inside.folder / "knobs").exists()
    assert inside("init", "knobs", "--format", "json").json["written"] == tried["written"]


def test_what_is_there_stays(inside: Inside) -> None:
    """Files and links of other people are left and named; the rest is written."""
    inside.write("README.md", "ours\n")
    (inside.folder / ".gitignore").symlink_to("nowhere")
    done = inside("init")
    assert (done.code, inside.read("README.md")) == (0, "ours\n")
    assert (inside.folder / ".gitignore").is_symlink()
    assert not (inside.folder / "nowhere").exists()
    assert "left as they are: .gitignore, README.md\n" in done.out
    assert inside("check").code == 0


@pytest.mark.parametrize("there", ["knobctl.toml", "tenants/zed.yaml", "sub/knobctl.toml"])
def test_a_repository_is_refused_before_anything_is_written(inside: Inside, there: str) -> None:
    """One that has settings, or documents of knobctl, or lies within such a one."""
    inside.write(there, "" if there.endswith("toml") else "tenant: zed\nknobs: {}\n")
    before = files(inside.folder)
    done = inside("init", "sub/knobs" if there.startswith("sub") else ".")
    assert done.code == 6
    assert "already" in done.err
    assert "Nothing was written." in done.err
    assert files(inside.folder) == before


def test_twice_is_refused(inside: Inside) -> None:
    """The second time it is a repository."""
    assert [inside("init").code, inside("init").code] == [0, 6]


@pytest.mark.parametrize("written", range(15))
def test_an_interrupted_one_is_finished(inside: Inside, written: int) -> None:
    """After any number of files it goes on where it stopped: the settings come last."""
    names = inside("init", "--format", "json").json["written"]
    whole = files(inside.folder)
    assert (len(names), names[-1]) == (15, "knobctl.toml")
    for name in names[written:]:
        (inside.folder / name).unlink()
    assert inside("init").code == 0
    assert files(inside.folder) == whole


def test_one_that_is_killed_leaves_whole_files(inside: Inside) -> None:
    """Whatever the moment, each file is there as it is to be, or not at all."""
    whole = scaffold_files("knobctl")
    for number in range(8):
        folder = inside.folder / str(number)
        code = "from knobctl.cli.main import main; main()"
        process = subprocess.Popen(
            [sys.executable, "-c", code, "init", folder, "--source", "knobctl"],
            stdout=subprocess.DEVNULL,
        )
        while len(list(folder.rglob("*"))) < 2 * number and process.poll() is None:
            pass
        process.kill()
        process.wait()
        for name in whole:
            if (folder / name).exists():
                assert (folder / name).read_text(encoding="utf-8") == whole[name]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["file"], "file is no folder"),
        (["file/below"], "cannot be written"),
        (["--schema", "other.json"], "name the schema in knobctl.toml"),
        (["--source", "a\nb"], "must be one line"),
        (["--source", " "], "must be one line"),
    ],
)
def test_what_it_cannot_do_is_said(inside: Inside, arguments: list[str], said: str) -> None:
    """Exit 2, with the reason, and nothing appears."""
    inside.write("file", "x")
    done = inside("init", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert set(files(inside.folder)) == {"file"}


def test_below_the_root_of_git_it_says_where_pipelines_look(inside: Inside) -> None:
    """CI files and hooks in a folder of a larger repository are read by nobody."""
    subprocess.run(["git", "init", "-q", "."], cwd=inside.folder, check=True)
    assert "at the root of the Git repository" in inside("init", "knobs").err
    assert "at the root" not in inside("init", ".").err


def test_the_source_is_one_line_of_one_file(inside: Inside) -> None:
    """What pipelines install stands in requirements.txt and nowhere else."""
    source = "knobctl @ git+https://git.example.org/search/knobctl@v1"
    inside("init", "knobs", "--source", source)
    holding = [
        name for name, text in files(inside.folder / "knobs").items() if source.encode() in text
    ]
    assert holding == ["requirements.txt"]


def test_an_unknown_source_stops_a_pipeline_with_the_line(inside: Inside) -> None:
    """pip refuses the line that a person has to fill in, and shows it: nothing foreign is installed."""
    done = inside("init", "knobs", "--format", "json")
    if done.json["source"] is not None:  # installed from where pipelines can get to as well
        assert done.json["source"] in inside.read("knobs/requirements.txt")
        return
    assert "say in requirements.txt" in inside("init", "other").out
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "-r", "requirements.txt"]
    tried = subprocess.run(
        pip, cwd=inside.folder / "knobs", capture_output=True, text=True, check=False
    )
    assert tried.returncode != 0
    assert "put here where pip gets knobctl from" in tried.stderr


@pytest.mark.parametrize(
    ("record", "source"),
    [
        (None, "knobctl==9.8"),
        (
            {
                "url": "https://git.example.org/x.git",
                "vcs_info": {"vcs": "git", "commit_id": "c0ffee"},
            },
            "knobctl @ git+https://git.example.org/x.git@c0ffee",
        ),
        (
            {"url": "https://files.example.org/knobctl-9.8-py3-none-any.whl", "archive_info": {}},
            "knobctl @ https://files.example.org/knobctl-9.8-py3-none-any.whl",
        ),
        ({"url": "file:///home/anna/knobctl", "dir_info": {}}, None),
        ({"url": "ssh://git@host/x", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}, None),
    ],
)
def test_the_source_is_from_where_this_one_came(
    record: dict[str, object] | None, source: str | None
) -> None:
    """Where a pipeline can get there too; never a name on an index that nobody asked for."""
    assert requirement_of(record, "9.8") == source


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-workflows", ".github/workflows/knobctl.yml"),
        ("vendor.gitlab-ci", ".gitlab-ci.yml"),
    ],
)
def test_its_pipelines_are_valid(schema: str, file: str) -> None:
    """By the official schemas of GitHub and GitLab."""
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_hooks_and_settings_can_be_read(made: Path) -> None:
    """pre-commit takes its configuration; the editor's settings name schemas and folders that exist."""
    hooks = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config"],
        cwd=made, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (hooks.returncode, hooks.stderr) == (0, ""), hooks.stdout
    for schema, patterns in json.loads((made / ".vscode/settings.json").read_text())[
        "yaml.schemas"
    ].items():
        assert (made / schema).is_file()
        assert [path for pattern in patterns for path in made.glob(pattern)]
    for path in made.glob("[!.]*/**/*.yaml"):
        first = path.read_text().splitlines()[0]
        assert (path.parent / first.partition("$schema=")[2]).is_file(), path
