"""A plan expires when the documents that it was made of ask for something else."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from knobctl.documents.opening import MANY
from tests.cli.inside import ENGINE, Inside
from tests.cli.killing import killed_at
from tests.cli.terminal import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

LAYER = "layer: low\nknobs: {retrieval_min_score: 0.25, gate_expanded_floor: 0.25}\n"
ACME = "tenant: acme\nlayers: [low]\nknobs: {rrf_k: 61}\n"
BOLT = "tenant: bolt\nlayers: [low]\nknobs: {}\n"


@pytest.fixture
def planned(inside: Inside) -> Inside:
    """A repository of two tenants on one layer, and a plan of both."""
    inside.write("knobctl.toml", "")
    inside.write("layers/low.yaml", LAYER)
    inside.write("tenants/acme.yaml", ACME)
    inside.write("tenants/bolt.yaml", BOLT)
    assert inside("plan", ".", "-o", "p.json", *ENGINE).code == 0
    return inside


def edit_the_document(inside: Inside) -> None:
    inside.write("tenants/acme.yaml", ACME.replace("61", "62"))


def edit_the_layer(inside: Inside) -> None:
    inside.write("layers/low.yaml", LAYER.replace("0.25", "0.28"))


def leave_the_layer(inside: Inside) -> None:
    inside.write("tenants/acme.yaml", ACME.replace("layers: [low]\n", ""))


def delete_the_file(inside: Inside) -> None:
    (inside.folder / "tenants/acme.yaml").unlink()


def name_another_tenant(inside: Inside) -> None:
    inside.write("tenants/acme.yaml", ACME.replace("acme", "acme2"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (edit_the_document, "asks for another set by now"),
        (edit_the_layer, "asks for another set by now"),
        (leave_the_layer, "asks for another set by now"),
        (delete_the_file, "no document asks for it by now"),
        (name_another_tenant, "no document asks for it by now"),
    ],
)
def test_a_plan_of_older_documents_is_a_conflict(
    planned: Inside, change: Callable[[Inside], None], words: str
) -> None:
    """What the merged files ask for is not put back to what they asked for when the plan was made."""
    change(planned)

    result = planned("apply", "p.json", *ENGINE)
    assert result.code == 7, result.err
    assert words in result.out
    assert "nothing was written" in result.err
    assert planned.events() == planned.events("bolt") == []


def test_what_the_document_asks_for_is_shown_and_machines_have_it(planned: Inside) -> None:
    """By field, from the planned value to the one that the file has by now."""
    edit_the_document(planned)

    (one,) = [
        one
        for one in planned("apply", "p.json", "--format", "json", *ENGINE).json["tenants"]
        if one["outcome"] == "conflict"
    ]
    assert [(c["field_path"], c["before"], c["after"]) for c in one["changed_by_others"]] == [
        ("rrf_k", 61, 62)
    ]


def test_the_others_of_an_expired_plan_can_go_on(planned: Inside) -> None:
    """--on-conflict skip leaves out the tenant whose document moved."""
    edit_the_document(planned)

    assert planned("apply", "p.json", "--on-conflict", "skip", *ENGINE).code == 9
    assert planned.events() == []
    assert planned.live("bolt") == {"retrieval_min_score": 0.25, "gate_expanded_floor": 0.25}


def comment(inside: Inside) -> None:
    inside.write("tenants/acme.yaml", f"# reviewed\n{ACME}")


def rename(inside: Inside) -> None:
    (inside.folder / "tenants/acme.yaml").rename(inside.folder / "tenants/a.yaml")


def inline_the_layer(inside: Inside) -> None:
    inside.write(
        "tenants/acme.yaml",
        "tenant: acme\nknobs: {rrf_k: 61, retrieval_min_score: 0.25, gate_expanded_floor: 0.25}\n",
    )


@pytest.mark.parametrize("change", [comment, rename, inline_the_layer])
def test_documents_that_ask_for_the_same_expire_nothing(
    planned: Inside, change: Callable[[Inside], None]
) -> None:
    """What counts is the set that a document and its layers come to."""
    change(planned)

    result = planned("apply", "p.json", *ENGINE)
    assert result.code == 0, result.out + result.err


def test_a_plan_is_applied_where_no_documents_lie(
    planned: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipeline's last step has the plan and nothing else."""
    engine = ("--engine", f"embedded:{planned.folder / 'e.db'}")
    planned("plan", ".", "-o", "p.json", *engine)
    elsewhere = planned.folder / "elsewhere"
    elsewhere.mkdir()
    (planned.folder / "knobctl.toml").unlink()
    monkeypatch.chdir(elsewhere)

    result = planned("apply", "../p.json", *engine)
    assert result.code == 0, result.out + result.err


def test_a_plan_of_a_bare_set_is_bound_to_no_document(planned: Inside) -> None:
    """--tenant gives a bare map to a tenant of which the documents around say nothing."""
    planned.write("bare.json", '{"config": {"rrfK": 70}}')
    made = planned("plan", "bare.json", "--tenant", "cove", "-o", "bare-plan.json", *ENGINE)
    assert made.code == 0, made.out

    result = planned("apply", "bare-plan.json", *ENGINE)
    assert result.code == 0, result.out + result.err
    assert planned.live("cove") == {"rrf_k": 70}


def test_each_fleet_is_bound_to_its_own_document(inside: Inside) -> None:
    """Staging and production claim one tenant: a change of the one leaves the other's plan alone."""
    inside.write(
        "fleet.yaml",
        'fleet: production\ninclude: ["prod/**"]\n---\nfleet: staging\ninclude: ["stag/**"]\n',
    )
    inside.write("prod/acme.yaml", "tenant: acme\nknobs: {rrf_k: 61}\n")
    inside.write("stag/acme.yaml", "tenant: acme\nknobs: {rrf_k: 62}\n")
    assert inside("plan", "--fleet", "production", "-o", "p.json", *ENGINE).code == 0

    inside.write("stag/acme.yaml", "tenant: acme\nknobs: {rrf_k: 63}\n")
    assert inside("apply", "p.json", "--dry-run", *ENGINE).code == 0
    inside.write("prod/acme.yaml", "tenant: acme\nknobs: {rrf_k: 62}\n")
    inside.write("stag/acme.yaml", "tenant: acme\nknobs: {rrf_k: 61}\n")
    assert inside("apply", "p.json", "--dry-run", *ENGINE).code == 7


def test_a_plan_is_for_one_fleet(inside: Inside) -> None:
    """Another one named is no way around its limits, and is not passed over in silence either."""
    inside.write("fleet.yaml", "fleet: production\nprotected: [acme]\n---\nfleet: staging\n")
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 61}\n")
    assert inside("plan", "--fleet", "production", "-o", "p.json", *ENGINE).code == 0

    result = inside("apply", "p.json", "--fleet", "staging", *ENGINE)
    assert (result.code, "for fleet production, and the fleet named is staging" in result.err) == (
        2,
        True,
    )
    assert inside("apply", "p.json", "--fleet", "production", *ENGINE).code == 6


def test_evidence_is_looked_at_from_a_folder_below_too(
    planned: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names in a plan are those of the folder where it was made; its evidence is the repository's."""
    engine = ("--engine", f"embedded:{planned.folder / 'e.db'}")
    planned.write("evidence/a.json", "{}")
    planned.write("tenants/acme.yaml", f"evidence: [evidence/a.json]\n{ACME}")
    assert planned("plan", ".", "-o", "p.json", *engine).code == 0
    planned.write("evidence/a.json", "{ }")
    monkeypatch.chdir(planned.folder / "tenants")

    result = planned("apply", "../p.json", *engine)
    assert (result.code, "other evidence" in result.err) == (7, True), result.err


def test_a_run_is_not_finished_with_what_older_documents_asked_for(inside: Inside) -> None:
    """Begun writes are established; of the rest, what moved on in the files is left to a fresh apply."""
    for name in ("acme", "bolt", "cove"):
        inside.write(f"t/{name}.yaml", f"tenant: {name}\nknobs: {{rrf_k: 61}}\n")
    apply = ("apply", "t", "--yes", "--parallelism", "1", *ENGINE)
    assert killed_at(inside, 3, *apply, noted=True), "the first write is noted, and not sent"
    inside.write("t/cove.yaml", "tenant: cove\nknobs: {rrf_k: 62}\n")
    run = inside("runs", "--format", "json").json["runs"][0]["run"]

    stopped = inside("apply", "--resume", run, *ENGINE)
    assert (stopped.code, "t/cove.yaml asks for another set by now" in stopped.out) == (7, True)
    assert inside("apply", "--resume", run, "--on-conflict", "skip", *ENGINE).code == 9
    assert inside.live("cove") == {}
    assert inside("apply", "t", "--yes", *ENGINE).code == 0
    assert [len(inside.events(name)) for name in ("acme", "bolt", "cove")] == [1, 1, 1]
    assert inside.live("cove") == {"rrf_k": 62}


def move_the_revision(inside: Inside) -> None:
    inside.hold("acme", rrf_k=3)


def move_the_default(inside: Inside) -> None:
    schema = json.loads(inside.read("knobs.schema.json"))
    schema["properties"]["retrieval_min_score"]["x-knob"]["default"] = 0.25
    inside.write("moved.schema.json", json.dumps(schema))  # a process reads a schema once
    inside.write("knobctl.toml", 'schema = "moved.schema.json"\n')


def move_the_evidence(inside: Inside) -> None:
    inside.write("evidence/acme.json", '{"version": 1}\n')


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (move_the_revision, "acme"),
        (edit_the_document, "asks for another set by now"),
        (move_the_default, "the schema of the knobs is not the one"),
        (move_the_evidence, "evidence/acme.json"),
    ],
)
def test_each_of_the_four_inputs_of_a_plan_expires_it(
    inside: Inside, change: Callable[[Inside], None], words: str
) -> None:
    """P05: revision, document, table of defaults, evidence: refused, named, nothing written."""
    schema = (ROOT / "schemas/context-engine-knobs.v1.schema.json").read_text()
    inside.write("knobs.schema.json", schema)
    inside.write("knobctl.toml", 'schema = "knobs.schema.json"\n')
    inside.write("evidence/acme.json", "{}\n")
    inside.write("layers/low.yaml", LAYER)
    inside.write("tenants/acme.yaml", f"{ACME}evidence: [evidence/acme.json]\n")
    assert inside("plan", ".", "-o", "p.json", *ENGINE).code == 0
    change(inside)
    before = inside.events()
    result = inside("apply", "p.json", "--yes", *ENGINE)
    assert (result.code, words in f"{result.out}{result.err}".replace("\n  ", " ")) == (7, True)
    assert inside.events() == before


def test_a_plan_says_with_which_options_it_is_applied(planned: Inside) -> None:
    """The engine is the one that it was made for; the fleet stands in it."""
    told = planned("plan", ".", "-o", "a b.json", *ENGINE).out.splitlines()[-1]
    assert told.endswith("to apply it: knobctl apply 'a b.json' --engine embedded:e.db")


def test_a_plan_goes_into_a_file_only(planned: Inside) -> None:
    """On standard output it would stand among what people read."""
    result = planned("plan", ".", "-o", "-", *ENGINE)
    assert (result.code, "--format json" in result.err) == (2, True)
    assert not (planned.folder / "-").exists()


def test_a_plan_of_a_large_repository_expires_by_the_index_too(inside: Inside) -> None:
    """Documents that no run parses again are asked all the same: the tenant's, its layer, and whether it is there."""
    inside.write("knobctl.toml", "")
    inside.write("layers/low.yaml", LAYER)
    for number in range(MANY):
        inside.write(f"tenants/t{number}.yaml", f"tenant: t{number}\nlayers: [low]\nknobs: {{}}\n")
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=inside.folder, check=True)
    for _ in range(2):
        assert inside("plan", ".", "-o", "p.json", *ENGINE).code == 0
    assert inside("apply", "p.json", "--dry-run", *ENGINE).code == 0

    inside.write("tenants/t7.yaml", "tenant: t7\nlayers: [low]\nknobs: {rrf_k: 61}\n")
    (inside.folder / "tenants/t8.yaml").unlink()
    outcomes = inside("apply", "p.json", "--format", "json", *ENGINE).json
    assert (outcomes["exit_code"], outcomes["outcomes"]["conflict"]) == (7, 2)
    inside.write("layers/low.yaml", LAYER.replace("0.25", "0.28"))
    outcomes = inside("apply", "p.json", "--format", "json", *ENGINE).json
    assert outcomes["outcomes"] == {"conflict": MANY}
