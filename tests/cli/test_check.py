"""`knobctl check`, as a user runs it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "fleet"
CEILING = "floor-above-vector-ceiling"
DIVERGES = "floor-diverges-from-expanded-floor"
ZERO = "zero-means-default"
TWO = "floor-above-two-ranker-ceiling"


def acme(inside: Inside, **knobs: object) -> Path:
    """Write a tenant with these knobs, one a line, from line 3 on."""
    lines = "".join(f"  {name}: {value}\n" for name, value in knobs.items())
    return inside.write(
        "acme.yaml", f"tenant: acme\nknobs:{chr(10) + lines if knobs else ' {}' + chr(10)}"
    )


def rules(inside: Inside, *options: str, **knobs: object) -> tuple[int, dict[str, Any]]:
    """The exit code and the findings by rule."""
    result = inside("check", acme(inside, **knobs), "--format", "json", *options)
    assert faults_of(result.json, "output-findings.v1.schema.json") == []
    return result.code, {one["rule"]: one for one in result.json["findings"]}


@pytest.mark.parametrize(
    ("knobs", "there", "absent"),
    [
        ({"retrieval_min_score": 0.45}, {CEILING, DIVERGES}, {TWO}),
        ({"retrieval_min_score": 0.3}, set(), {CEILING, DIVERGES}),
        ({"retrieval_min_score": 0.15}, {DIVERGES}, {CEILING}),
        ({"retrieval_min_score": 0.7}, {CEILING, TWO}, set()),
        ({"retrieval_min_score": 0.45, "rrf_weight_vector": 2.0}, set(), {CEILING}),
        ({"retrieval_min_score": 0.45, "recency_ranker_mode": "DISABLED"}, set(), {CEILING}),
        ({"retrieval_min_score": 0.5, "recency_ranker_mode": "DISABLED"}, set(), {CEILING}),
        ({"retrieval_min_score": 0.3, "rrf_weight_vector": 0.5}, {CEILING}, set()),
        ({"retrieval_min_score": 0.45, "gate_expanded_floor": 0.45}, {CEILING}, {DIVERGES}),
        ({"retrieval_min_score": 0}, {ZERO}, {CEILING, DIVERGES}),
        ({}, set(), {CEILING, DIVERGES}),
    ],
)
def test_the_warnings_that_the_product_is_named_for_stand_where_they_belong(
    inside: Inside, knobs: dict[str, object], there: set[str], absent: set[str]
) -> None:
    """Ceilings follow the tenant's own weights and rankers; warnings alone do not fail a run."""
    code, found = rules(inside, **knobs)
    assert code == 0
    assert there <= found.keys()
    assert not absent & found.keys()
    for rule in there:
        assert found[rule]["severity"] == "warning"


def test_warnings_fail_where_that_is_asked_for_and_infos_never(inside: Inside) -> None:
    """5 for warnings alone, 0 for infos, 4 where an error is among them."""
    assert rules(inside, "--fail-on", "warning", retrieval_min_score=0.45)[0] == 5
    assert rules(inside, "--fail-on", "warning", retrieval_min_score=0.3)[0] == 0
    assert (
        rules(inside, "--fail-on", "warning", retrieval_min_score=0.45, assembly_max_chunks=150)[0]
        == 4
    )
    assert rules(inside, "--fail-on", "warning", "--exit-zero", retrieval_min_score=0.45)[0] == 0


def test_the_example_fleet_shows_warnings_and_virtues(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six tenants, one waiver in use, a policy of its own, no errors."""
    monkeypatch.chdir(EXAMPLES)
    answer = inside("check", "--format", "json").json
    assert answer["summary"] | {"infos": 0} == {
        "files": 11, "tenants": 6, "policies": 21, "errors": 0, "warnings": 2, "infos": 0, "waived": 1,
        "standing": 0,
    }  # fmt: skip
    places = {(one["rule"], one["file"], one["line"], one["column"]) for one in answer["findings"]}
    assert (ZERO, "tenants/bolt.yaml", 6, 24) in places
    assert (DIVERGES, "tenants/delta.yaml", 7, 24) in places
    assert inside("check").out.endswith(
        "6 tenants, 21 policies: 2 warnings, 7 infos, 1 waived (acme-legacy-floor, until 2099-03-31)\n"
    )


def test_a_single_file_is_judged_with_what_it_uses(inside: Inside) -> None:
    """Its layers, waivers and policies are the repository's; the other tenants are not judged."""
    inside.write("knobctl.toml", "")
    inside.write("layers/l.yaml", "layer: l\nknobs: {retrieval_min_score: 0.45, rrf_k: 0.5}\n")
    inside.write("other.yaml", "tenant: other\nknobs: {retrieval_min_score: 7}\n")
    inside.write("p.yaml", "policy: p\nseverity: info\nwhen: \"tenant == 'a'\"\nmessage: seen\n")
    tenant = inside.write("tenants/a.yaml", "tenant: a\nlayers: [l]\n")
    result = inside("check", tenant, "--format", "json")
    found = {(one["rule"], one["file"]) for one in result.json["findings"]}
    assert ("wrong-type", "layers/l.yaml") in found
    assert "other.yaml" not in {file for _, file in found}
    assert result.json["summary"]["tenants"] == 1
    assert result.code == 4


def test_what_a_layer_misspells_is_told_though_only_the_tenant_is_judged(inside: Inside) -> None:
    """A number that is none, in a layer that is used, is no silent default."""
    inside.write("knobctl.toml", "")
    inside.write("l.yaml", "layer: l\nknobs: {retrieval_min_score: 1e-400}\n")
    tenant = inside.write("a.yaml", "tenant: a\nlayers: [l]\n")
    result = inside("check", tenant, "--format", "json")
    assert (result.code, result.rules) == (4, ["underflow-to-zero"])


def test_a_file_that_cannot_be_read_is_not_passed_over_in_silence(inside: Inside) -> None:
    """A layer or a waiver in it is not known; the note says so, on stderr."""
    inside.write("knobctl.toml", "")
    inside.write("l.yaml", "layer: l\nknobs: [\n")
    result = inside("check", acme(inside))
    assert "1 file around these cannot be read (l.yaml)" in result.err
    assert result.code == 0


def git(inside: Inside, *arguments: str) -> None:
    """Run Git in the folder, as nobody in particular."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=inside.folder, check=True, capture_output=True)


def test_base_says_what_a_branch_changes(inside: Inside) -> None:
    """What the revision has too is standing and fails nothing; what the branch adds fails."""
    acme(inside, retrieval_min_score=0.45)
    git(inside, "init", "-q")
    git(inside, "add", ".")
    git(inside, "commit", "-qm", "x")
    code, found = rules(inside, "--base", "HEAD", "--fail-on", "warning", retrieval_min_score=0.45)
    assert code == 0
    assert found[CEILING]["standing"]
    code, found = rules(inside, "--base", "HEAD", "--fail-on", "warning", retrieval_min_score=0.46)
    assert code == 5
    assert not found[CEILING]["standing"]
    assert inside("check", "--base", "nope").code == 2


def test_live_adds_what_a_push_would_reset(inside: Inside) -> None:
    """The engine is asked only with --live."""
    inside.hold(retrieval_vector_top_k=32, retrieval_min_score=0.3)
    path = acme(inside, retrieval_min_score=0.3)
    live = inside("check", path, "--live", "--format", "json", *ENGINE).json
    reset = next(one for one in live["findings"] if one["rule"] == "reset-by-omission")
    assert (reset["field_path"], reset["value"], reset["line"]) == ("retrieval_vector_top_k", 32, 1)
    assert "reset-by-omission" not in inside("check", path, "--format", "json").rules


def test_a_repositorys_settings_weigh_rules(inside: Inside) -> None:
    """With a reason; a rule that does not exist stops the run, with the nearest one."""
    inside.write("knobctl.toml", f'[severity.{CEILING}]\nseverity = "error"\nreason = "r"\n')
    assert rules(inside, retrieval_min_score=0.45)[0] == 4
    inside.write(
        "knobctl.toml", '[severity.floor-abov-vector-ceiling]\nseverity = "error"\nreason = "r"\n'
    )
    result = inside("check", acme(inside))
    assert result.code == 4
    assert CEILING in result.err


def test_rules_of_the_repository_can_be_selected(inside: Inside) -> None:
    """Built-in policies, own ones, and the rules of validation."""
    inside.write("knobctl.toml", "")
    inside.write("p.yaml", "policy: mine\nseverity: warning\nwhen: 'true'\nmessage: m\n")
    acme(inside, retrieval_min_score=0.45)
    assert inside("check", "--select", "mine", "--format", "json").rules == ["mine"]
    assert inside("check", "--select", "nine").code == 2


def test_links_that_nobody_follows_are_told_once(inside: Inside) -> None:
    """A folder of policies and a tenant behind links are in no answer: a note says so, with -v of each."""
    inside.write("shared/own.yaml", "policy: own\nseverity: error\nwhen: 'true'\nmessage: m\n")
    inside.write("repo/knobctl.toml", "")
    inside.write("repo/tenants/acme.yaml", "tenant: acme\nknobs: {}\n")
    inside.hold("bolt", rrf_k=20)
    repo = inside.folder / "repo"
    (repo / "policies").symlink_to("../shared")
    (repo / "tenants" / "x.yaml").symlink_to("../../shared/own.yaml")
    note = "note: 2 links are passed over (repo/policies, repo/tenants/x.yaml): links are not followed\n"
    for command in ("check", "validate", "diff"):
        result = inside(command, "repo", *(ENGINE if command == "diff" else ()))
        assert (result.code, result.err) == (0, note)
    assert inside("check", "repo", "--format", "json").json["summary"]["files"] == 1
    assert inside("check", "repo/tenants/acme.yaml").err == note
    assert inside("validate", "repo/tenants").err.startswith(
        "note: 1 link is passed over (repo/tenants/x.yaml)"
    )
    assert inside("check", "repo", "-q").err == ""
    assert inside("policy", "list", "repo").err == note
    for number in range(4):
        (repo / f"{number}\x1b.yaml").symlink_to("nowhere")
    few = "6 links are passed over (repo/0\\x1b.yaml, repo/1\\x1b.yaml, repo/2\\x1b.yaml, 3 more)"
    assert few in inside("check", "repo").err
    assert "repo/tenants/x.yaml)" in inside("check", "repo", "-v").err


@pytest.mark.parametrize("options", [(), ("--format", "json"), ("-q",), ("-v",)])
def test_the_code_is_the_same_for_every_format(inside: Inside, options: tuple[str, ...]) -> None:
    """1.7 is an error in each."""
    assert inside("check", acme(inside, retrieval_min_score=1.7), *options).code == 4


def test_help_offers_what_is_there(inside: Inside) -> None:
    """--base, --live and --write-waivers, and what the base is."""
    text = inside("check", "--help").out
    assert "--base" in text
    assert "--live" in text
    assert "--write-waivers" in text
    assert "from the commit at which HEAD left REV" in " ".join(text.split())
