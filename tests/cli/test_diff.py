"""`knobctl diff`: what would change, resets first, against live, Git and another file."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of

SCHEMA = "output-diff.v1.schema.json"


def git(inside: Inside, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        cwd=inside.folder,
        check=True,
        capture_output=True,
    )


def test_json_is_the_shape_of_the_contract(inside: Inside) -> None:
    """Ops, wire and effective values, field paths in order, the live revision."""
    inside.hold(retrieval_min_score=0.3, retrieval_vector_top_k=32)
    path = inside.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.15}\n")

    result = inside("diff", path, "--format", "json", *ENGINE)

    assert faults_of(result.json, SCHEMA) == []
    assert result.json == {
        "version": 1,
        "command": "diff",
        "outcome": "ok",
        "exit_code": 0,
        "tenants": [
            {
                "tenant": "acme",
                "revision": "r1",
                "changed_field_paths": ["retrieval_min_score", "retrieval_vector_top_k"],
                "changes": [
                    {
                        "field_path": "retrieval_min_score",
                        "op": "change",
                        "before": 0.3,
                        "after": 0.15,
                        "effective_before": 0.3,
                        "effective_after": 0.15,
                    },
                    {
                        "field_path": "retrieval_vector_top_k",
                        "op": "reset",
                        "before": 32,
                        "after": 0,
                        "effective_before": 32,
                        "effective_after": 50,
                    },
                ],
            }
        ],
    }


def test_text_shows_resets_first_and_who_wrote_the_live_set(inside: Inside) -> None:
    """A full replace loses what the file leaves out: that is the headline."""
    inside.hold(retrieval_min_score=0.3, retrieval_vector_top_k=32)
    path = inside.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.15}\n")

    lines = inside("diff", path, *ENGINE).out.splitlines()

    assert lines[0].startswith("acme  live r1 (")
    assert lines[0].endswith(") -> acme.yaml")
    assert lines[1:] == [
        "  reset   retrieval_vector_top_k  32  -> default 50   not in the file; a push replaces the whole set",
        "  change  retrieval_min_score     0.3 -> 0.15",
        "1 tenant, 2 fields, 1 of them a reset",
    ]


def test_text_names_the_layer_that_a_value_comes_from(inside: Inside) -> None:
    """Layer, file and line."""
    inside.write("layers/tiers.yaml", "layer: enterprise\nknobs:\n  rrf_k: 30\n")
    path = inside.write("acme.yaml", "tenant: acme\nlayers: [enterprise]\nknobs: {}\n")

    assert (
        "  set     rrf_k  default 60 -> 30   from layer enterprise, layers/tiers.yaml:3"
        in inside("diff", path, *ENGINE).out.splitlines()
    )


def test_a_literal_zero_is_told_as_the_reset_that_it_is(inside: Inside) -> None:
    """0 in a file does not remove the floor: the default comes back."""
    inside.hold(retrieval_min_score=0.1)
    path = inside.write("acme.yaml", "tenant: acme\nknobs:\n  retrieval_min_score: 0\n")

    assert (
        "  reset   retrieval_min_score  0.1 -> default 0.3   written as 0 in acme.yaml:3, which means the default"
        in inside("diff", path, *ENGINE).out.splitlines()
    )


def test_a_tenant_without_changes_has_an_empty_list(inside: Inside) -> None:
    """Listed in JSON, counted in text, exit 0 even with --exit-code."""
    inside.hold(rrf_k=30)
    path = inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30.0}\n")

    result = inside("diff", path, "--format", "json", "--exit-code", *ENGINE)
    assert (result.code, result.json["tenants"][0]["changes"]) == (0, [])
    assert inside("diff", path, *ENGINE).out == "1 tenant, no changes\n"


def test_exit_code_is_3_where_something_differs(inside: Inside) -> None:
    """Only where asked for, and JSON says the same."""
    path = inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")

    assert inside("diff", path, *ENGINE).code == 0
    result = inside("diff", path, "--exit-code", "--format", "json", *ENGINE)
    assert (result.code, result.json["exit_code"], result.json["outcome"]) == (3, 3, "changes")


def test_pointers_where_asked_for(inside: Inside) -> None:
    """RFC 6901 in both formats."""
    path = inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")

    result = inside("diff", path, "--paths", "pointer", "--format", "json", *ENGINE)
    assert result.json["tenants"][0]["changed_field_paths"] == ["/rrf_k"]
    assert "/rrf_k" in inside("diff", path, "--paths", "pointer", *ENGINE).out


def test_tenants_are_in_order_of_their_names(inside: Inside) -> None:
    """Whatever the order of the files."""
    inside.write("1.yaml", "tenant: zeta\nknobs: {rrf_k: 30}\n")
    inside.write("2.yaml", "tenant: alpha\nknobs: {rrf_k: 30}\n")

    result = inside("diff", ".", "--format", "json", *ENGINE)
    assert [one["tenant"] for one in result.json["tenants"]] == ["alpha", "zeta"]


def test_labels_and_conditions_choose(inside: Inside) -> None:
    """-l and --where, as everywhere."""
    inside.write("a.yaml", "tenant: a\nlabels: {tier: gold}\nknobs: {rrf_k: 30}\n")
    inside.write("b.yaml", "tenant: b\nknobs: {rrf_k: 40}\n")

    chosen = inside("diff", ".", "-l", "tier=gold", "--format", "json", *ENGINE).json["tenants"]
    assert [one["tenant"] for one in chosen] == ["a"]
    chosen = inside(
        "diff", ".", "--where", "effective.rrf_k > 35", "--format", "json", *ENGINE
    ).json["tenants"]
    assert [one["tenant"] for one in chosen] == ["b"]


def test_errors_in_the_files_are_the_answer(inside: Inside) -> None:
    """Exit 4 with the findings, and no engine is asked."""
    path = inside.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 1.7}\n")

    result = inside("diff", path, "--format", "json", "--engine", "http://127.0.0.1:1")
    assert (result.code, result.rules, result.json["tenants"]) == (4, ["out-of-range"], [])
    assert faults_of(result.json, SCHEMA) == []


def test_base_compares_with_a_git_revision(inside: Inside) -> None:
    """A layer's change shows at every tenant that shares it; a removed document resets nothing."""
    inside.write("layer.yaml", "layer: gold\nknobs: {rrf_k: 30}\n")
    inside.write("a.yaml", "tenant: a\nlayers: [gold]\nknobs: {mmr_lambda: 0.5}\n")
    inside.write("gone.yaml", "tenant: gone\nknobs: {rrf_k: 30}\n")
    git(inside, "init", "-q", ".")
    git(inside, "add", ".")
    git(inside, "commit", "-qm", "first")
    inside.write("layer.yaml", "layer: gold\nknobs: {rrf_k: 20}\n")
    inside.write("new.yaml", "tenant: new\nknobs: {rrf_k: 30}\n")
    (inside.folder / "gone.yaml").unlink()

    result = inside("diff", "--base", "HEAD", "--format", "json", "--exit-code")

    assert result.code == 3
    assert faults_of(result.json, SCHEMA) == []
    found = {one["tenant"]: one["changes"] for one in result.json["tenants"]}
    assert [(one["op"], one["before"], one["after"]) for one in found["a"]] == [("change", 30, 20)]
    assert [one["op"] for one in found["new"]] == ["set"]
    assert result.json["removed_tenants"] == ["gone"]
    text = inside("diff", "--base", "HEAD").out
    assert "a  HEAD:a.yaml -> a.yaml" in text
    assert "new  not at HEAD -> new.yaml" in text
    assert "no document any more: gone; unmanaged from now on, not reset" in text


def test_base_compares_like_with_like(inside: Inside) -> None:
    """Each fleet's document with its own, a renamed file with what it was, and no more than was chosen."""
    fleets = "fleet: prod\ninclude: ['prod/**']\n---\nfleet: staging\ninclude: ['staging/**']\n"
    inside.write("fleets.yaml", fleets)
    for name in ("a", "b", "c"):
        inside.write(f"prod/{name}.yaml", f"tenant: {name}\nlabels: {{n: {name}}}\nknobs: {{}}\n")
        inside.write(f"staging/{name}.yaml", f"tenant: {name}\nknobs: {{rrf_k: 30}}\n")
    inside.write("alone.yaml", "tenant: alone\nknobs: {rrf_k: 30}\n")
    git(inside, "init", "-q", ".")
    git(inside, "add", ".")
    git(inside, "commit", "-qm", "first")
    (inside.folder / "prod/c.yaml").unlink()
    (inside.folder / "alone.yaml").rename(inside.folder / "renamed.yaml")

    def changed(*arguments: str) -> object:
        answer = inside("diff", "--base", "HEAD", "--format", "json", *arguments).json
        changing = [one["tenant"] for one in answer["tenants"] if one["changes"]]
        return changing, answer.get("removed_tenants", [])

    assert changed("--fleet", "prod") == ([], ["c"])
    assert changed("--fleet", "prod", "-l", "n=a") == ([], [])
    assert changed("--fleet", "staging") == ([], [])
    assert changed("renamed.yaml") == ([], [])


def test_base_that_git_does_not_know(inside: Inside) -> None:
    """A usage error, whether there is a repository or not."""
    path = inside.write("a.yaml", "tenant: a\nknobs: {}\n")
    assert inside("diff", "--base", "nowhere", path).code == 2
    git(inside, "init", "-q", ".")
    assert inside("diff", "--base", "nowhere", path).code == 2


def test_two_files_about_one_tenant_are_compared_without_an_engine(inside: Inside) -> None:
    """The engine named is not there, and is not asked."""
    inside.write("staging/acme.yaml", "tenant: acme\nknobs: {rrf_k: 30, mmr_lambda: 0.5}\n")
    inside.write("prod/acme.yaml", "tenant: acme\nknobs: {rrf_k: 20}\n")

    result = inside(
        "diff",
        "staging/acme.yaml",
        "prod/acme.yaml",
        "--format",
        "json",
        "--engine",
        "http://127.0.0.1:1",
    )
    assert result.code == 0
    (tenant,) = result.json["tenants"]
    assert tenant["revision"] is None
    assert [(one["field_path"], one["op"]) for one in tenant["changes"]] == [
        ("mmr_lambda", "reset"),
        ("rrf_k", "change"),
    ]


def test_two_bare_sets_are_compared_as_one_tenant(inside: Inside) -> None:
    """The wire's JSON against a bare map."""
    inside.write("a.json", '{"config": {"rrfK": 30}}')
    inside.write("b.yaml", "rrf_k: 20\n")

    result = inside("diff", "a.json", "b.yaml", "--tenant", "acme", "--format", "json")
    assert [(one["before"], one["after"]) for one in result.json["tenants"][0]["changes"]] == [
        (30, 20)
    ]


def test_two_files_about_two_tenants_are_compared_with_live(inside: Inside) -> None:
    """acme is not compared with bolt because two files were named."""
    inside.write("a.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    inside.write("b.yaml", "tenant: bolt\nknobs: {rrf_k: 20}\n")

    result = inside("diff", "a.yaml", "b.yaml", "--format", "json", *ENGINE)
    assert [(one["tenant"], one["revision"]) for one in result.json["tenants"]] == [
        ("acme", ""),
        ("bolt", ""),
    ]


def test_a_fleet_keeps_to_its_own_documents(inside: Inside) -> None:
    """Staging and production share a repository and a tenant; without a fleet it is ambiguous."""
    for name in ("staging", "production"):
        inside.write(f"{name}/acme.yaml", f"tenant: acme\nknobs: {{rrf_k: {len(name)}}}\n")
        inside.write(f"{name}.yaml", f"fleet: {name}\ninclude: ['{name}/**']\n")

    result = inside("diff", ".", "--fleet", "staging", "--format", "json", *ENGINE)
    assert [one["after"] for one in result.json["tenants"][0]["changes"]] == [7]
    ambiguous = inside("diff", ".", *ENGINE)
    assert (ambiguous.code, "--fleet" in ambiguous.err) == (2, True)
    assert inside("diff", "staging/acme.yaml", "--fleet", "production", *ENGINE).code == 2


@pytest.mark.parametrize("name", ["owner", "x-note"])
def test_text_from_outside_cannot_drive_the_terminal(inside: Inside, name: str) -> None:
    """Neither a document's text nor a file's name reaches the terminal raw."""
    path = inside.write(
        "a\x1b[2Kme.yaml", f'tenant: acme\n{name}: "ok\\e[2K\\r"\nknobs: {{rrf_k: 30}}\n'
    )
    for command in ("diff", "plan", "apply"):
        result = inside(command, path, *(["--yes"] if command == "apply" else []), *ENGINE)
        assert not set("\x1b\r") & set(result.out + result.err)
