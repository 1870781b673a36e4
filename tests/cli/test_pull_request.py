"""A pull request seen by the gate: a real Git repository, the real command."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.inside import Inside
from tests.cli.outputs import faults_of
from tests.running import Knobctl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CEILING = "floor-above-vector-ceiling"
RESET = "reset-by-omission"
ENT = "layer: ent\nknobs:\n  retrieval_min_score: {}\n"
TENANTS = {
    "acme": "layers: [ent]\nknobs:\n  retrieval_vector_top_k: 32\n",
    "bolt": "layers: [ent]\nknobs:\n  retrieval_bm25_top_k: 40\n",
    "old": "layers: [ent]\nknobs:\n  gate_expanded_floor: 0.2\n",
    "alone": "knobs:\n  retrieval_min_score: 0.45\n  gate_expanded_floor: 0.45\n",
}


class Repo:
    """A knob repository under Git, on its branch `main`."""

    def __init__(self, knobctl: Knobctl | Inside, top: Path | None = None) -> None:
        self.knobctl = knobctl
        self.folder = knobctl.folder
        self.top = top or self.folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", ".")

    def git(self, *arguments: str) -> str:
        """Run Git at the top, as nobody in particular."""
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", *who, *arguments], cwd=self.top, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, **files: str) -> None:
        """Write files, `__` for a slash in their names, and commit all that changed."""
        for name, text in files.items():
            self.knobctl.write(name.replace("__", "/") + ".yaml", text)
        self.git("add", "-A")
        self.git("commit", "-qm", "x", "--allow-empty")

    def check(self, *arguments: str) -> dict[str, Any]:
        """The answer in JSON, as its schema has it."""
        result = self.knobctl("check", *arguments, "--format", "json")
        assert result.out, result.err
        answer: dict[str, Any] = result.json
        assert faults_of(answer, "output-findings.v1.schema.json") == []
        assert answer["exit_code"] == result.code
        return answer


def new(answer: dict[str, Any]) -> set[tuple[str, str | None]]:
    """Rule and tenant of the findings that count."""
    return {
        (one["rule"], one["tenant"])
        for one in answer["findings"]
        if not one["standing"] and one["waived_by"] is None
    }


@pytest.fixture
def within(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Inside]:
    """Make a folder, if it is not there, the working folder of the command."""

    def move(folder: Path) -> Inside:
        folder.mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(folder)
        return replace(inside, folder=folder)

    return move


@pytest.fixture
def repo(inside: Inside) -> Repo:
    """Three tenants of one layer, one by itself whose floor is at fault already."""
    made = Repo(inside)
    made.commit(
        layers__ent=ENT.format(0.3),
        **{f"tenants__{name}": f"tenant: {name}\n{text}" for name, text in TENANTS.items()},
    )
    return made


@pytest.fixture
def raised(repo: Repo) -> Repo:
    """The pull request: the layer's floor goes to 0.45, and acme loses a knob."""
    repo.git("checkout", "-qb", "pr")
    repo.commit(
        layers__ent=ENT.format(0.45),
        tenants__acme="tenant: acme\nlayers: [ent]\nknobs:\n  rrf_k: 60\n",
    )
    return repo


def test_a_raised_layer_is_named_at_its_line_for_each_tenant(raised: Repo) -> None:
    """The rule, the line in the layer, whom it concerns; what main has too stands and fails nothing."""
    answer = Knobctl(raised.folder)("check", ".", "--base", "main", "--format", "json").json
    assert answer == raised.check("--base", "main")
    hits = [one for one in answer["findings"] if one["rule"] == CEILING and not one["standing"]]
    assert {one["tenant"] for one in hits} == {"acme", "bolt", "old"}
    assert {(one["file"], one["line"], one["column"]) for one in hits} == {
        ("layers/ent.yaml", 3, 24)
    }
    (reset,) = [one for one in answer["findings"] if one["rule"] == RESET]
    assert (reset["tenant"], reset["field_path"], reset["value"]) == (
        "acme",
        "retrieval_vector_top_k",
        32,
    )
    assert (reset["file"], reset["line"], reset["standing"]) == ("tenants/acme.yaml", 1, False)
    assert "is 32 at main and not in the file" in reset["message"]
    alone = [one for one in answer["findings"] if one["tenant"] == "alone"]
    assert [one["standing"] for one in alone] == [True] * len(alone)
    assert CEILING in {one["rule"] for one in alone}
    assert [one["standing"] for one in answer["findings"]] == sorted(
        one["standing"] for one in answer["findings"]
    )
    assert answer["summary"]["standing"] == len(alone)


def test_a_reviewer_and_code_scanning_see_the_same(raised: Repo) -> None:
    """The comment and the SARIF: the rule at the layer's line for all three, the reset, what stands apart."""
    comment = raised.knobctl("check", ".", "--base", "main", "--format", "markdown").out
    counted, _, folded = comment.partition("standing, in the base too</summary>")
    assert counted.startswith("<!-- knobctl check -->\n### ")
    assert "`layers/ent.yaml:3:24`" in counted
    assert all(f"<code>{tenant}</code>" in counted for tenant in ("acme", "bolt", "old"))
    assert "| **reset** | `retrieval_vector_top_k` | `32` | default `50` | `acme` |" in counted
    assert "tenants/alone.yaml" not in counted
    assert "`tenants/alone.yaml:3:24`" in folded
    report = json.loads(raised.knobctl("check", ".", "--base", "main", "--format", "sarif").out)
    results = [one for one in report["runs"][0]["results"] if one["ruleId"] == CEILING]
    places = {
        (
            place["artifactLocation"]["uri"],
            place["region"]["startLine"],
            one["baselineState"],
        )
        for one in results
        for place in (located["physicalLocation"] for located in one["locations"])
    }
    assert places == {("layers/ent.yaml", 3, "new"), ("tenants/alone.yaml", 3, "unchanged")}


def test_a_warning_that_stands_fails_nothing_and_a_new_one_does(raised: Repo) -> None:
    """With --fail-on warning: 5 without a base, 0 with it, 5 again for the branch as a whole."""
    strict = ("--fail-on", "warning")
    assert raised.check("tenants/alone.yaml", *strict)["exit_code"] == 5
    assert raised.check("tenants/alone.yaml", *strict, "--base", "main")["exit_code"] == 0
    assert raised.check(*strict, "--base", "main")["exit_code"] == 5


def test_the_answer_says_what_changes_in_force(raised: Repo) -> None:
    """Per changed tenant, wire and effective values, also through the layer; the others are not listed."""
    tenants = {one["tenant"]: one for one in raised.check("--base", "main")["tenants"]}
    assert set(tenants) == {"acme", "bolt", "old"}
    assert tenants["acme"] == {
        "tenant": "acme",
        "revision": None,
        "changed_field_paths": ["retrieval_min_score", "retrieval_vector_top_k", "rrf_k"],
        "changes": [
            {
                "field_path": "retrieval_min_score",
                "op": "change",
                "before": 0.3,
                "after": 0.45,
                "effective_before": 0.3,
                "effective_after": 0.45,
            },
            {
                "field_path": "retrieval_vector_top_k",
                "op": "reset",
                "before": 32,
                "after": 0,
                "effective_before": 32,
                "effective_after": 50,
            },
            {
                "field_path": "rrf_k",
                "op": "set",
                "before": 0,
                "after": 60,
                "effective_before": 60,
                "effective_after": 60,
            },
        ],
    }


def test_the_text_reads_from_findings_to_changes_to_the_sum(raised: Repo) -> None:
    """New findings in full, standing ones by rule, the diff as `diff` writes it, one line at the end."""
    text = raised.knobctl("check", "--base", "main").out
    assert f"layers/ent.yaml:3:24  warning  {CEILING}\n  acme, bolt, old: " in text
    standing = text.index("\n\nstanding; -v shows each\n")
    diff = text.index("acme  main:tenants/acme.yaml -> tenants/acme.yaml\n")
    assert text.index(CEILING) < standing < diff
    assert "tenants/alone.yaml:" not in text
    assert re.search(r"  reset   retrieval_vector_top_k  32 +-> default 50 +not in the file", text)
    assert re.search(r"0\.3 +-> 0\.45 +from layer ent, layers/ent\.yaml:3", text)
    *_, counts, blank, last = text.splitlines()
    assert (counts, blank) == ("3 tenants, 5 fields, 1 of them a reset", "")
    assert last.startswith("4 tenants, ")
    assert last.endswith("standing, in the base too")
    assert "tenants/alone.yaml:3:24  warning" in raised.knobctl("check", "--base", "main", "-v").out


def test_a_clean_tree_against_its_own_head_has_nothing_to_say(repo: Repo) -> None:
    """Nothing new, nothing changed, nothing removed."""
    answer = repo.check("--base", "HEAD", "--fail-on", "warning")
    assert (answer["exit_code"], new(answer), answer["tenants"]) == (0, set(), [])
    assert "removed_tenants" not in answer


def test_what_main_did_since_is_not_this_branch(raised: Repo) -> None:
    """Compared is where the branch left: main's newer repair is not shown as a fault reversed."""
    raised.git("checkout", "-q", "main")
    raised.commit(tenants__alone="tenant: alone\nknobs: {}\n", tenants__late="tenant: late\n")
    raised.git("checkout", "-q", "pr")
    result = raised.knobctl("check", "--base", "main", "--format", "json")
    left = raised.git("merge-base", "main", "pr")[:10]
    assert f"main has moved on; compared with {left}" in " ".join(result.err.split())
    assert "alone" not in {tenant for _, tenant in new(result.json)}
    assert {one["tenant"] for one in result.json["tenants"]} == {"acme", "bolt", "old"}
    assert "removed_tenants" not in result.json
    diff = raised.knobctl("diff", "--base", "main")
    assert f"acme  {left}:tenants/acme.yaml -> tenants/acme.yaml" in diff.out
    assert "late" not in diff.out
    assert f"{left}:" not in raised.knobctl("diff", "--base", left).err


def test_histories_without_a_common_commit_are_compared_as_they_stand(repo: Repo) -> None:
    """There is no point at which the branch left; a note says so."""
    repo.git("checkout", "-q", "--orphan", "new")
    repo.commit(layers__ent=ENT.format(0.45))
    result = repo.knobctl("check", "--base", "main", "--format", "json")
    assert "no commit that HEAD and main share, so main itself is compared with" in " ".join(
        result.err.split()
    )
    assert {tenant for rule, tenant in new(result.json) if rule == CEILING} == {
        "acme",
        "bolt",
        "old",
    }


def test_a_removed_tenant_is_named_and_not_reset(repo: Repo) -> None:
    """In both formats, with nothing to say of findings."""
    (repo.folder / "tenants/bolt.yaml").unlink()
    answer = repo.check("--base", "main")
    assert (answer["removed_tenants"], answer["tenants"], new(answer)) == (["bolt"], [], set())
    assert (
        "no document any more: bolt; unmanaged from now on, not reset\n"
        in repo.knobctl("check", "--base", "main").out
    )


def test_renamed_files_and_moved_lines_are_nothing_new(repo: Repo) -> None:
    """Tenants, layers, a waiver and a fault of a layer, in other files and further down."""
    repo.commit(
        layers__bad="layer: bad\nknobs: {rrf_k: 0.5}\n",
        tenants__worse="tenant: worse\nlayers: [bad]\nknobs: {mmr_lambda: 7}\n",
        w=f"waiver: w\nrule: {CEILING}\ntenants: [alone]\nreason: r\napproved_by: p\nexpires: 2099-01-01\n",
    )
    for name in (*TENANTS, "worse"):
        text = (repo.folder / f"tenants/{name}.yaml").read_text()
        (repo.folder / f"tenants/{name}.yaml").unlink()
        repo.knobctl.write(f"moved/{name}-1.yaml", f"# a line\n\n{text}")
    (repo.folder / "layers").rename(repo.folder / "shared")
    (repo.folder / "w.yaml").rename(repo.folder / "x.yaml")
    answer = repo.check("--base", "main", "--fail-on", "warning")
    assert (answer["exit_code"], new(answer), answer["tenants"]) == (0, set(), [])
    alone = repo.check("moved/worse-1.yaml", "--base", "main")
    assert (alone["exit_code"], new(alone)) == (0, set())
    assert alone["summary"]["standing"] == 2


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("p", "policy: mine\nseverity: warning\nwhen: effective.rrf_k == 60\nat: rrf_k\nmessage: m\n", "mine"),
        ("knobctl.toml", f'[severity.{CEILING}]\nseverity = "error"\nreason = "r"\n', CEILING),
    ],
)  # fmt: skip
def test_a_new_rule_and_a_graver_one_are_new_findings(
    repo: Repo, name: str, text: str, rule: str
) -> None:
    """What the base did not find, or found lighter, does not stand, though no tenant changed."""
    repo.knobctl.write(name if "." in name else f"{name}.yaml", text)
    answer = repo.check("--base", "main")
    assert rule in {rule for rule, _ in new(answer)}
    assert answer["tenants"] == []


def test_a_rule_that_is_gone_or_lighter_leaves_the_rest_standing(repo: Repo) -> None:
    """Policies, severities and knobs that only the base has crash nothing."""
    policy = "policy: mine\nseverity: {}\nwhen: effective.rrf_k == 60\nat: rrf_k\nmessage: m\n"
    repo.commit(p=policy.format("error"))
    repo.knobctl.write("p.yaml", policy.format("warning"))
    answer = repo.check("--base", "main", "--fail-on", "warning")
    assert (answer["exit_code"], new(answer)) == (0, set())
    assert "mine" in {one["rule"] for one in answer["findings"]}
    (repo.folder / "p.yaml").unlink()
    answer = repo.check("--base", "main", "--fail-on", "warning")
    assert (answer["exit_code"], new(answer)) == (0, set())


def test_a_waiver_taken_away_makes_its_findings_new(repo: Repo) -> None:
    """At the base they did not count."""
    waiver = f"waiver: w\nrule: {CEILING}\ntenants: [alone]\nreason: r\napproved_by: p\nexpires: 2099-01-01\n"
    repo.commit(w=waiver)
    assert new(repo.check("--base", "main")) == set()
    (repo.folder / "w.yaml").unlink()
    assert new(repo.check("--base", "main")) == {(CEILING, "alone")}


def foreign(default: float, **more: object) -> str:
    """A schema of an engine with a floor, whose default is this."""
    floor = {"type": "number", "minimum": 0, "maximum": 1, "x-knob": {"default": default}}
    extra = {name: {"type": "number", "x-knob": {"default": value}} for name, value in more.items()}
    return json.dumps(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": False,
            "properties": {"floor": floor, **extra},
        }
    )


def test_a_platform_default_that_moves_changes_who_follows_it(inside: Inside) -> None:
    """Nothing is written, and another value is in force: a new finding and a line in the diff."""
    repo = Repo(inside)
    repo.knobctl.write("engine.json", foreign(0.3, gone=1))
    repo.knobctl.write("knobctl.toml", 'schema = "engine.json"\n')
    policy = "policy: high\nseverity: warning\nwhen: effective.floor > 0.1\nat: floor\nmessage: m\n"
    repo.commit(
        p=policy,
        follows="tenant: follows\nknobs: {gone: 5}\n",
        pins="tenant: pins\nknobs: {floor: 0.2}\n",
    )
    repo.knobctl.write("engine.json", foreign(0.4, fresh=2))
    repo.knobctl.write("follows.yaml", "tenant: follows\nknobs: {fresh: 3}\n")
    answer = repo.check("--base", "main")
    assert new(answer) >= {("high", "follows")}
    assert ("high", "pins") not in new(answer)
    (follows,) = answer["tenants"]
    assert follows["changed_field_paths"] == ["fresh", "gone"]
    moved = {one["field_path"]: one for one in follows["changes"]}["floor"]
    assert moved == {
        "field_path": "floor",
        "op": "change",
        "before": 0,
        "after": 0,
        "effective_before": 0.3,
        "effective_after": 0.4,
    }
    text = repo.knobctl("check", "--base", "main").out
    assert (
        "default 0.3 -> default 0.4   the platform default, which has moved in the schema" in text
    )


def test_settings_that_could_not_be_read_are_not_held_against_their_repair(repo: Repo) -> None:
    """The base is then judged by today's; a note says so."""
    repo.knobctl.write("knobctl.toml", "skip = [\n")
    repo.commit()
    repo.knobctl.write("knobctl.toml", "skip = []\n")
    result = repo.knobctl("check", "--base", "main", "--format", "json", "--fail-on", "warning")
    assert (result.code, new(result.json)) == (0, set())
    assert "main is judged by today's settings and schema" in " ".join(result.err.split())


def test_a_repository_below_the_top_of_git_is_compared_with_itself(
    tmp_path: Path, within: Callable[[Path], Inside]
) -> None:
    """Names are relative to the working folder, whatever lies above; a base without it has no tenants."""
    repo = Repo(within(tmp_path / "repo/infra/knobs"), tmp_path / "repo")
    repo.git("commit", "-qm", "nothing yet", "--allow-empty")
    repo.git("checkout", "-qb", "pr")
    repo.knobctl.write("knobctl.toml", "")
    repo.commit(tenants__acme="tenant: acme\nknobs: {retrieval_min_score: 0.45}\n")
    fresh = repo.check("--base", "main")
    assert (CEILING, "acme") in new(fresh)
    assert [one["tenant"] for one in fresh["tenants"]] == ["acme"]
    assert new(repo.check("--base", "pr")) == set()
    repo.knobctl.write("tenants/acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.5}\n")
    above = within(repo.top)("check", "infra/knobs", "--base", "pr")
    assert "acme  pr:infra/knobs/tenants/acme.yaml -> infra/knobs/tenants/acme.yaml" in above.out


@pytest.mark.parametrize("place", [".git", "{top}/.git"])
def test_in_a_hook_a_repository_below_the_top_is_compared_with_itself(
    tmp_path: Path,
    within: Callable[[Path], Inside],
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    """Git's variables name the checkout from where Git stood; another folder of it has the same tenant."""
    top = tmp_path / "repo"
    repo = Repo(within(top / "infra/knobs"), top)
    repo.knobctl.write("knobctl.toml", "")
    repo.knobctl.write("../other/acme.yaml", "tenant: acme\nknobs: {rrf_k: 20}\n")
    repo.commit(acme="tenant: acme\nknobs: {rrf_k: 30}\n")
    repo.knobctl.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 40}\n")
    monkeypatch.setenv("GIT_DIR", place.format(top=top))
    result = within(top)("check", "infra/knobs", "--base", "HEAD", "--format", "json")
    ((change,),) = [one["changes"] for one in result.json["tenants"]]
    assert (change["before"], change["after"]) == (30, 40)


def test_a_shallow_clone_is_told_what_it_lacks(
    raised: Repo, tmp_path: Path, within: Callable[[Path], Inside]
) -> None:
    """An unknown revision is a usage error that names the cure; a known one is compared with."""
    where = tmp_path / "shallow"
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", f"file://{raised.top}", str(where)],
        check=True,
        capture_output=True,
    )
    lacking = within(where)("check", "--base", "main")
    assert (lacking.code, "in a shallow clone fetch it first" in lacking.err) == (2, True)
    subprocess.run(
        ["git", "-C", str(where), "fetch", "-q", "--depth", "1", "origin", "main:main"],
        check=True,
        capture_output=True,
    )
    result = within(where)("check", "--base", "main", "--format", "json")
    assert {tenant for rule, tenant in new(result.json) if rule == CEILING} == {
        "acme",
        "bolt",
        "old",
    }
    assert "in a shallow clone fetch more of its history" in " ".join(result.err.split())


def test_what_is_no_base_is_a_usage_error(
    tmp_path: Path, repo: Repo, within: Callable[[Path], Inside]
) -> None:
    """No such revision, no Git repository, no commit yet."""
    assert repo.knobctl("check", "--base", "nope").code == 2
    plain = within(tmp_path / "plain")
    plain.write("a.yaml", "tenant: a\nknobs: {}\n")
    assert (plain("check", "--base", "main").code, plain("check").code) == (2, 0)
    unborn = Repo(within(tmp_path / "unborn"))
    unborn.knobctl.write("a.yaml", "tenant: a\n")
    assert unborn.knobctl("check", "--base", "HEAD").code == 2


def test_a_single_file_is_compared_with_what_it_was(raised: Repo) -> None:
    """Also one that the base lacks, and standard input."""
    assert {
        one["tenant"] for one in raised.check("tenants/bolt.yaml", "--base", "main")["tenants"]
    } == {"bolt"}
    raised.knobctl.write("tenants/new.yaml", "tenant: new\nlayers: [ent]\n")
    answer = raised.check("tenants/new.yaml", "--base", "main")
    assert (CEILING, "new") in new(answer)
    assert {one["tenant"] for one in answer["tenants"]} == {"new"}
    piped = Knobctl(raised.folder)(
        "check", "-", "--base", "main", "--format", "json",
        stdin="tenant: alone\nknobs: {retrieval_min_score: 0.45, gate_expanded_floor: 0.45}\n",
    )  # fmt: skip
    assert (CEILING, "alone") not in new(piped.json)
    assert piped.json["tenants"] == []


def test_live_gives_what_a_push_would_change(repo: Repo) -> None:
    """Alone it is compared with the engine; with a base the branch's changes are shown, and the engine adds resets."""
    engine = ("--engine", "embedded:e.db")
    done = repo.knobctl(
        "set", "acme", "retrieval_vector_top_k=32", "mmr_lambda=0.5", "--yes", "--reason", "r", *engine
    )  # fmt: skip
    assert done.code == 0, done.err
    (repo.folder / "e.db").rename(repo.top / ".git" / "e.db")
    engine = ("--engine", "embedded:.git/e.db")
    live = repo.check("tenants/acme.yaml", "--live", *engine)
    assert (RESET, "acme") in new(live)
    (acme,) = live["tenants"]
    assert (acme["revision"], acme["changed_field_paths"]) == (
        "r1",
        ["mmr_lambda", "retrieval_min_score"],
    )
    both = repo.check("tenants/acme.yaml", "--live", "--base", "main", *engine)
    assert both["tenants"] == []
    assert [one["standing"] for one in both["findings"] if one["rule"] == RESET] == [True]
    text = repo.knobctl("check", "tenants/acme.yaml", "--live", *engine).out
    assert "acme  live r1 (" in text


def test_what_is_wrong_now_is_not_shown_as_a_change(repo: Repo) -> None:
    """A value that is none is an error, not a reset of its knob."""
    repo.knobctl.write(
        "tenants/bolt.yaml", "tenant: bolt\nlayers: [ent]\nknobs: {retrieval_bm25_top_k: x}\n"
    )
    answer = repo.check("--base", "main")
    assert (answer["exit_code"], answer["tenants"]) == (4, [])
    assert new(answer) == {("wrong-type", "bolt")}


def test_a_waived_finding_of_the_base_stands_and_is_folded(repo: Repo) -> None:
    """Waived before and after, or waived by the branch; one whose waiver the branch takes away is new."""
    waiver = f"waiver: {{}}\nrule: {CEILING}\ntenants: [{{}}]\nreason: r\napproved_by: p\nexpires: 2099-01-01\n"
    high = "tenant: {}\nknobs: {{retrieval_min_score: 0.45, gate_expanded_floor: 0.45}}\n"
    repo.commit(
        kept=waiver.format("kept", "alone"),
        lost=waiver.format("lost", "two"),
        tenants__two=high.format("two"),
        tenants__three=high.format("three"),
    )
    (repo.folder / "lost.yaml").unlink()
    repo.knobctl.write("new.yaml", waiver.format("new", "three"))
    answer = repo.check("--base", "main", "--fail-on", "warning")
    hits = {one["tenant"]: one for one in answer["findings"] if one["rule"] == CEILING}
    assert {name: (one["standing"], one["waived_by"]) for name, one in hits.items()} == {
        "alone": (True, "kept"),
        "two": (False, None),
        "three": (True, "new"),
    }
    assert new(answer) == {(CEILING, "two")}
    counts = answer["summary"]
    assert (counts["waived"], counts["standing"]) == (
        2,
        sum(one["standing"] for one in answer["findings"]),
    )
    text = repo.knobctl("check", "--base", "main").out
    assert f"  {CEILING}  1 in alone, waived by kept, until 2099-01-01\n" in text
    assert f"  {CEILING}  1 in three, waived by new, until 2099-01-01\n" in text
    assert "alone: retrieval_min_score" not in text
    assert text.rstrip().endswith(
        f"{counts['standing']} standing, in the base too, 2 of them waived"
    )
    notes = repo.knobctl("check", "--base", "main", "--format", "github").out
    assert "(standing%2C in the base too; waived by kept%2C until 2099-01-01)" in notes
    comment = repo.knobctl("check", "--base", "main", "--format", "markdown").out
    assert "2 of them waived" in comment
    assert "<summary>2 waived</summary>" not in comment


def test_what_a_sparse_checkout_leaves_out_is_not_gone(repo: Repo) -> None:
    """Its tenants stay, its rules are not called changed, a note names the files; what the branch removes is gone."""
    repo.git("checkout", "-q", "main")
    repo.commit(
        policies__own="policy: own\nseverity: error\nwhen: 'false'\nmessage: m\n",
        away__far="tenant: far\nknobs: {}\n",
    )
    repo.git("checkout", "-qb", "pr")
    repo.git("rm", "-q", "tenants/old.yaml")
    repo.commit(tenants__bolt="tenant: bolt\nknobs: {}\n")
    repo.git("sparse-checkout", "set", "--cone", "tenants", "layers")
    answer = repo.check("--base", "main")
    assert answer["removed_tenants"] == ["old"]
    assert answer["rules_changed"] == []
    assert [one["tenant"] for one in answer["tenants"]] == ["bolt"]
    note = "note: this checkout is sparse: nothing is said of what Git has in 2 files that it leaves out (away/far.yaml, policies/own.yaml)\n"
    assert repo.knobctl("check", "--base", "main").err == note
    assert repo.knobctl("diff", "--base", "main").err == note
    repo.git("sparse-checkout", "disable")
    assert repo.knobctl("check", "--base", "main").err == ""
    assert repo.check("--base", "main")["removed_tenants"] == ["old"]
    (repo.folder / "away" / "far.yaml").unlink()
    assert repo.check("--base", "main")["removed_tenants"] == ["far", "old"]
