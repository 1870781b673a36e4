"""A rule that cannot be read, compiled or asked never passes: through the command, in every format."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from knobctl.report.formats import FORMATS
from tests.cli.inside import ENGINE

if TYPE_CHECKING:
    from tests.cli.inside import Inside

ROOT: Final = Path(__file__).parents[2]
TENANT: Final = "tenant: acme\nknobs: {assembly_max_chunks: 10}\n"
DIGITS: Final = "[0,1,2,3,4,5,6,7,8,9]"
ENDLESS: Final = f"{DIGITS}.all(x, " * 8 + "tenant != owner" + ")" * 8
PROBLEMS: Final = {
    "syntax": ("policy: p\nwhen: [\n", "yaml-syntax"),
    "half": ("policy: p\nseverity: error\nwhen: 'true'\nmessage: 'x\n", "yaml-syntax"),
    "second document": ("layer: l\nknobs: {}\n---\npolicy: p\nwhen: {\n", "yaml-syntax"),
    "mistyped kind": ("polcy: p\nseverity: error\nwhen: 'true'\nmessage: x\n", "unknown-document"),
    "two kinds": ("policy: p\nwaiver: w\nwhen: 'true'\n", "unknown-document"),
    "missing field": ("policy: p\nseverity: error\nmessage: x\n", "missing-field"),
    "key twice": ("policy: p\nseverity: error\nwhen: 'true'\nwhen: 'false'\nmessage: x\n", "duplicate-key"),
    "unknown variable": ("policy: p\nseverity: error\nwhen: effectve.rrf_k > 3\nmessage: x\n", "policy-error"),
    "unknown knob": ("policy: p\nseverity: error\nwhen: effective.rrf_q > 3\nmessage: x\n", "policy-error"),
    "endless loop": (f"policy: p\nseverity: info\nwhen: {ENDLESS!r}\nmessage: x\n", "policy-error"),
    "run time": ("policy: p\nseverity: info\nwhen: labels.tier == 'x'\nmessage: x\n", "policy-error"),
}  # fmt: skip


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_rule_that_is_of_no_use_fails_the_run_in_every_format(
    inside: Inside, problem: str, format_: str
) -> None:
    """Though PATH names one tenant's file alone; the finding names the file of the rule."""
    text, rule = PROBLEMS[problem]
    inside.write("knobctl.toml", "")
    inside.write("rules/p.yaml", text)
    tenant = inside.write("tenants/acme.yaml", TENANT)
    result = inside("check", tenant, "--format", format_)
    assert result.code == 4
    assert rule in result.out
    assert "rules/p.yaml" in result.out
    assert inside("check", ".", "--format", format_).code == 4


def test_what_is_told_of_a_file_that_nobody_asked_about_says_why(inside: Inside) -> None:
    """A rule may stand in it; a broken tenant beside it is not judged."""
    inside.write("knobctl.toml", "")
    inside.write("other.yaml", "tenant: other\nknobs: [\n# under the new policy\n")
    inside.write("playbook.yaml", "hosts: all\ntasks:\n- debug: x\n  when: yes\n")
    tenant = inside.write("acme.yaml", TENANT)
    assert inside("check", tenant).code == 0
    inside.write("p.yaml", PROBLEMS["syntax"][0])
    result = inside("check", tenant, "--format", "json")
    assert (result.code, result.rules) == (4, ["yaml-syntax"])
    finding = result.json["findings"][0]
    assert (finding["file"], finding["line"]) == ("p.yaml", 3)
    assert finding["message"].endswith(
        "; what policy may stand in it is not known, so nothing passes"
    )


def test_a_file_that_vanishes_while_it_is_read_may_have_held_a_rule(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows what stood in it; the same where it may not be read."""
    inside.write("knobctl.toml", "")
    tenant = inside.write("acme.yaml", TENANT)
    gone = inside.folder / inside.write("p.yaml", "policy: p\n")
    listed = os.scandir

    def scandir(path: str) -> object:
        if not str(path).startswith(str(inside.folder)):  # where this very installation lies
            return listed(path)
        entries = list(listed(path))
        gone.unlink(missing_ok=True)
        return entries

    monkeypatch.setattr(os, "scandir", scandir)
    result = inside("check", tenant, "--format", "json")
    assert (result.code, result.rules) == (4, ["unreadable-file"])
    assert "what policy may stand in it is not known" in result.json["findings"][0]["message"]


def test_a_plan_stops_and_a_change_of_one_tenant_says_it(inside: Inside) -> None:
    """A push is judged by every rule; a change of one tenant shows what stood before, and goes on."""
    inside.write("knobctl.toml", "")
    tenant = inside.write("acme.yaml", TENANT)
    inside.write("p.yaml", PROBLEMS["syntax"][0])
    assert inside("plan", tenant, *ENGINE).code == 4
    assert inside("apply", tenant, "--yes", "--reason", "r", *ENGINE).code == 4
    done = inside("set", "acme", "assembly_max_chunks=9", "--yes", "--reason", "r", *ENGINE)
    assert (done.code, "p.yaml:3:1  error  yaml-syntax  standing" in done.out) == (0, True)


def test_a_branch_that_breaks_a_rule_fails_and_one_that_found_it_broken_does_not(
    inside: Inside,
) -> None:
    """Though only a tenant's file is named: what the base has too is standing."""
    tenant = inside.write("acme.yaml", TENANT)
    inside.write("p.yaml", PROBLEMS["syntax"][0])
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        who = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.invalid",
            "-c",
            "commit.gpgsign=false",
        ]
        subprocess.run(["git", *who, *arguments], cwd=inside.folder, check=True)
    inside.write("acme.yaml", TENANT.replace("10", "11"))
    found = inside("check", tenant, "--base", "HEAD", "--format", "json")
    assert found.code == 0
    assert [one["rule"] for one in found.json["findings"] if one["standing"]] == ["yaml-syntax"]
    inside.write("q.yaml", PROBLEMS["half"][0])
    new = inside("check", tenant, "--base", "HEAD", "--format", "json")
    counting = [one["file"] for one in new.json["findings"] if not one["standing"]]
    assert (new.code, counting) == (4, ["q.yaml"])


def test_the_list_and_the_test_of_policies_see_it_too(inside: Inside) -> None:
    """Neither shows fewer rules and is content."""
    inside.write("p.yaml", PROBLEMS["syntax"][0])
    for command in ("list", "test"):
        result = inside("policy", command, "--format", "json")
        assert (result.code, [one["rule"] for one in result.json["findings"]]) == (
            4,
            ["yaml-syntax"],
        )


def installed(home: Path) -> Path:
    """An installation of its own in a folder, and a tenant beside it."""
    for part in ("knobctl", "schemas", "policies"):
        shutil.copytree(ROOT / part, home / part, ignore=shutil.ignore_patterns("__pycache__"))
    (home / "acme.yaml").write_text(TENANT, encoding="utf-8")
    return home


def run_installed(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run what is installed in a folder."""
    return subprocess.run(
        [sys.executable, "-P", "-c", "from knobctl.cli.main import main; main()", *arguments],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def without_policies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation that has lost its policies."""
    home = installed(tmp_path_factory.mktemp("installed"))
    shutil.rmtree(home / "policies")
    (home / "own").mkdir()
    own = "policy: own\nseverity: error\nwhen: 'false'\nmessage: never\n"
    (home / "own" / "p.yaml").write_text(own, encoding="utf-8")
    shutil.copy(home / "acme.yaml", home / "own")
    return home


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "own"],
        ["check", "acme.yaml", "--format", "junit", "--exit-zero"],
        ["policy", "list"],
        ["policy", "test", "--format", "sarif"],
    ],
    ids=" ".join,
)
def test_zero_policies_are_no_success(without_policies: Path, arguments: list[str]) -> None:
    """Exit 2 whatever the format, and though a repository has one of its own."""
    done = run_installed(without_policies, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: 0 policies ship with this knobctl, so nothing passes\n  install knobctl again\n"
    )


BROKEN: Final = {
    "syntax": ("policy: p\nwhen: [\n", ":3 is no policy: "),
    "key twice": ("policy: p\nwhen: 'true'\nwhen: 'false'\n", ":3 is no policy: "),
    "nothing": ("", ":1 is no policy: "),
    "no policy": ("tenant: p\n", " is not one policy"),
    "two": ("policy: p\n---\npolicy: q\n", " is not one policy"),
}


def test_a_built_in_policy_that_cannot_be_read_is_no_policy_less(tmp_path: Path) -> None:
    """Nothing is judged without it: the installation is told, exit 1, whatever the fault."""
    home = installed(tmp_path)
    file = home / "policies" / "pipeline-width.yaml"
    for text, words in BROKEN.values():
        file.write_text(text, encoding="utf-8")
        done = run_installed(home, "check", "acme.yaml")
        assert (done.returncode, done.stdout) == (1, "")
        assert f"{file}{words}" in done.stderr.replace("\n  ", " ")
