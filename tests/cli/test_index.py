"""Commands that compare a large repository with the engine go by its index, and that changes none of their answers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knobctl.documents.opening import MANY
from tests.cli.edited_folders import FILES, edit_file, edits, write_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.inside import Inside
    from tests.running import Result

GROUND = {
    **FILES,
    "policies/own.yaml": "policy: own\nseverity: warning\nwhen: effective.retrieval_min_score > 0.385\n"
    "message: of {today}\nexamples: {pass: [], fail: []}\n",
    "waivers/w.yaml": "waiver: w\nrule: floor-above-vector-ceiling\ntenants: [acme]\nreason: r\n"
    "approved_by: a\nexpires: 2099-12-31\n",
}
TENANTS = {
    f"tenants/more/t{number}.yaml": f"tenant: t{number}\nlabels: {{tier: paid}}\nlayers: [ent]\n"
    f"knobs: {{retrieval_min_score: 0.{20 + number % 20}, retrieval_vector_top_k: {10 + number % 3}}}\n"
    for number in range(MANY)
}
"""As many as it takes for the index to be asked."""
COMMANDS = [
    ["plan"],
    ["plan", "-v"],
    ["diff", "--format=markdown"],
    ["apply", "--yes", "--dry-run", "--format=json"],
    ["apply", "--yes", "--dry-run", "--prune"],
    ["diff", "tenants", "--format=json"],
    ["diff", "-l", "tier=paid"],
    ["diff", "--where", "effective.retrieval_min_score > 0.3"],
    ["drift"],
    ["drift", "--unmanaged", "--format=json"],
    ["plan", "--fleet=prod"],
]
git_steps = st.sampled_from([("git", "add", "-A"), ("git", "commit", "-qam", "step"), ("git", "stash"), ("git", "checkout", "-q", ".")])  # fmt: skip


@pytest.fixture
def fleet(inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository under Git, which the engine holds."""
    monkeypatch.setenv("KNOBCTL_ENGINE", f"embedded:{tmp_path / 'engine.db'}")
    folder = inside.folder
    for name, text in {**GROUND, **TENANTS}.items():
        write_file(folder / name, text)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "fleet")
    done = inside("apply", "--yes", "--reason", "given")
    assert done.code == 0, done.err
    shutil.rmtree(cache(), ignore_errors=True)
    return folder


def git(folder: Path, *arguments: str) -> None:
    """Run Git, with or without success."""
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
    )


def cache() -> Path:
    """The folder of this run's cache."""
    return Path(os.environ["XDG_CACHE_HOME"])


def index() -> Path:
    """The file of the only index."""
    (path,) = (cache() / "knobctl" / "index").iterdir()
    return path


def without_index(inside: Inside, command: list[str]) -> Result:
    """What a command answers with an empty cache."""
    shutil.rmtree(cache(), ignore_errors=True)
    return inside(*command)


@pytest.mark.parametrize(
    "examples", [4, pytest.param(30, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])]
)
def test_the_index_changes_no_answer(
    inside: Inside,
    fleet: Path,
    monkeypatch: pytest.MonkeyPatch,
    in_zone: Callable[[str], None],
    examples: int,
) -> None:
    """Whatever is edited, and whatever Git was told of it."""
    kept = cache().with_name("kept")
    first = fleet.with_name("first")
    shutil.copytree(fleet, first, symlinks=True)

    @given(st.lists(st.tuples(st.one_of(edits, git_steps), st.sampled_from(COMMANDS)), min_size=1, max_size=5))  # fmt: skip
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    def law(steps: list[tuple[tuple[str, str, str], list[str]]]) -> None:
        monkeypatch.chdir(fleet.parent)
        shutil.rmtree(fleet)
        shutil.copytree(first, fleet, symlinks=True)
        monkeypatch.chdir(fleet)
        for step, command in steps:
            if step[0] == "git":
                git(fleet, *step[1:])
            else:
                edit_file(fleet, (step[0], step[1], step[2]), monkeypatch, in_zone)
            expected = without_index(inside, command)
            shutil.rmtree(cache(), ignore_errors=True)
            if kept.exists():
                shutil.copytree(kept, cache())
            assert inside(*command) == expected
            assert inside(*command) == expected
            shutil.rmtree(kept, ignore_errors=True)
            if cache().exists():
                shutil.copytree(cache(), kept)

    law()


def test_unchanged_tenants_are_counted_and_changed_ones_are_told(
    inside: Inside, fleet: Path
) -> None:
    """Of 202 tenants with a warning each, the one that changes."""
    write_file(fleet / "tenants/more/t7.yaml", TENANTS["tenants/more/t7.yaml"].replace("0.27", "0.38"))  # fmt: skip
    told = [inside("plan") for _ in range(2)]
    assert told[0] == told[1]
    head = "202 tenants: 1 changes (1 field, no resets), 201 unchanged;"
    assert told[0].out.startswith(
        f"{head} 2 warnings (262 more about what is unchanged), no errors\n"
    )
    assert "t9: " not in told[0].out
    everything = inside("plan", "-v")
    assert everything.out.startswith(f"{head} 264 warnings, 1 waived, no errors\n")
    assert "t9: " in everything.out


def test_an_error_of_an_unchanged_tenant_stops_a_plan(inside: Inside, fleet: Path) -> None:
    """A policy that is new says so of all of them, the index or not."""
    assert inside("plan").code == 0
    write_file(
        fleet / "policies/no.yaml",
        "policy: no\nseverity: error\nwhen: effective.retrieval_min_score > 0.385\nmessage: too high\n"
        "examples: {pass: [], fail: []}\n",
    )
    told = [inside("plan", "--format=json") for _ in range(2)]
    assert [one.code for one in told] == [4, 4]
    assert told[0].json["findings"] == told[1].json["findings"]
    assert {one["tenant"] for one in told[0].json["findings"] if one["rule"] == "no"} == {
        "acme",
        *(f"t{number}" for number in range(MANY) if number % 20 == 19),
    }


@pytest.mark.parametrize("way", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_was_told_to_overlook_is_read(inside: Inside, fleet: Path, way: str) -> None:
    """It says nothing of such a file, and so cannot vouch for it."""
    assert inside("plan").code == 0
    name = "tenants/more/t5.yaml"
    git(fleet, "update-index", way, name)
    write_file(fleet / name, TENANTS[name].replace("0.25", "0.26"))
    assert inside("plan").out.startswith("202 tenants: 1 changes")


def test_a_change_of_the_same_size_and_second_is_seen(inside: Inside, fleet: Path) -> None:
    """With the time of the last change put back."""
    assert inside("plan").code == 0
    path = fleet / "tenants/more/t5.yaml"
    about = path.stat()
    path.write_bytes(path.read_bytes().replace(b"0.25", b"0.26"))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert inside("plan").out.startswith("202 tenants: 1 changes")


def test_files_that_a_filter_rewrites_are_read(inside: Inside, fleet: Path) -> None:
    """What Git has of them is not what stands on the disk."""
    assert inside("plan").code == 0
    write_file(fleet / ".gitattributes", "*.yaml filter=shift\n")
    git(fleet, "config", "filter.shift.clean", "sed s/0.26/0.25/")
    name = "tenants/more/t5.yaml"
    write_file(fleet / name, TENANTS[name].replace("0.25", "0.26"))
    git(fleet, "add", "-A")
    git(fleet, "commit", "-qm", "filtered")
    assert inside("plan").out.startswith("202 tenants: 1 changes")


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "empty", "open"])
def test_a_damaged_index_is_none(inside: Inside, damage: str) -> None:
    """Cut or changed anywhere, of another program, or open to others: the answer is the same, and it is made anew."""
    expected = inside("plan")
    path = index()
    raw = path.read_bytes()
    for place in range(0, len(raw), len(raw) // 4):
        match damage:
            case "cut":
                path.write_bytes(raw[:place])
            case "flipped":
                path.write_bytes(raw[:place] + bytes([raw[place] ^ 4]) + raw[place + 1 :])
            case "foreign":
                path.write_bytes(b"knobctl-index-2 x y 3\nabc\n" + raw[place:])
            case "empty":
                path.write_bytes(b"")
            case _:
                path.write_bytes(raw.replace(b"0.25", b"0.26"))
                path.chmod(0o666)
        assert inside("plan") == expected
        assert inside("plan") == expected
        path.chmod(0o600)
        if damage in {"empty", "open"}:
            return
    assert index().stat().st_size <= 2 * len(raw)
