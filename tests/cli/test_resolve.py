"""`knobctl resolve`: what is in force, where it is written, what it hides."""

from __future__ import annotations

import pytest

from tests.cli.inside import Inside
from tests.cli.outputs import faults_of

FLEET = {
    "knobctl.toml": "",
    "layers.yaml": (
        "layer: base\nknobs: {retrieval_min_score: 0.2, rrf_k: 20}\n---\n"
        "layer: eu\nknobs: {retrieval_min_score: 0.25, recency_ranker_mode: DISABLED}\n"
    ),
    "tenants/acme.yaml": (
        "x-a: &a\n  mmr_lambda: 0.5\ntenant: acme\nlabels: {tier: enterprise}\nlayers: [base, eu]\n"
        "knobs:\n  <<: *a\n  retrieval_min_score: 0\n"
    ),
    "tenants/bolt.yaml": "tenant: bolt\nknobs: {}\n",
}


@pytest.fixture
def fleet(inside: Inside) -> Inside:
    """A repository with two layers and two tenants."""
    for name, text in FLEET.items():
        inside.write(name, text)
    return inside


def test_every_written_knob_has_its_place_and_what_it_hides(fleet: Inside) -> None:
    """One line a knob; a written zero says that it is none."""
    result = fleet("resolve")
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "acme  tenants/acme.yaml:3: 4 knobs written through base < eu, 21 at the platform default\n"
        "  retrieval_min_score  0.3       tenants/acme.yaml:8:24\n"
        "      a written 0 means the platform default, 0.3\n"
        "      hides 0.25  layers.yaml:5:30\n"
        "      hides 0.2  layers.yaml:2:30\n"
        "  rrf_k                20        layers.yaml:2:42\n"
        "  recency_ranker_mode  DISABLED  layers.yaml:5:57\n"
        "  mmr_lambda           0.5       tenants/acme.yaml:2:15\n"
        "      through tenants/acme.yaml:7:3\n"
        "\n"
        "bolt  tenants/bolt.yaml:1: all 25 knobs at the platform default\n"
    )


def test_all_knobs_are_listed_when_asked_for(fleet: Inside) -> None:
    """Those at the platform default too."""
    lines = fleet("resolve", "bolt", "--all").out.splitlines()
    assert len(lines) == 26
    assert lines[1].split() == ["retrieval_min_score", "0.3", "platform", "default"]


def test_the_json_has_sets_and_origins(fleet: Inside) -> None:
    """The set to be sent, everything in force, and every place."""
    answer = fleet("resolve", "acme", "--format", "json").json
    assert faults_of(answer, "output-resolve.v1.schema.json") == []
    (tenant,) = answer["tenants"]
    assert tenant["knobs"] == {"rrf_k": 20, "recency_ranker_mode": "DISABLED", "mmr_lambda": 0.5}
    assert tenant["effective"]["retrieval_min_score"] == 0.3
    assert len(tenant["effective"]) == 25
    floor = tenant["origins"]["retrieval_min_score"]
    assert (floor["value"], floor["file"], floor["line"], floor["column"]) == (
        0,
        "tenants/acme.yaml",
        8,
        24,
    )
    assert [(one["document"], one["value"], one["line"]) for one in floor["hidden"]] == [
        ("eu", 0.25, 5),
        ("base", 0.2, 2),
    ]
    assert tenant["origins"]["mmr_lambda"]["via"] == {"line": 7, "column": 3}


@pytest.mark.parametrize(
    ("arguments", "tenants"),
    [
        ([], ["acme", "bolt"]),
        (["bolt"], ["bolt"]),
        (["bolt", "acme"], ["acme", "bolt"]),
        (["-l", "tier=enterprise"], ["acme"]),
        (["--where", "effective.rrf_k == 60"], ["bolt"]),
        (["--path", "tenants/bolt.yaml"], ["bolt"]),
        (["--path", "tenants/bolt.yaml", "--path", "tenants/acme.yaml"], ["bolt", "acme"]),
    ],
)
def test_tenants_are_chosen_as_everywhere(
    fleet: Inside, arguments: list[str], tenants: list[str]
) -> None:
    """By name, label, condition, or PATH; layers are found in the repository."""
    answer = fleet("resolve", *arguments, "--format", "json").json
    assert [tenant["tenant"] for tenant in answer["tenants"]] == tenants


def test_an_unknown_tenant_is_a_usage_error_with_the_nearest_name(fleet: Inside) -> None:
    """Nothing is printed that a script could take for an answer."""
    result = fleet("resolve", "acne")
    assert (result.code, result.out) == (2, "")
    assert "did you mean acme?" in result.err


def test_one_fleet_of_a_repository_is_resolved(fleet: Inside) -> None:
    """Its tenants, by its `include`."""
    fleet.write("fleet.yaml", 'fleet: one\ninclude: ["tenants/b*"]\n')
    answer = fleet("resolve", "--fleet", "one", "--format", "json").json
    assert [tenant["tenant"] for tenant in answer["tenants"]] == ["bolt"]
    assert fleet("resolve", "--fleet", "two").code == 2


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("tenant: acme\nlayers: [nowhere]\n", "unknown-layer"),
        ("tenant: acme\nknobs: {rrf_k: 1, rrf_k: 2}\n", "duplicate-key"),
        ("tenant: acme\nknobs: {rrf_k: 99999}\n", "out-of-range"),
        ("tenant: acme\nknobs: {rrf_kk: 9}\n", "unknown-knob"),
        ("tenant: acme\nknobs: {rrf_k: 010}\n", "ambiguous-scalar"),
        ("tenant: acme\n---\ntenant: [\n", "yaml-syntax"),
        ("tenant: bolt\n---\ntenant: acme\n", "duplicate-tenant"),
    ],
)
def test_errors_are_told_and_fail_the_run(fleet: Inside, text: str, rule: str) -> None:
    """What they write is not in force; both answers say so."""
    fleet.write("tenants/acme.yaml", text)
    result = fleet("resolve", "--format", "json")
    assert (result.code, result.json["outcome"]) == (4, "findings")
    assert rule in result.rules
    assert faults_of(result.json, "output-resolve.v1.schema.json") == []
    shown = fleet("resolve")
    assert shown.code == 4
    assert rule in shown.out


def test_a_fault_of_a_layer_is_told_and_one_of_another_tenant_is_not(fleet: Inside) -> None:
    """What bears on the tenants asked about."""
    fleet.write("layers.yaml", "layer: base\nknobs: {rrf_k: 99999}\n---\nlayer: eu\nknobs: {}\n")
    assert fleet("resolve", "acme", "--format", "json").rules == ["out-of-range"]
    assert fleet("resolve", "acme", "--path", "tenants/acme.yaml", "--format", "json").rules == [
        "out-of-range"
    ]
    assert fleet("resolve", "bolt").code == 0


def test_a_value_written_twice_is_not_used(fleet: Inside) -> None:
    """Neither of the two."""
    fleet.write("tenants/acme.yaml", "tenant: acme\nknobs: {rrf_k: 1, rrf_k: 2}\n")
    (tenant,) = fleet("resolve", "acme", "--format", "json").json["tenants"]
    assert tenant["knobs"] == {}


def test_names_from_outside_cannot_drive_the_terminal(inside: Inside) -> None:
    """A layer's name is text, whatever it holds."""
    inside.write("t.yaml", 'tenant: t\nlayers: ["\\x1b[31m"]\n')
    result = inside("resolve")
    assert "\x1b" not in result.out + result.err
    assert "\\x1b[31m" in result.out
