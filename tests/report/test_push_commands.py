"""The command lines that a screen prints come to the same set and the same file as the screen's own push."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.changes.diff import diff_sets
from knobctl.changes.file_edits import wish_for
from knobctl.changes.single import read_assignments
from knobctl.documents.opening import Opening
from knobctl.knobs import load_catalogue
from knobctl.report.push_commands import push_commands, undo_command
from tests.cli.inside import ENGINE

if TYPE_CHECKING:
    from knobctl.documents.model import Effective
    from knobctl.knobs import KnobValue
    from tests.cli.inside import Inside

FILE = "tenant: acme\nknobs:\n  mmr_lambda: 0.7\n  dedup_min_similarity: 0.97\n"
LIVE: dict[str, Any] = {"rrf_k": 50, "mmr_lambda": 0.5}


@pytest.mark.parametrize(
    "wanted",
    [
        {"mmr_lambda": 0.7, "dedup_min_similarity": 0.97},
        {"rrf_k": 50, "mmr_lambda": 0.5},
        {"rrf_k": 70, "mmr_lambda": 0.5, "dedup_min_similarity": 0.98},
        {},
    ],
    ids=["the file", "the live set", "both differ", "nothing"],
)
@pytest.mark.parametrize("with_file", [True, False], ids=["file too", "live alone"])
def test_the_commands_come_to_the_same(
    inside: Inside, wanted: dict[str, KnobValue], with_file: bool
) -> None:
    """Each of them run as it stands, they leave the engine and the file with what was asked for."""
    catalogue = load_catalogue()
    inside.write("knobctl.toml", "")
    inside.write("acme.yaml", FILE)
    inside.hold(**LIVE)
    wish = wish_for(_effective(inside), wanted) if with_file else None
    commands = push_commands(
        "acme",
        diff_sets(catalogue, LIVE, wanted),
        literals={},
        wish=wish,
        reason="it's due",
        ticket="OPS-7",
        allowances=(),
        place="",
    )
    for command in commands.split(" && "):
        words = shlex.split(command)[1:]
        extra = [] if "--file" in words or words[0] == "get" else [*ENGINE]
        done = inside(*words, "--yes" if words[0] != "get" else "--quiet", *extra)
        assert done.code == 0, (command, done.err, done.out)
    assert inside.live() == wanted
    if with_file:
        assert _effective(inside).desired == wanted
    else:
        assert inside.read("acme.yaml") == FILE
    if commands.startswith("knobctl set acme mmr"):
        assert inside.events()[-1]["reason"] == "it's due [ticket: OPS-7]"


def _effective(inside: Inside) -> Effective:
    repository = Opening((), None, inside.folder, bytes, None, None).repository(whole=True)
    (document,) = repository.tenants
    return repository.effective(document)


def test_undo_names_the_run_where_there_are_no_revisions() -> None:
    """Without revisions there are no audit events: then the journal alone knows what was there before."""
    place = " --context live"
    undo = undo_command("acme", run=None, has_revisions=True, place=place)
    assert undo == "knobctl rollback acme --context live"
    undo = undo_command("acme", run="0f1e2d3c", has_revisions=False, place=place)
    assert undo == "knobctl rollback --run 0f1e2d3c --context live"


def test_assignments_are_read_back() -> None:
    """What is written for the shell is what `set` reads."""
    text = push_commands(
        "acme",
        diff_sets(load_catalogue(), {}, {"mmr_lambda": 0.25, "recency_ranker_mode": "DISABLED"}),
        literals={"mmr_lambda": "0.250"},
        wish=None,
        reason="",
        ticket=None,
        allowances=("max_tenants=1",),
        place="",
    )
    words = shlex.split(text)
    assert words[:3] == ["knobctl", "set", "acme"]
    assert read_assignments(words[3:5], load_catalogue()) == {
        "mmr_lambda": "0.250",
        "recency_ranker_mode": "DISABLED",
    }
    assert words[5:] == ["--allow", "max_tenants=1"]
