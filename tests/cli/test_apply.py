"""`knobctl apply`: whole sets, guarded, read back, answered for tenant by tenant."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of
from tests.cli.terminal import ROOT, on_terminal
from tests.given_engine import GET, UPDATE, Fault, GivenEngine

ACME = "tenant: acme\nknobs: {retrieval_min_score: 0.2}\n"
SCHEMA = "output-apply.v1.schema.json"


def fleet_of(inside: Inside, number: int) -> None:
    """Tenants in files, t000 and on."""
    for index in range(number):
        inside.write(f"t/t{index:03}.yaml", f"tenant: t{index:03}\nknobs: {{rrf_k: {index + 1}}}\n")


def over_http(inside: Inside, engine: GivenEngine, token: str = "acme-token") -> list[str]:
    inside.write("token", token + "\n")
    return ["--engine", engine.url, "--token-file", "token"]


def test_a_set_is_pushed_whole_and_a_second_run_is_silent(inside: Inside) -> None:
    """What is left out goes back; nothing is written twice; the reason stands in the event."""
    inside.hold(retrieval_min_score=0.3, rrf_k=30)
    inside.write("acme.yaml", ACME)

    first = inside("apply", "acme.yaml", "--yes", "--reason", "why", *ENGINE)
    assert first.code == 0
    assert inside.live() == {"retrieval_min_score": 0.2}
    event = inside.events()[-1]
    assert event["changed_field_paths"] == ["retrieval_min_score", "rrf_k"]
    assert event["reason"] == "why"

    second = inside("apply", "acme.yaml", "--yes", "--reason", "why", *ENGINE)
    assert (second.code, second.err) == (0, "")
    assert second.out.startswith("1 tenant: no changes;")
    assert len(inside.events()) == 2


def test_resets_are_printed_before_they_happen(inside: Inside) -> None:
    """First the answer, then what is lost, then the rest, then what was done, then the way back."""
    inside.hold("a", rrf_k=30)
    inside.hold("b", rrf_k=30, mmr_lambda=0.5)
    inside.write("a.yaml", "tenant: a\nknobs: {rrf_k: 31}\n")
    inside.write("b.yaml", "tenant: b\nknobs: {rrf_k: 31}\n")
    lines = inside("apply", ".", "--yes", *ENGINE).out.splitlines()

    assert lines[0].startswith("2 tenants: 2 change (3 fields, 1 reset);")
    assert [line.split()[0] for line in lines[1:6]] == ["b", "reset", "change", "a", "change"]
    assert lines[-4:-2] == ["applied  a  r2  rrf_k", "applied  b  r2  mmr_lambda, rrf_k"]
    assert lines[-2].startswith("2 applied, read back equal, 2 audit events (")
    assert lines[-1] == "undo: knobctl rollback a b --engine embedded:e.db"


def test_json_says_what_became_of_every_tenant(inside: Inside) -> None:
    """The plan goes to stderr, the answer to stdout alone."""
    inside.hold("b", rrf_k=31)
    inside.write("a.yaml", "tenant: a\nknobs: {rrf_k: 31}\n")
    inside.write("b.yaml", "tenant: b\nknobs: {rrf_k: 31}\n")
    result = inside("apply", ".", "--yes", "--format", "json", *ENGINE)

    assert faults_of(result.json, SCHEMA) == []
    assert result.json["outcomes"] == {"unchanged": 1, "applied": 1}
    assert [(one["tenant"], one["outcome"], one["revision"]) for one in result.json["tenants"]] == [
        ("a", "applied", "r1"),
        ("b", "unchanged", "r1"),
    ]
    assert "default 60 -> 31" in result.err


def test_errors_write_nothing(inside: Inside) -> None:
    """Schema errors and policy errors alike: 4, whatever the format."""
    inside.write("good.yaml", "tenant: good\nknobs: {rrf_k: 30}\n")
    inside.write("bad.yaml", "tenant: bad\nknobs: {retrieval_min_score: 7}\n")
    result = inside("apply", ".", "--yes", "--format", "json", *ENGINE)
    assert (result.code, result.rules, faults_of(result.json, SCHEMA)) == (4, ["out-of-range"], [])

    inside.write(
        "bad.yaml", "tenant: bad\nknobs: {assembly_max_chunks: 200, retrieval_vector_top_k: 10}\n"
    )
    result = inside("apply", ".", "--yes", "--format", "json", *ENGINE)
    assert (result.code, "pipeline-width" in result.rules) == (4, True)
    assert inside.events("good") == []


@pytest.mark.parametrize("stdin", ["", "y\n"])
def test_without_a_terminal_consent_is_a_flag(inside: Inside, stdin: str) -> None:
    """At once, before any engine is asked; a byte on stdin is no consent."""
    inside.write("acme.yaml", ACME)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from knobctl.cli.main import main; main()",
            "apply",
            "acme.yaml",
            "--engine",
            "http://127.0.0.1:1",
        ],
        cwd=inside.folder,
        input=stdin.encode(),
        capture_output=True,
        env={"PYTHONPATH": str(ROOT), "HOME": str(inside.folder.parent)},
        check=False,
    )
    assert (done.returncode, done.stdout) == (6, b"")
    assert b"--yes" in done.stderr


@pytest.mark.parametrize("answer", ["y", "n", "\x04"])
def test_on_a_terminal_it_shows_and_asks(inside: Inside, answer: str) -> None:
    """Yes writes; no, and the end of the input, do not."""
    inside.hold(rrf_k=30)
    inside.write("acme.yaml", ACME)
    with on_terminal(inside.folder, "apply", "acme.yaml", *ENGINE) as terminal:
        terminal.expect("Push 1 tenant to embedded:e.db? [y/N]")
        assert "default 60" in terminal.shown
        terminal.type(answer if answer == "\x04" else f"{answer}\r")
        code = terminal.end()
    assert code == (0 if answer == "y" else 6)
    assert len(inside.events()) == (2 if answer == "y" else 1)
    if answer == "n":
        assert "not confirmed; nothing was written." in terminal.shown


def test_a_progress_bar_on_a_terminal_and_nothing_in_a_pipe(inside: Inside) -> None:
    """It is talk: -q silences it."""
    fleet_of(inside, 5)
    with on_terminal(inside.folder, "apply", "t", "--yes", *ENGINE) as terminal:
        assert terminal.end() == 0
    assert "5/5" in terminal.shown
    fleet_of(inside, 6)
    result = inside("apply", "t", "--yes", *ENGINE)
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("number", ["0", "-1", "ten", "1000"])
def test_parallelism_is_bounded(inside: Inside, number: str) -> None:
    """Zero workers hang elsewhere, negative ones panic."""
    inside.write("acme.yaml", ACME)
    assert inside("apply", "acme.yaml", "--parallelism", number).code == 2


def test_a_dry_run_needs_no_consent_and_writes_nothing(inside: Inside) -> None:
    """It shows the plan; in JSON every tenant that would change is skipped."""
    inside.write("acme.yaml", ACME)
    assert inside("apply", "acme.yaml", "--dry-run", *ENGINE).out.endswith(
        "dry run: nothing was written\n"
    )
    result = inside("apply", "acme.yaml", "--dry-run", "--format", "json", *ENGINE)
    assert (result.code, result.json["dry_run"], result.json["outcomes"]) == (
        0,
        True,
        {"skipped": 1},
    )
    assert faults_of(result.json, SCHEMA) == []
    assert inside.events() == []


def test_a_guard_refuses_before_anything_is_written(inside: Inside) -> None:
    """Exit 6, words on stderr, the same in JSON; the number that it printed lets it through."""
    fleet_of(inside, 3)
    inside.write("fleet.yaml", "fleet: default\nlimits:\n  max_tenants: 2\n")

    result = inside("apply", ".", "--yes", *ENGINE)
    assert (result.code, result.out) == (6, "")
    assert result.err == (
        "note: there was no store e.db; an empty one was made\n"
        "refused: 3 tenants would change, the limit of fleet default is 2 (fleet.yaml:3).\n"
        "  Nothing was written. To go on with this number: --allow max_tenants=3\n"
    )
    answer = inside("apply", ".", "--yes", "--format", "json", *ENGINE)
    assert (answer.code, answer.json["outcome"], answer.json["refusals"][0]["allow"]) == (
        6,
        "refused",
        "max_tenants=3",
    )
    assert faults_of(answer.json, SCHEMA) == []
    assert inside.events("t000") == []

    assert (
        inside("apply", ".", "--yes", "--reason", "r", "--allow", "max_tenants=3", *ENGINE).code
        == 0
    )
    assert inside.events("t000")[0]["reason"] == "r [allowed: max_tenants=3]"


def test_flags_limit_without_a_fleet(inside: Inside) -> None:
    """--max-tenants and --max-share; the share is of the managed tenants, not of those named."""
    fleet_of(inside, 10)
    assert inside("apply", "t", "--yes", "--max-tenants", "9", *ENGINE).code == 6
    assert inside("apply", "t/t000.yaml", "--yes", "--max-share", "9%", *ENGINE).code == 6
    assert inside("apply", "t/t000.yaml", "--yes", "--max-share", "ten", *ENGINE).code == 2
    inside.write("knobctl.toml", "")
    assert inside("apply", "t/t000.yaml", "--yes", "--max-share", "10%", *ENGINE).code == 0


def test_a_fleet_document_with_errors_is_not_the_absence_of_limits(inside: Inside) -> None:
    """Even where only a tenant's file is named."""
    inside.write("knobctl.toml", "")
    inside.write("fleet.yaml", "fleet: default\nlimits: {max_tenants: many}\n")
    inside.write("acme.yaml", ACME)
    result = inside("apply", "acme.yaml", "--yes", *ENGINE)
    assert (result.code, "fleet.yaml" in result.err + result.out) == (4, True)
    assert inside.events() == []


@pytest.mark.parametrize(
    "broken", ["fleet: default\nlimits: [\n", "fleet: default\n---\nfleet: default\n"]
)
def test_a_fleet_that_cannot_be_read_is_not_the_absence_of_limits_either(
    inside: Inside, broken: str
) -> None:
    """Cut off, or claimed twice: nothing is pushed on a guess."""
    inside.write("knobctl.toml", "")
    inside.write("fleet.yaml", broken)
    inside.write("acme.yaml", ACME)
    result = inside("apply", "acme.yaml", "--yes", *ENGINE)
    assert (result.code, "fleet.yaml" in result.err) == (4, True)
    assert inside("set", "acme", "rrf_k=3", "--yes", *ENGINE).code == 4
    assert inside.events() == []


def test_a_context_marked_production_demands_a_reason_and_a_ticket(inside: Inside) -> None:
    """And consent for a reviewed plan; the ticket stands in the event and in the journal."""
    inside.write("acme.yaml", ACME)
    assert inside("context", "add", "prod", "--engine", "embedded:e.db", "--production").code == 0
    prod = ("--context", "prod")
    result = inside("apply", "acme.yaml", "--yes", *prod)
    assert (result.code, "context prod" in result.err, "--reason" in result.err) == (6, True, True)
    assert "--ticket ID" in result.err
    assert inside("apply", "acme.yaml", "--yes", "--reason", "r", *prod).code == 6
    assert inside("plan", "acme.yaml", "-o", "p.json", *prod).code == 0
    why = ("--reason", "r", "--ticket", "OPS-7")
    assert inside("apply", "p.json", *why, *prod).code == 6
    assert inside("apply", "p.json", *why, "--yes", *prod).code == 0
    assert [one["reason"] for one in inside.events()] == ["r [ticket: OPS-7]"]
    told = inside("runs", "--format", "json").json
    assert faults_of(told, "output-runs.v1.schema.json") == []
    assert (told["runs"][0]["reason"], told["runs"][0]["ticket"]) == ("r", "OPS-7")
    assert "ticket: OPS-7\n" in inside("runs", told["runs"][0]["run"]).out


def test_every_command_that_writes_needs_the_ticket_that_a_context_demands(inside: Inside) -> None:
    """set, unset, rollback and reset too; what does not match names the pattern."""
    add = ("context", "add", "c", "--engine", "embedded:e.db", "--ticket-pattern")
    assert inside(*add, "OPS-[0-9").code == 2
    assert inside(*add, "OPS-[0-9]+").code == 0
    shown = inside("context", "show", "c", "--format", "json").json
    assert faults_of(shown, "output-context.v1.schema.json") == []
    assert shown["contexts"][0]["ticket_pattern"] == "OPS-[0-9]+"
    commands = (
        ("set", "acme", "rrf_k=3"),
        ("unset", "acme", "rrf_k"),
        ("rollback", "acme", "--to", "r1"),
        ("reset", "acme"),
    )
    for number, command in enumerate(commands):
        for wrong in ((), ("--ticket", "OPS-x")):
            result = inside(*command, "--yes", *wrong, "--context", "c")
            assert (result.code, "OPS-[0-9]+" in result.err) == (6, True)
        done = inside(*command, "--yes", "--ticket", f"OPS-{number}", "--context", "c")
        assert done.code == 0, done.err
    assert [one["reason"] for one in inside.events()] == [
        f"[ticket: OPS-{number}]" for number in range(len(commands))
    ]


def test_a_fleet_demands_a_ticket_and_a_review_says_so(inside: Inside) -> None:
    """plan records it, check tells it, apply asks for it; a pattern that is none is a finding at its place."""
    inside.write("fleet.yaml", "fleet: default\nticket_pattern: 'OPS-[0-9]+'\n")
    inside.write("acme.yaml", ACME)
    told = inside("check", "--live", *ENGINE).out
    assert "apply --fleet default will ask: --ticket ID\n" in told
    assert inside("plan", "-o", "p.json", *ENGINE).code == 0
    assert json.loads(inside.read("p.json"))["plan"]["limits"]["tickets"] == ["OPS-[0-9]+"]
    refused = inside("apply", "p.json", *ENGINE)
    assert (refused.code, "fleet default (fleet.yaml:2)" in refused.err) == (6, True)
    assert inside("apply", "p.json", "--ticket", "OPS-1", *ENGINE).code == 0
    inside.write("fleet.yaml", "fleet: default\nticket_pattern: 'a)|(b'\n")
    (finding,) = inside("validate", "--format", "json").json["findings"]
    assert (finding["rule"], finding["line"], finding["column"]) == ("bad-value", 2, 17)


def test_two_runs_at_once_end_in_one_of_the_two_sets(inside: Inside) -> None:
    """No lock: the engine compares revisions. One wins; the other conflicts, or finds it and replaces it."""
    outcomes = set()
    for number in range(3):
        for name, k in (("x", 10 + number), ("y", 20 + number)):
            inside.write(f"{name}/acme.yaml", f"tenant: acme\nknobs: {{rrf_k: {k}}}\n")
        runs = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    "from knobctl.cli.main import main; main()",
                    "apply",
                    f"{name}/acme.yaml",
                    "--yes",
                    *ENGINE,
                ],
                cwd=inside.folder,
                env={"PYTHONPATH": str(ROOT), "HOME": str(inside.folder.parent)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for name in "xy"
        ]
        codes = [run.wait(60) for run in runs]
        outcomes |= set(codes)
        assert set(codes) <= {0, 7}
        assert 0 in codes
        assert inside.live()["rrf_k"] in {10 + number, 20 + number}
    assert outcomes <= {0, 7}


def test_a_fleet_is_pushed_in_seconds(inside: Inside) -> None:
    """300 tenants, each with an event of its own; a second run reads and writes nothing."""
    fleet_of(inside, 300)
    started = time.monotonic()
    result = inside("apply", "t", "--yes", "--format", "json", *ENGINE)
    assert result.code == 0
    assert result.json["outcomes"] == {"applied": 300}
    assert time.monotonic() - started < 30
    assert inside("apply", "t", "--yes", "--format", "json", *ENGINE).json["outcomes"] == {
        "unchanged": 300
    }


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_finishes_the_write_in_flight_and_begins_no_other(
    inside: Inside, number: signal.Signals, code: int
) -> None:
    """Every tenant is old or new; what was done is said; some written and some not is 9 before it is 130."""
    tenants = {f"token-{index}": f"t{index:03}" for index in range(6)}
    with GivenEngine(tenants=tenants) as engine:
        engine.fail(Fault.SLOW, times=1000, argument=0.3)
        inside.write("t/t000.yaml", "tenant: t000\nknobs: {rrf_k: 5}\n")
        inside.write("token", "token-0")
        with on_terminal(
            inside.folder, "apply", "t", "--yes", "--engine", engine.url, "--token-file", "token"
        ) as terminal:
            terminal.expect("-> 5")
            while not engine.writes():
                time.sleep(0.01)
            terminal.signal(number)
            assert terminal.end() == code
        assert "stopping: the writes in flight are finished" in terminal.shown
        assert "1 applied" in terminal.shown
        assert engine.sets["t000"] == {"rrfK": 5}


def test_a_signal_in_the_middle_of_a_fleet(inside: Inside) -> None:
    """Some written, some not: 9, and applying again converges with one event a tenant."""
    fleet_of(inside, 300)
    with on_terminal(
        inside.folder, "apply", "t", "--yes", "--parallelism", "2", *ENGINE
    ) as terminal:
        terminal.expect("/300")
        terminal.signal(signal.SIGINT)
        code = terminal.end()
    assert code in {9, 130}
    assert "Traceback" not in terminal.shown
    assert inside("apply", "t", "--yes", *ENGINE).code == 0
    events = inside("history", "--format", "json", *ENGINE).json["events"]
    assert len(events) == len({event["tenant_id"] for event in events}) == 300


@pytest.mark.parametrize(
    "fault",
    [
        Fault.DROP_FIELD,
        Fault.ROUND_FLOAT32,
        Fault.SWAP,
        Fault.NOT_STORED,
        Fault.EXTRA_FIELD,
        Fault.NEXT_DOUBLE,
        Fault.STALE_READ,
    ],
)
def test_what_reads_back_differently_is_unknown(
    inside: Inside, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P03: bit for bit, whatever the engine did with what it was sent; a set that stays stale too."""
    monkeypatch.setattr("knobctl.changes.read_back.READ_BACK_PAUSES_S", (0.01, 0.01))
    inside.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.15, mmr_lambda: 0.3}\n")
    with GivenEngine() as engine:
        is_read = fault is Fault.STALE_READ
        engine.fail(fault, method=GET if is_read else UPDATE, times=99 if is_read else 1)
        result = inside(
            "apply", "acme.yaml", "--yes", "--format", "json", *over_http(inside, engine)
        )
        assert (result.code, result.json["outcomes"]) == (10, {"unknown": 1})
        assert faults_of(result.json, SCHEMA) == []
        assert "reads back differently" in result.json["tenants"][0]["message"]
        assert engine.writes() == 1


def test_a_stale_answer_to_the_read_back_is_waited_out(inside: Inside) -> None:
    """Another process of the engine may answer from a moment ago: read again, and count nothing."""
    inside.write("acme.yaml", ACME)
    with GivenEngine() as engine:
        # The third read is the one after the write; the first two find the same empty set either way.
        engine.fail(Fault.STALE_READ, method=GET, times=3)
        result = inside("apply", "acme.yaml", "--yes", *over_http(inside, engine))
        assert (result.code, engine.writes()) == (0, 1)
        assert engine.troubles[0].times == 0


@pytest.mark.parametrize("fault", [Fault.CUT_AFTER, Fault.CUT_MID_REPLY, Fault.INTERNAL_AFTER])
def test_a_lost_answer_is_established_by_reading(inside: Inside, fault: Fault) -> None:
    """Applied, one write, and said to be established by reading back or by the engine's own answer."""
    inside.write("acme.yaml", ACME)
    with GivenEngine() as engine:
        engine.fail(fault)
        result = inside(
            "apply", "acme.yaml", "--yes", "--format", "json", *over_http(inside, engine)
        )
        assert (result.code, result.json["outcomes"]) == (0, {"applied": 1})
        assert len(engine.events) == 1


def test_an_engine_that_refuses_is_8_and_says_why(inside: Inside) -> None:
    """Nothing is written, provably; a token that is not known is told apart."""
    inside.write("acme.yaml", ACME)
    with GivenEngine() as engine:
        result = inside("apply", "acme.yaml", "--yes", *over_http(inside, engine, "nobody"))
        assert (result.code, engine.writes()) == (8, 0)
    assert inside("apply", "acme.yaml", "--yes", "--engine", "http://127.0.0.1:1").code == 8


def test_unknown_stored_fields_block_a_push(inside: Inside) -> None:
    """Named with their values; nothing is written."""
    inside.write("acme.yaml", ACME)
    with GivenEngine() as engine:
        engine.sets["acme"] = {"newKnob": 3}
        result = inside("apply", "acme.yaml", "--yes", *over_http(inside, engine))
        assert (result.code, "newKnob (3)" in result.err, engine.writes()) == (6, True, 0)


def test_the_environment_does_not_consent(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Consent is a flag of this very command line."""
    inside.write("acme.yaml", ACME)
    monkeypatch.setenv("KNOBCTL_YES", "1")
    assert inside("apply", "acme.yaml", *ENGINE).code == 6


def test_output_also_goes_to_files(inside: Inside) -> None:
    """--output writes the whole answer beside what is printed."""
    inside.write("acme.yaml", ACME)
    result = inside(
        "apply", "acme.yaml", "--yes", "--output", "json=o.json", "--output", "text=o.txt", *ENGINE
    )
    assert result.code == 0
    assert inside.read("o.txt") == result.out
    assert '"outcome": "ok"' in inside.read("o.json")
