"""`knobctl drift`: the verdict, who moved what, and what to do."""

from __future__ import annotations

import itertools
import json
import re
from contextlib import chdir
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.engines import embedded, write
from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of
from tests.cli.serving import serving
from tests.given_engine import GivenEngine

if TYPE_CHECKING:
    from pathlib import Path


SCHEMA = "output-drift.v1.schema.json"
YES = ("--yes", "--reason", "r")
EXPIRED = "waiver: w\nrule: {}\ntenants: [acme]\nreason: r\napproved_by: p\nexpires: 2020-01-31\n"


def pushed(inside: Inside, **tenants: str) -> None:
    """Documents, and a push of them."""
    inside.write("knobctl.toml", "")
    for name, knobs in tenants.items():
        inside.write(f"{name}.yaml", f"tenant: {name}\nknobs: {{{knobs}}}\n")
    assert inside("apply", *YES, *ENGINE).code == 0


def told(inside: Inside, *options: str) -> dict[str, Any]:
    """The answer in JSON, as its schema has it; its exit code is the command's."""
    result = inside("drift", "--format", "json", *options, *ENGINE)
    assert result.out, result.err
    answer: dict[str, Any] = result.json
    assert faults_of(answer, SCHEMA) == []
    assert answer["exit_code"] == result.code
    return answer


def moves(answer: dict[str, Any]) -> dict[str, dict[str, str]]:
    """By tenant and knob, which side moved."""
    return {
        one["tenant"]: {change["field_path"]: change["moved"] for change in one["changes"]}
        for one in answer["tenants"]
    }


def test_no_drift_after_a_push(inside: Inside) -> None:
    """Exit 0, a line that says so, and nothing on stderr."""
    pushed(inside, acme="rrf_k: 30", bolt="rrf_k: 40")
    result = inside("drift", *ENGINE)
    assert (result.code, result.out, result.err) == (
        0,
        "no drift: 2 tenants are as the files say\n",
        "",
    )
    assert told(inside)["outcome"] == "ok"


def test_an_edit_of_live_is_told_with_who_when_and_what_to_do(inside: Inside) -> None:
    """The arrow goes from what stayed to what moved; what a push resets comes first."""
    pushed(inside, acme="retrieval_min_score: 0.3")
    with embedded(inside.folder / "e.db") as engine:
        write(engine, "acme", {"retrieval_min_score": 0.7, "rrf_k": 30}, "incident 4711")
    result = inside("drift", *ENGINE)
    assert result.code == 3
    assert re.sub(r"\d+ (h|min) ago", "2 h ago", result.out).splitlines() == [
        "drift: 1 tenant, 2 fields (1 edited live); a push would reset 1 field",
        "acme  edited live: acme.yaml, live r2 (anna, 2 h ago)",
        "  rrf_k                file default 60 -> live 30  by anna, 2 h ago (r2): incident 4711; a push resets it",
        "  retrieval_min_score  file 0.3 -> live 0.7        by anna, 2 h ago (r2): incident 4711",
        "adopt what is live: knobctl pull acme --engine embedded:e.db",
        "take it back: knobctl apply --engine embedded:e.db",
    ]


def test_json_goes_from_live_to_the_files_as_diff_does(inside: Inside) -> None:
    """With the side that moved, the change that gave live its value, and the first one away."""
    pushed(inside, acme="retrieval_min_score: 0.3")
    inside.hold(retrieval_min_score=0.5)
    inside.hold(retrieval_min_score=0.7)
    (tenant,) = told(inside)["tenants"]
    assert (tenant["moved"], tenant["source"], tenant["revision"]) == ("live", "acme.yaml", "r3")
    (change,) = tenant["changes"]
    assert (change["before"], change["after"]) == (0.7, 0.3)
    assert (change["last"]["revision"], change["since"]["revision"]) == ("r3", "r2")
    diffed = inside("diff", "--format", "json", *ENGINE).json["tenants"][0]
    assert diffed["changed_field_paths"] == tenant["changed_field_paths"]
    assert "first moved by" in inside("drift", *ENGINE).out


def test_a_file_that_was_never_pushed_is_ahead(inside: Inside) -> None:
    """Nobody edited anything live, so there is nothing to adopt."""
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    result = inside("drift", *ENGINE)
    assert result.code == 3
    assert result.out.splitlines() == [
        "drift: 1 tenant, 1 field (1 ahead in the files)",
        "acme  never pushed: acme.yaml",
        "  rrf_k  live default 60 -> file 30  not pushed yet",
        "push the files: knobctl apply --engine embedded:e.db",
    ]
    assert told(inside)["tenants"][0]["moved"] == "file"


def test_both_sides_moved(inside: Inside) -> None:
    """Adopting live would lose what the file has changed since, and that is said."""
    pushed(inside, acme="retrieval_min_score: 0.3")
    inside.hold(retrieval_min_score=0.7)
    inside.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.3, rrf_k: 30}\n")
    assert moves(told(inside)) == {"acme": {"retrieval_min_score": "live", "rrf_k": "file"}}
    out = inside("drift", *ENGINE).out
    assert "acme  edited live, and the file is ahead: acme.yaml" in out
    assert "adopt what is live, and lose what the file of acme changed since: knobctl pull" in out


def test_a_value_of_a_layer_is_told_with_its_place(inside: Inside) -> None:
    """Where the file's value stands."""
    inside.write("ent.yaml", "layer: ent\nknobs: {rrf_k: 30}\n")
    inside.write("acme.yaml", "tenant: acme\nlayers: [ent]\nknobs: {}\n")
    assert inside("apply", *YES, *ENGINE).code == 0
    inside.hold(rrf_k=50)
    assert re.search(
        r"file 30 -> live 50  by .*; from layer ent, ent.yaml:2", inside("drift", *ENGINE).out
    )


def test_the_tenants_looked_at_can_be_narrowed(inside: Inside) -> None:
    """By PATH, label, condition and fleet."""
    pushed(inside, acme="rrf_k: 30", bolt="rrf_k: 40")
    inside.hold("bolt", rrf_k=50)
    inside.write("fleet.yaml", "fleet: mine\ninclude: [acme.yaml]\n")
    for options in (["acme.yaml"], ["--where", "tenant == 'acme'"], ["--fleet", "mine"]):
        assert list(moves(told(inside, *options))) == ["acme"]
        assert inside("drift", *options, *ENGINE).code == 0
    assert inside("drift", "bolt.yaml", *ENGINE).code == 3
    assert "knobctl apply bolt.yaml --engine" in inside("drift", "bolt.yaml", *ENGINE).out
    assert inside("drift", "-l", "tier=gold", *ENGINE).code == 2


def test_the_folder_of_a_pull_is_named_where_it_is_another_one(inside: Inside) -> None:
    """A pull edits the files of the working folder's repository."""
    inside.write("here/knobctl.toml", "")
    inside.write("there/knobctl.toml", "")
    inside.write("there/acme.yaml", "tenant: acme\nknobs: {}\n")
    inside.hold(rrf_k=30)
    assert "adopt what is live: knobctl pull acme" in inside("drift", "there", *ENGINE).out
    inside.write("knobctl.toml", "")
    assert "adopt what is live: knobctl pull acme" in inside("drift", "there", *ENGINE).out
    with chdir(inside.folder / "here"):
        out = inside("drift", "../there", "--engine", "embedded:../e.db").out
    assert f"adopt what is live, in {inside.folder}/there: knobctl pull acme" in out


def test_documents_that_cannot_be_understood_stop_it(inside: Inside) -> None:
    """Exit 4 in every format, and no verdict."""
    pushed(inside, acme="rrf_k: 30")
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: many}\n")
    answer = told(inside)
    assert (answer["exit_code"], answer["tenants"]) == (4, [])
    assert [one["rule"] for one in answer["findings"]] == ["wrong-type"]
    assert "wrong-type" in inside("drift", "--format", "markdown", *ENGINE).out


def test_an_expired_waiver_is_an_error_and_drift_is_told_all_the_same(inside: Inside) -> None:
    """4 before 3; warnings of the files are no matter of drift."""
    pushed(inside, acme="retrieval_min_score: 0.45, gate_expanded_floor: 0.45")
    assert "floor-above-vector-ceiling" in inside("check").out
    assert inside("drift", *ENGINE).out == "no drift: 1 tenant is as the files say\n"
    inside.write("w.yaml", EXPIRED.format("floor-above-vector-ceiling"))
    inside.hold(rrf_k=30)
    answer = told(inside)
    assert (answer["exit_code"], answer["outcome"]) == (4, "findings")
    assert [one["rule"] for one in answer["findings"]] == ["waiver-expired"]
    assert moves(answer) == {"acme": {"rrf_k": "live"}}
    out = inside("drift", *ENGINE).out
    assert out.splitlines()[0].endswith("; 1 error in the files")
    assert "waiver-expired" in out


def test_a_live_edit_of_a_knob_that_needs_evidence_is_drift_and_no_error(inside: Inside) -> None:
    """The files are judged alone: that live differs is not an error of theirs."""
    pushed(inside, acme="rrf_k: 30")
    inside.hold(rrf_k=50)
    inside.write(
        "fleet.yaml", "fleet: default\nevidence: {required_for: [rrf_k]}\nreason_required: true\n"
    )
    assert told(inside)["exit_code"] == 3


def test_unmanaged_tenants_are_named(inside: Inside) -> None:
    """Those without a document of any fleet; tenants at the default everywhere are none."""
    pushed(inside, acme="rrf_k: 30")
    inside.write("fleets.yaml", "fleet: eu\ninclude: [acme.yaml]\n")
    inside.write("us/bolt.yaml", "tenant: bolt\nknobs: {rrf_k: 40}\n")
    inside.hold("bolt", rrf_k=40)
    inside.hold("gone", rrf_k=50)
    inside.hold("empty", rrf_k=50)
    assert inside("reset", "empty", *YES, *ENGINE).code == 0
    assert told(inside, "acme.yaml")["unmanaged"] is None
    for scope in ([], ["acme.yaml"], ["--fleet", "eu"]):
        answer = told(inside, "--unmanaged", *scope)
        assert (answer["exit_code"], [one["tenant"] for one in answer["unmanaged"]]) == (
            3,
            ["gone"],
        )
    lines = inside("drift", "--unmanaged", *ENGINE).out.splitlines()
    assert lines[0] == "drift: 2 tenants are as the files say; 1 unmanaged"
    assert lines[1].startswith("unmanaged  gone  1 knob set  live r1 (")
    assert lines[2] == "give them a document: knobctl pull gone --engine embedded:e.db"
    assert inside("pull", "gone", "--yes", *ENGINE).code == 0
    result = inside("drift", "--unmanaged", *ENGINE)
    assert (result.code, result.out) == (
        0,
        "no drift: 3 tenants are as the files say; none unmanaged\n",
    )
    assert inside("drift", "--unmanaged", "-l", "a=b", *ENGINE).code == 2


def test_an_engine_with_the_two_given_methods_gives_the_verdict_and_says_what_it_cannot(
    inside: Inside,
) -> None:
    """No history, no list, no revisions."""
    inside.write("token", "acme-token")
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    with GivenEngine() as engine:
        there = ("--engine", engine.url, "--token-file", "token")
        engine.sets["acme"] = {"rrfK": 30}
        assert inside("drift", *there).code == 0
        engine.sets["acme"] = {"rrfK": 50}
        result = inside("drift", "--unmanaged", *there)
        answer = inside("drift", "--unmanaged", "--format", "json", *there).json
        assert engine.writes() == 0
    assert result.code == 3
    assert "  rrf_k  live 50, file 30" in result.out.splitlines()
    assert re.search(
        r"^not known: who changed acme, and which side moved: .*Audit", result.out, re.MULTILINE
    )
    assert re.search(r"^not known: which tenants are unmanaged: ", result.out, re.MULTILINE)
    assert faults_of(answer, SCHEMA) == []
    assert (answer["tenants"][0]["moved"], answer["unmanaged"]) == ("unknown", None)
    assert len(answer["not_known"]) == 2


def test_a_value_that_no_document_can_say_is_drift(inside: Inside) -> None:
    """A mode of a newer engine; a field that the schema does not know at all is none."""
    inside.write("token", "acme-token")
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    with GivenEngine() as engine:
        there = ("--engine", engine.url, "--token-file", "token")
        engine.sets["acme"] = {"rrfK": 30, "futureKnob": 1}
        assert inside("drift", *there).code == 0
        engine.sets["acme"] = {"rrfK": 30, "gateMode": "SHADOW"}
        result = inside("drift", *there)
        answer = inside("drift", "--format", "json", *there).json
    assert result.code == 3
    assert "  unknown to the schema, a push would lose them: gate_mode" in result.out.splitlines()
    assert faults_of(answer, SCHEMA) == []
    assert answer["tenants"][0]["unreadable"] == {"gate_mode": "SHADOW"}


def test_an_engine_out_of_reach_is_no_verdict(inside: Inside) -> None:
    """Exit 8, nothing on stdout."""
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
    result = inside("drift", "--engine", "http://127.0.0.1:9")
    assert (result.code, result.out) == (8, "")


def test_a_served_engine_tells_who_it_was_and_what_a_token_does_not_open(
    inside: Inside,
) -> None:
    """Over HTTP: the subject of the token; a tenant that it does not hold ends in 8, the others are told."""
    store = ("--store", "embedded:served.db")
    for name in ("acme", "bolt"):
        inside.write(f"{name}.yaml", f"tenant: {name}\nknobs: {{rrf_k: 30}}\n")
    with serving(inside.folder, *store) as (_, address):

        def token(subject: str, *tenants: str) -> None:
            held = [word for one in tenants for word in ("--tenant", one)]
            made = inside(
                "engine", "token", "--subject", subject, "--clearance", "L4", *held, *store
            )
            inside.write(subject, made.out)

        token("ci", "acme", "bolt")
        token("anna", "acme")
        ci, anna = (("--engine", address, "--token-file", who) for who in ("ci", "anna"))
        assert inside("apply", *YES, *ci).code == 0
        assert inside("drift", *ci).code == 0
        assert inside("set", "acme", "rrf_k=50", *YES, *anna).code == 0
        result = inside("drift", *ci)
        assert (result.code, "by anna, " in result.out) == (3, True)
        partly = inside("drift", "--format", "json", *anna)
    assert (partly.code, partly.json["outcome"]) == (8, "engine")
    assert faults_of(partly.json, SCHEMA) == []
    assert [one["tenant"] for one in partly.json["unread"]] == ["bolt"]
    assert moves(partly.json) == {"acme": {"rrf_k": "live"}}


def test_markdown_is_a_table_and_holds_hostile_text(inside: Inside) -> None:
    """Who and why come from outside: no markup, no mention, no control character."""
    pushed(inside, acme="rrf_k: 30", bolt="rrf_k: 30")
    for tenant in ("acme", "bolt", "gone"):
        reason = "::error::x | @all <img src=x> \x1b[31m"
        done = inside("set", tenant, "rrf_k=50", "--yes", "--reason", reason, *ENGINE)
        assert done.code == 0
    result = inside("drift", "--unmanaged", "--format", "markdown", *ENGINE)
    assert result.code == 3
    lines = result.out.splitlines()
    assert lines[0] == "<!-- knobctl drift -->"
    assert lines[1].startswith("### drift: 2 of 2 tenants, 2 fields (2 edited live)")
    (row,) = [line for line in lines if line.startswith("| `rrf_k`")]
    assert row.count("|") == 6
    assert row.startswith("| `rrf_k` | `50` | `30` | edited live: by ")
    assert not re.search(r"(?<!`)(@all|<img)", row)
    assert "\x1b" not in result.out
    assert "| `gone` | 1 | `r1` |" in lines
    text = inside("drift", *ENGINE).out
    assert "\x1b" not in text
    assert "::error" not in text


def test_many_tenants_are_told_up_to_a_number(inside: Inside) -> None:
    """The rest is counted; -v shows each."""
    for at in range(60):
        inside.write(f"t{at:02}.yaml", f"tenant: t{at:02}\nknobs: {{rrf_k: 30}}\n")
    assert "and 10 more tenants; -v shows each" in inside("drift", *ENGINE).out
    assert inside("drift", "-v", *ENGINE).out.count("never pushed") == 60


def test_pull_and_rollback_end_it(inside: Inside) -> None:
    """Adopting live, or taking back with the file: no drift is left. Without the file there is."""
    pushed(inside, acme="rrf_k: 30")
    inside.hold(rrf_k=50, mmr_lambda=0.5)
    assert inside("pull", "acme", "--yes", *ENGINE).code == 0
    assert told(inside)["exit_code"] == 0
    assert inside("rollback", "acme", *YES, *ENGINE).code == 0
    assert told(inside)["exit_code"] == 0
    assert inside("rollback", "acme", "--no-file", *YES, *ENGINE).code == 0
    assert moves(told(inside)) == {"acme": {"mmr_lambda": "live", "rrf_k": "live"}}


def test_exit_zero_is_for_drift_and_findings_and_nothing_else(inside: Inside) -> None:
    """What is told stays; an engine that is not there is no 0."""
    pushed(inside, acme="rrf_k: 30")
    inside.hold(rrf_k=50)
    answer = told(inside, "--exit-zero")
    assert (answer["exit_code"], moves(answer)) == (0, {"acme": {"rrf_k": "live"}})
    assert inside("drift", "--exit-zero", "--engine", "http://127.0.0.1:9").code == 8
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: many}\n")
    answer = told(inside, "--exit-zero")
    assert (answer["exit_code"], len(answer["findings"])) == (0, 1)


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "retrieval_min_score": st.sampled_from([0.0001, 0.15, 0.3, 1.0]),
        "rrf_k": st.integers(1, 60),
        "mmr_lambda": st.sampled_from([0.25, 0.5]),
        "gate_mode": st.sampled_from(["ENABLED", "DISABLED"]),
    },
)


@pytest.mark.parametrize("examples", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_after_a_push_there_is_none_and_after_a_write_exactly_what_it_changed(
    inside: Inside, tmp_path: Path, examples: int
) -> None:
    """What the audit event lists is what drift names, all of it edited live; a pull or a push ends it."""
    numbers = itertools.count()

    @given(file=VALUES, live=VALUES, adopted=st.booleans())
    @settings(max_examples=examples)
    def holds(file: dict[str, Any], live: dict[str, Any], adopted: bool) -> None:
        store = tmp_path / f"{next(numbers)}.db"
        engine = ("--engine", f"embedded:{store}")
        inside.write("acme.yaml", json.dumps({"tenant": "acme", "knobs": file}))

        def drift() -> Any:
            return inside("drift", "--format", "json", *engine).json

        assert inside("apply", *YES, *engine).code == 0
        assert drift()["exit_code"] == 0
        with embedded(store) as opened:
            write(opened, "acme", live)
            event = list(opened.audit_events("acme"))[-1]
        answer = drift()
        (tenant,) = answer["tenants"]
        assert tenant["changed_field_paths"] == event["changed_field_paths"]
        assert {one["moved"] for one in tenant["changes"]} <= {"live"}
        assert answer["exit_code"] == (3 if event["changed_field_paths"] else 0)
        ending = ("pull", "acme", "--yes") if adopted else ("apply", *YES)
        assert inside(*ending, *engine).code == 0
        assert drift()["exit_code"] == 0

    holds()


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_tells_the_exit_codes(inside: Inside, option: str) -> None:
    """For cron and CI."""
    out = inside("drift", option).out
    assert "Exit 0: no drift. 3: drift." in out
