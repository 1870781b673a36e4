"""Journals: a torn end is dropped, any other change of a byte is found, and nothing is half-read."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from knobctl.changes import run_folder
from knobctl.changes.journal import (
    Ended,
    Heading,
    Intent,
    Run,
)
from knobctl.changes.journal_reading import (
    DamagedJournalError,
    EmptyJournalError,
    read_listed,
    read_run,
)
from knobctl.changes.journal_writing import Journal, JournalError
from knobctl.changes.limits import Limits
from knobctl.changes.outcomes import Outcome, TenantOutcome
from knobctl.changes.plan import Plan, plan_records, plan_tenant, schema_digest
from knobctl.changes.planfile import recorded_plan
from knobctl.changes.run_folder import RunFolder
from knobctl.engine.interface import LiveSet
from knobctl.errors import ConflictError, InputError, UsageError
from knobctl.knobs import load_catalogue

CATALOGUE = load_catalogue()
HEADING = Heading(
    run="cafe0001",
    command="apply",
    started_at="2026-11-30T00:00:00+00:00",
    made_by="knobctl",
    actor="anna",
    folder="/",
    engine="embedded:",
    place="",
    fleet=None,
    reason="why",
    aside={"unchanged": 2},
)


def intent(tenant: str) -> Intent:
    return Intent(
        tenant=tenant,
        base_revision="r1",
        before={"rrf_k": 30},
        after={"retrieval_min_score": 0.1 + 0.2},
        idempotency_key=f"key-{tenant}",
        reason="why",
    )


def applied(tenant: str) -> TenantOutcome:
    return TenantOutcome(
        tenant=tenant, outcome=Outcome.APPLIED, revision="r2", changed_field_paths=("rrf_k",)
    )


def begin(journal: Journal, *tenants: str) -> None:
    plan = {"tenants": [{"tenant": tenant} for tenant in tenants]}
    heading = HEADING.as_record() | {"run": journal.run}
    journal.begin(heading, {"kind": "plan", "plan": plan})


def small_journal(folder: Path) -> bytes:
    """A run of two tenants: one is applied, one was being written."""
    with closing(RunFolder(folder).new("cafe0001")) as journal:
        begin(journal, "a", "b")
        journal.intend(intent("a"))
        journal.tell(applied("a"))
        journal.intend(intent("b"))
    return (folder / "cafe0001.jsonl").read_bytes()


def seen(run: Run) -> dict[str, Outcome]:
    return {one.tenant: one.outcome for one in run.outcomes()}


def test_what_was_noted_is_read_back(tmp_path: Path) -> None:
    """Applied stays, a write that was on its way is not known, the numbers add up."""
    run = read_run(BytesIO(small_journal(tmp_path)), "j")
    assert seen(run) == {"a": Outcome.APPLIED, "b": Outcome.UNKNOWN}
    assert run.tally() == {"unchanged": 2, "applied": 1, "unknown": 1}
    assert (run.left, run.is_finished) == (["b"], False)
    assert run.tenants["b"].intent == intent("b")


def test_a_journal_is_its_owners_alone(tmp_path: Path) -> None:
    """0600 in 0700, whatever the mask: a set may say what nobody else is to know."""
    before = os.umask(0)
    try:
        small_journal(tmp_path / "runs")
    finally:
        os.umask(before)
    assert (tmp_path / "runs").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "runs" / "cafe0001.jsonl").stat().st_mode & 0o777 == 0o600


def test_cut_at_every_byte_the_whole_records_before_it_count(tmp_path: Path) -> None:
    """P09: never a traceback, never half a record."""
    raw = small_journal(tmp_path)
    ends = [at + 1 for at, byte in enumerate(raw) if byte == ord("\n")]
    states = {
        2: {"a": Outcome.SKIPPED, "b": Outcome.SKIPPED},
        3: {"a": Outcome.UNKNOWN, "b": Outcome.SKIPPED},
        4: {"a": Outcome.APPLIED, "b": Outcome.SKIPPED},
        5: {"a": Outcome.APPLIED, "b": Outcome.UNKNOWN},
    }
    for size in range(len(raw) + 1):
        whole = sum(end <= size for end in ends)
        if whole < 2:
            with pytest.raises(EmptyJournalError, match="nothing was sent"):
                read_run(BytesIO(raw[:size]), "j")
            continue
        run = read_run(BytesIO(raw[:size]), "j")
        assert (seen(run), run.size) == (states[whole], ends[whole - 1])


def test_a_plan_of_many_tenants_stands_in_several_records(tmp_path: Path) -> None:
    """Until all of them are there nothing is sent, and a run that was killed by then is none."""
    names = [f"t{number:04}" for number in range(1203)]
    sets = [LiveSet(tenant=name, knobs={"rrf_k": 30}, revision="r1") for name in names]
    plan = Plan(
        engine="embedded:",
        fleet=None,
        schema_digest=schema_digest(CATALOGUE),
        managed=len(names),
        limits=Limits(),
        tenants=tuple(plan_tenant(CATALOGUE, live, {"rrf_k": 31}) for live in sets),
        unchanged=7,
    )
    with closing(RunFolder(tmp_path).new("cafe0001")) as journal:
        journal.begin(HEADING.as_record(), plan=plan_records(plan))
    lines = journal.path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 4
    for whole in range(4):
        with pytest.raises(EmptyJournalError):
            read_run([*lines[:whole], lines[whole][:-1]], "j")
    run = RunFolder(tmp_path).read("cafe0001")
    assert (run.left, list(run.tenants)) == (names, names)
    recorded = recorded_plan(run.plan, run.planned_tenants(), "j", CATALOGUE)
    assert recorded == replace(plan, unchanged=0)


def test_a_flipped_bit_at_every_byte_is_found(tmp_path: Path) -> None:
    """P09: or it tears the last line's end off, and then that line alone is dropped."""
    raw = small_journal(tmp_path)
    for at in range(len(raw)):
        for bit in range(8):
            flipped = bytearray(raw)
            flipped[at] ^= 1 << bit
            if at == len(raw) - 1:
                assert seen(read_run(BytesIO(flipped), "j"))["b"] is Outcome.SKIPPED
            else:
                with pytest.raises(DamagedJournalError, match=r"^j:\d+ is damaged"):
                    read_run(BytesIO(flipped), "j")


def test_a_missing_a_doubled_and_a_swapped_line_are_found(tmp_path: Path) -> None:
    """Each is chained to all before it."""
    lines = small_journal(tmp_path).splitlines(keepends=True)
    for at in range(len(lines) - 1):
        for changed in (
            lines[:at] + lines[at + 1 :],
            [*lines[:at], lines[at], *lines[at:]],
            [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]],
        ):
            with pytest.raises(DamagedJournalError):
                read_run(changed, "j")


def test_a_run_goes_on_after_a_torn_end(tmp_path: Path) -> None:
    """What was torn is cut off before the next record, which is chained to the last whole one."""
    raw = small_journal(tmp_path)
    (tmp_path / "cafe0001.jsonl").write_bytes(raw[:-40])
    run, journal = RunFolder(tmp_path).reopen("cafe")
    with closing(journal):
        assert seen(run) == {"a": Outcome.APPLIED, "b": Outcome.SKIPPED}
        journal.intend(intent("b"))
        journal.tell(applied("b"))
    assert RunFolder(tmp_path).read("cafe0001").is_finished


def test_one_run_is_written_by_one_process(tmp_path: Path) -> None:
    """Whoever comes second is told; when the first one is gone the lock is too."""
    folder = RunFolder(tmp_path)
    with closing(folder.new("cafe0001")) as journal:
        begin(journal, "a")
        with pytest.raises(ConflictError, match="under way in another process"):
            folder.reopen("cafe0001")
    _, again = folder.reopen("cafe0001")
    again.close()


def test_many_threads_write_one_chain(tmp_path: Path) -> None:
    """The disk is waited for by all, and the lines do not mingle."""
    names = [f"t{number:03}" for number in range(200)]

    def write(tenant: str) -> None:
        journal.intend(intent(tenant))
        journal.tell(applied(tenant))

    with closing(RunFolder(tmp_path).new("cafe0001")) as journal:
        begin(journal, *names)
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(write, names))
    run = RunFolder(tmp_path).read("cafe0001")
    assert run.is_finished
    assert run.tally() == {"unchanged": 2, "applied": 200}


def test_a_full_disk_is_an_error_before_anything_is_sent() -> None:
    """P10: /dev/full takes nothing; the words name the cause, and nothing is intended afterwards."""
    journal = Journal(os.open("/dev/full", os.O_WRONLY), Path("/dev/full"), run="x")
    with closing(journal):
        with pytest.raises(JournalError, match="No space left on device"):
            journal.intend(intent("a"))
        journal.tell(applied("a"))
        assert journal.fault is not None
        with pytest.raises(JournalError):
            journal.intend(intent("b"))


def test_a_run_is_named_by_as_much_of_it_as_no_other_has(tmp_path: Path) -> None:
    """Too little names both, nothing names none."""
    folder = RunFolder(tmp_path)
    for run in ("abc10000", "abc20000"):
        with closing(folder.new(run)) as journal:
            begin(journal, "a")
    assert folder.read("abc2").heading.run == "abc20000"
    with pytest.raises(UsageError, match="beginning of 2 runs: abc10000, abc20000"):
        folder.read("abc")
    for unknown in ("", "x", "../abc1", "abc10000.jsonl"):
        with pytest.raises(UsageError, match="there is no run"):
            folder.read(unknown)


def test_a_journal_of_another_format_is_not_guessed_at(tmp_path: Path) -> None:
    """Its checksums may be right."""
    with closing(RunFolder(tmp_path).new("cafe0001")) as journal:
        journal.begin(HEADING.as_record() | {"format_version": 2})
    with pytest.raises(InputError, match="journal format 2; this knobctl reads format 1"):
        RunFolder(tmp_path).read("cafe0001")


def test_old_finished_runs_make_way_and_unfinished_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last finished ones are kept; what was not finished is nobody's to throw away."""
    assert run_folder.KEPT == 200
    monkeypatch.setattr(run_folder, "KEPT", 5)
    folder = RunFolder(tmp_path)
    for number in range(8):
        with closing(folder.new(f"{number:08x}")) as journal:
            begin(journal, "a")
            if number != 1:
                journal.intend(intent("a"))
                journal.tell(applied("a"))
                journal.end(left=0, ended_at="", outcomes={"applied": 1})
        os.utime(journal.path, (number, number))
    with closing(folder.new("ffffffff")):
        pass
    left = sorted(path.stem for path in tmp_path.iterdir())
    assert left[:3] == ["00000001", "00000003", "00000004"]
    assert len(left) == 5 + 2


def test_journals_of_finished_runs_take_no_more_than_a_bound_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last ones that fit stay, the last of all however large it is, and unfinished ones whatever they take."""
    folder = RunFolder(tmp_path)
    for number in range(6):
        with closing(folder.new(f"{number:08x}")) as journal:
            begin(journal, *(f"t{one}" for one in range(100 if number == 0 else 20)))
            journal.intend(intent("t1"))
            journal.tell(applied("t1"))
            if number:
                journal.end(left=0, ended_at="", outcomes={"applied": 1})
        os.utime(journal.path, (number, number))
    size = (tmp_path / "00000005.jsonl").stat().st_size
    for bound, left in ((5 * size, "12345"), (2 * size, "45"), (size - 1, "5")):
        monkeypatch.setattr(run_folder, "KEPT_BYTES", bound)
        with closing(folder.new("ffffffff")) as journal:
            journal.path.unlink()
        assert "".join(path.stem[-1] for path in sorted(tmp_path.iterdir())) == f"0{left}"


@pytest.mark.parametrize("told", ["failed", "skipped", "conflict", "applied", "unknown", None])
def test_runs_that_wrote_nothing_do_not_pile_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str | None
) -> None:
    """A pipeline that is refused each time leaves a journal each time; one that was killed says nothing."""
    monkeypatch.setattr(run_folder, "KEPT", 2)
    folder = RunFolder(tmp_path)
    for number in range(5):
        with closing(folder.new(f"{number:08x}")) as journal:
            begin(journal, "a", "b")
            if told:
                journal.end(left=1, ended_at="", outcomes={"unchanged": 1, told: 1})
    kept = 5 if told in {"applied", "unknown", None} else 3
    assert len(list(tmp_path.iterdir())) == kept


def test_a_clock_that_steps_back_does_not_make_the_last_run_the_oldest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P34: runs are ordered by their number, whatever their files say of the time."""
    monkeypatch.setattr(run_folder, "KEPT", 3)
    folder = RunFolder(tmp_path)
    for number in range(6):
        mine = folder.next_number()
        assert mine == number + 1
        with closing(folder.new(f"{number:08x}")) as journal:
            plan: dict[str, list[str]] = {"tenants": []}
            journal.begin(HEADING.as_record() | {"number": mine}, {"kind": "plan", "plan": plan})
            journal.end(left=0, ended_at="", outcomes={})
        os.utime(journal.path, (10**9 - number * 10**6,) * 2)
    with closing(folder.new("ffffffff")):
        pass
    left = sorted(path.stem for path in tmp_path.iterdir())
    assert left == ["00000003", "00000004", "00000005", "ffffffff"]
    assert folder.next_number() == 7  # also with a journal that does not say its own yet


@pytest.mark.parametrize("left", [0, 1])
def test_a_list_needs_the_first_record_and_the_last(tmp_path: Path, left: int) -> None:
    """What they say is what the whole says; a damaged line between them is found all the same."""
    with closing(RunFolder(tmp_path).new("cafe0001")) as journal:
        begin(journal, "a", "b")
        journal.intend(intent("a"), intent("b"))
        for tenant in ("a", "b")[left:]:
            journal.tell(applied(tenant))
        outcomes = {"unchanged": 2, "applied": 2 - left} | ({"unknown": 1} if left else {})
        journal.end(left=left, ended_at="", outcomes=outcomes)
    raw = journal.path.read_bytes()
    whole, listed = read_run(BytesIO(raw), "j"), read_listed(BytesIO(raw), "j")
    assert isinstance(listed, Ended) is (left == 0)
    assert (listed.tally(), listed.heading) == (whole.tally(), whole.heading)
    assert listed.is_finished is whole.is_finished is (left == 0)
    with pytest.raises(DamagedJournalError):
        read_listed(BytesIO(raw.replace(b"key-a", b"key-z")), "j")


@pytest.mark.parametrize(
    "record",
    [{"kind": "outcome", "tenant": "nobody"}, {"kind": "intent"}, {"kind": "plan"}, {}],
    ids=str,
)
def test_a_record_that_nobody_writes_is_no_traceback(
    tmp_path: Path, record: dict[str, object]
) -> None:
    """Checksums keep accidents out, not a hand that makes them anew."""
    with closing(RunFolder(tmp_path).new("cafe0001")) as journal:
        begin(journal, "a")
        journal.begin(record)
    with pytest.raises(InputError, match=r"cafe0001\.jsonl:3 is no record of this knobctl"):
        RunFolder(tmp_path).read("cafe0001")
    (tmp_path / "cafe0001.jsonl").unlink()
    with closing(RunFolder(tmp_path).new("cafe0001")) as journal:
        journal.begin({"format": "knobctl-run", "format_version": 1})
    with pytest.raises(InputError, match="is no record of this knobctl"):
        RunFolder(tmp_path).read("cafe0001")


def test_each_record_is_a_line_of_json(tmp_path: Path) -> None:
    """Anybody can read it with their own tools."""
    records = [json.loads(line)["record"] for line in small_journal(tmp_path).splitlines()]
    assert [one["kind"] for one in records] == ["run", "plan", "intent", "outcome", "intent"]
