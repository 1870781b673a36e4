"""`apply --prune`: tenants without a document go back to the default, within a limit of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from knobctl.knobs import load_catalogue
from tests.cli.engines import embedded, write
from tests.cli.inside import ENGINE, Inside
from tests.cli.killing import killed_at
from tests.cli.outputs import faults_of
from tests.given_engine import GivenEngine

YES = ("--yes", "--reason", "r")
REFUSED = (
    "2 tenants without a document would be reset (gone, lost), and nothing allows any: "
    "neither limits.max_pruned of a fleet nor --max-pruned is set."
)
SCHEMA = "output-apply.v1.schema.json"


@pytest.fixture
def left(inside: Inside) -> Inside:
    """A repository of one tenant; the engine also holds two that no document asks for, and one at the default."""
    inside.write("knobctl.toml", "")
    inside.write("tenants/acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    inside.hold("gone", rrf_k=50, mmr_lambda=0.5)
    inside.hold("lost", rrf_k=50)
    inside.hold("plain", rrf_k=50)
    assert inside("reset", "plain", *YES, *ENGINE).code == 0
    return inside


def pruned(inside: Inside, *options: str) -> dict[str, Any]:
    """The answer of a push that prunes, as its schema has it."""
    result = inside("apply", "--prune", *YES, "--format", "json", *options, *ENGINE)
    assert result.out, result.err
    answer: dict[str, Any] = result.json
    assert faults_of(answer, SCHEMA) == []
    return answer


def test_without_the_option_nothing_is_pruned(left: Inside) -> None:
    """A tenant without a document is left alone."""
    assert left("apply", *YES, *ENGINE).code == 0
    assert left.live("gone") == {"rrf_k": 50, "mmr_lambda": 0.5}


def test_the_number_must_be_said_where_no_limit_is_set(left: Inside) -> None:
    """The refusal names count, tenants, setting and flag; nothing is written, the pushes neither."""
    result = left("apply", "--prune", *YES, *ENGINE)
    assert result.code == 6
    assert result.err.splitlines() == [
        f"refused: {REFUSED}",
        "  Nothing was written. To go on with this number: --allow max_pruned=2",
    ]
    assert left.live("acme") == {}
    assert left("apply", "--prune", *YES, "--allow", "max_pruned=1", *ENGINE).code == 6
    assert left.live("gone") != {}


def test_tenants_without_a_document_go_back_to_the_default(left: Inside) -> None:
    """In one run with the rest; the acknowledgement stands in the audit reason, and no drift is left."""
    answer = pruned(left, "--allow", "max_pruned=2")
    assert (answer["exit_code"], answer["pruned"]) == (0, ["gone", "lost"])
    assert {one["tenant"]: one["outcome"] for one in answer["tenants"]} == {
        "acme": "applied",
        "gone": "applied",
        "lost": "applied",
    }
    assert (left.live("acme"), left.live("gone"), left.live("lost")) == ({"rrf_k": 30}, {}, {})
    assert left.events("gone")[-1]["reason"] == "r [allowed: max_pruned=2]"
    assert len(left.events("plain")) == 2
    assert left("drift", "--unmanaged", *ENGINE).code == 0
    again = pruned(left)
    assert (again["exit_code"], again["pruned"]) == (0, [])
    assert left("rollback", "gone", *YES, *ENGINE).code == 0
    assert left.live("gone") == {"rrf_k": 50, "mmr_lambda": 0.5}


def test_text_says_which_have_no_document(left: Inside) -> None:
    """Before consent; a dry run writes nothing."""
    result = left("apply", "--prune", "--dry-run", "--max-pruned", "2", *ENGINE)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].startswith(
        "3 tenants: 3 change (4 fields, 3 resets), 2 of them without a document; "
    )
    assert "gone  live r1 -> no document, pruned" in lines
    assert "  reset   mmr_lambda  0.5 -> default 0.7" in lines
    assert left.live("gone") != {}


@pytest.mark.parametrize(
    ("limit", "options", "code"),
    [
        ("max_pruned: 2", [], 0),
        ("max_pruned: 1", [], 6),
        ("max_pruned: 1", ["--max-pruned", "5"], 6),
        ("max_pruned: 1", ["--allow", "max_pruned=2"], 0),
        ("max_pruned: 5", ["--max-pruned", "1"], 6),
        ("max_pruned: 5, max_tenants: 2", [], 6),
        ("max_pruned: 5, max_tenants: 2", ["--allow", "max_tenants=3"], 0),
        ("max_pruned: 5, max_share: 100%", [], 0),
    ],
)
def test_the_fleet_and_the_flag_bound_it(
    left: Inside, limit: str, options: list[str], code: int
) -> None:
    """Neither loosens the other; what is pruned counts among the tenants of the run too."""
    left.write("fleet.yaml", f"fleet: default\nlimits: {{{limit}}}\n")
    result = left("apply", "--prune", *YES, *options, *ENGINE)
    assert result.code == code, result.err
    if code == 6 and "max_tenants" not in limit:
        number = "1"
        assert f"is {number}" in result.err
        assert "--allow max_pruned=2" in result.err


def test_protected_tenants_and_freezes_guard_it_too(left: Inside) -> None:
    """A tenant that nobody may touch is not touched because its file is gone."""
    left.write("fleet.yaml", "fleet: default\nprotected: [gone]\nlimits: {max_pruned: 9}\n")
    result = left("apply", "--prune", *YES, *ENGINE)
    assert (result.code, "protected=gone" in result.err) == (6, True)
    assert left("apply", "--prune", *YES, "--allow", "protected=gone", *ENGINE).code == 0


def test_a_part_of_a_repository_is_refused(left: Inside) -> None:
    """What stands elsewhere would look as if it were gone."""
    for paths in (["tenants"], ["tenants/acme.yaml"], [".", "tenants"]):
        result = left("apply", *paths, "--prune", *YES, "--max-pruned", "9", *ENGINE)
        assert (result.code, "is a part of" in result.err) == (2, True)
    (left.folder / "knobctl.toml").unlink()
    result = left("apply", "--prune", *YES, "--max-pruned", "9", *ENGINE)
    assert (result.code, "knobctl.toml" in result.err) == (2, True)
    assert left.live("gone") != {}


@pytest.mark.parametrize(
    "options",
    [
        ["--prune", "-l", "a=b"],
        ["--prune", "--where", "true"],
        ["--prune", "--tenant", "acme"],
        ["--max-pruned", "3"],
    ],
)
def test_what_it_does_not_go_with(left: Inside, options: list[str]) -> None:
    """Tenants without a document have no labels; and a limit of nothing is a mistake."""
    assert left("apply", *options, *YES, *ENGINE).code == 2


def test_a_plan_file_is_applied_as_it_is(left: Inside) -> None:
    """Nothing is added to what was reviewed."""
    assert left("plan", "-o", "p.json", *ENGINE).code == 0
    assert left("apply", "p.json", "--prune", *YES, *ENGINE).code == 2


def test_a_document_of_another_fleet_is_a_document(left: Inside) -> None:
    """With --fleet only its tenants are pushed, and nothing of another fleet is reset."""
    left.write(
        "fleets.yaml",
        "fleet: eu\ninclude: [tenants/**]\nlimits: {max_pruned: 1}\n---\nfleet: us\ninclude: [us/**]\n",
    )
    left.write("us/lost.yaml", "tenant: lost\nknobs: {rrf_k: 60}\n")
    answer = pruned(left, "--fleet", "eu")
    assert (answer["exit_code"], answer["pruned"]) == (0, ["gone"])
    assert left.live("lost") == {"rrf_k": 50}


@pytest.mark.parametrize(
    "text",
    [
        "tennant: lost\nknobs: {}\n",
        "tenant: [\n",
        "tenant: Lost\n",
        "tenant: lost\nknobs: {rrf_k: many}\n",
    ],
)
def test_a_broken_document_of_another_fleet_stops_it(left: Inside, text: str) -> None:
    """Its tenant would look as if it had none."""
    left.write("fleets.yaml", "fleet: eu\ninclude: [tenants/**]\nlimits: {max_pruned: 9}\n")
    left.write("us/lost.yaml", text)
    result = left("apply", "--prune", "--fleet", "eu", *YES, *ENGINE)
    assert (result.code, "us/lost.yaml" in result.out + result.err) == (4, True)
    assert left.live("gone") != {}


@pytest.mark.parametrize("leads_to", ["kept/gone.yaml", "kept"])
def test_a_tenant_behind_a_link_is_not_reset(left: Inside, leads_to: str) -> None:
    """Links are not followed: what lies behind one is not known to be nothing."""
    outside = left.folder.parent / "kept"
    outside.mkdir()
    (outside / "gone.yaml").write_text("tenant: gone\nknobs: {rrf_k: 50}\n", encoding="utf-8")
    name = "tenants/gone.yaml" if leads_to.endswith(".yaml") else "more"
    (left.folder / name).symlink_to(left.folder.parent / leads_to)

    result = left("apply", "--prune", "--max-pruned", "9", *YES, *ENGINE)
    assert (result.code, f"{name} is a link" in result.err) == (4, True)
    assert len(left.events("gone")) == 1
    left.write("knobctl.toml", f'skip = ["{name}"]\n')
    assert left("apply", "--prune", "--max-pruned", "9", *YES, *ENGINE).code == 0


def test_an_engine_that_cannot_list_is_not_pruned(left: Inside) -> None:
    """Nobody knows which tenants have no document; nothing is written."""
    left.write("token", "acme-token")
    with GivenEngine() as engine:
        there = ("--engine", engine.url, "--token-file", "token")
        result = left("apply", "--prune", *YES, "--max-pruned", "9", *there)
        assert engine.writes() == 0
    assert (result.code, "knobctl reset TENANT" in result.err) == (8, True)


def test_a_set_with_fields_that_the_schema_does_not_know_is_not_lost(left: Inside) -> None:
    """As with any push."""
    with embedded(left.folder / "e.db") as engine:
        write(engine, "gone", {"mmr_lambda": 0.25})
    without = json.loads(json.dumps(load_catalogue().schema))
    without["properties"].pop("mmr_lambda")
    left.write("less.json", json.dumps(without))
    result = left("apply", "--prune", *YES, "--max-pruned", "9", "--schema", "less.json", *ENGINE)
    assert result.code in {6, 8}
    assert "mmr_lambda" in result.err
    assert left.live("gone") == {"mmr_lambda": 0.25}


def killed(inside: Inside, *options: str) -> str:
    """Kill a run before its first write; gives the run."""
    command = ("apply", "--prune", *YES, *options, *ENGINE)
    assert killed_at(inside, 3, *command, noted=False)
    assert inside.live("gone") == {"rrf_k": 50, "mmr_lambda": 0.5}
    (run,) = [
        one["run"]
        for one in inside("runs", "--format", "json").json["runs"]
        if one["state"] == "unfinished"
    ]
    return str(run)


@pytest.mark.parametrize("option", ["--allow=max_pruned=2", "--max-pruned=2"])
def test_a_run_that_was_killed_is_resumed_under_the_same_number(left: Inside, option: str) -> None:
    """What was acknowledged stands; a limit of the command line is said again."""
    run = killed(left, option)
    if not option.startswith("--allow"):
        assert left("apply", "--resume", run, *ENGINE).code == 6
    again = () if option.startswith("--allow") else (option,)
    result = left("apply", "--resume", run, *again, *ENGINE)
    assert result.code == 0, result.err
    assert (left.live("gone"), left.live("lost")) == ({}, {})
    assert len(left.events("acme")) == 1


def test_what_has_a_document_by_now_is_not_reset(left: Inside) -> None:
    """Between the kill and the resume somebody pulled the tenant."""
    run = killed(left, "--allow", "max_pruned=2")
    assert left("pull", "gone", "--yes", *ENGINE).code == 0
    result = left("apply", "--resume", run, *ENGINE)
    assert (result.code, "gone was to be pruned and has a document by now" in result.err) == (
        7,
        True,
    )
    assert left.live("gone") == {"rrf_k": 50, "mmr_lambda": 0.5}
