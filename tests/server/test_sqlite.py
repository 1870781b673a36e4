"""The embedded store as a file: made, brought forward, damaged, shared."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.errors import EngineError, UsageError
from knobctl.knobs import Catalogue, load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.refusal import ServiceError
from knobctl.server.store import open_store
from knobctl.server.store.interface import KnobsRow
from knobctl.server.stored import Stored, opened, sealed
from tests.engine.chains import broken_links
from tests.server.catalogues import NEW_KNOB, changed_catalogue
from tests.server.doors import every_event

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knobctl.server.knobs import KnobsService

ME = local_caller("anna")
REPLACE, REST = "REPLACE INTO config_audit_events", "occurred_at, actor, event"
GIVEN = {"retrieval_min_score": 0.15, "retrieval_vector_top_k": 32}


@pytest.fixture
def file(tmp_path: Path, open_at: Callable[..., KnobsService]) -> Path:
    """A store with two tenants and four events, closed."""
    path = tmp_path / "engine.db"
    service = open_at(path)
    for tenant in ("acme", "bolt"):
        service.update(ME, tenant, GIVEN)
        service.update(ME, tenant, {"gate_mode": "DISABLED", "rrf_weight_vector": 1.5})
    service.close()
    return path


def test_the_file_is_the_users_own_and_durable(file: Path) -> None:
    """Nobody else reads it; it is a write-ahead log flushed on every commit."""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    store = open_store(f"embedded:{file}", load_catalogue())
    with store.reading() as session:
        connection = session._connection  # type: ignore[attr-defined]  # asked for what only SQLite has
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()


def test_opening_again_keeps_everything(file: Path, open_at: Callable[..., KnobsService]) -> None:
    """Sets, revisions and events are there after a restart."""
    service = open_at(file)
    assert service.get(ME, "acme").knobs == {"rrf_weight_vector": 1.5, "gate_mode": "DISABLED"}
    assert service.get(ME, "acme").revision == "r2"
    assert len(service.audit_events(ME).items) == 4


def test_a_file_may_have_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_at: Callable[..., KnobsService]
) -> None:
    """Also one that SQLite would take for something else."""
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:x?mode=memory", "é ü.db"):
        service = open_at(name)
        service.update(ME, "acme", GIVEN)
        service.close()
        assert (tmp_path / name).is_file()
        assert open_at(name).get(ME, "acme").knobs == GIVEN


def test_an_older_sqlite_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_at: Callable[..., KnobsService]
) -> None:
    """Without STRICT tables the CHECKs would not hold."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(EngineError, match=r"the store needs 3\.37 or newer"):
        open_at(tmp_path / "engine.db")
    assert not (tmp_path / "engine.db").exists()


def test_other_stores_are_named_as_not_offered() -> None:
    """A URL of another kind is the caller's mistake, and is not echoed: it may hold a password."""
    with pytest.raises(UsageError) as refused:
        open_store("postgres://user:secret@host/db", load_catalogue())
    assert "embedded:FILE" in str(refused.value.hint)
    assert "secret" not in refused.value.message


@pytest.mark.parametrize("where", ["missing/engine.db", "."])
def test_a_file_that_cannot_be_opened_says_why(
    tmp_path: Path, where: str, open_at: Callable[..., KnobsService]
) -> None:
    """A missing folder and a folder in the place of the file."""
    with pytest.raises(EngineError, match=r"cannot be opened: (No such file|Is a directory)"):
        open_at(tmp_path / where)


class TestBroughtForward:
    """A store meets another knob schema than the one that it was made with."""

    def test_a_new_knob_becomes_a_column_and_keeps_the_rest(
        self, file: Path, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Old sets have it unset, and new ones can have it."""
        newer = changed_catalogue(tmp_path, lambda props: props.update(new_knob=NEW_KNOB))
        service = open_at(file, newer)
        assert service.get(ME, "acme").knobs == {"rrf_weight_vector": 1.5, "gate_mode": "DISABLED"}
        assert not service.get(ME, "acme").last_good
        answer = service.update(ME, "acme", {"new_knob": 9})
        assert answer.changed_field_paths == ("gate_mode", "new_knob", "rrf_weight_vector")
        assert broken_links(service.audit_events(ME, tenant="acme").items) == []

    def test_wider_bounds_are_taken_over(
        self, file: Path, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """The CHECK of the column follows the schema."""
        wider = changed_catalogue(
            tmp_path, lambda props: props["retrieval_min_score"].update(maximum=2)
        )
        open_at(file, wider).update(ME, "acme", {"retrieval_min_score": 1.5})

    def test_values_that_the_schema_no_longer_takes_stop_it(
        self, file: Path, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Nothing is cut to size; the older schema still opens the file."""
        narrower = changed_catalogue(
            tmp_path,
            lambda props: props["rrf_weight_vector"]["anyOf"][1].update(maximum=1),
        )
        with pytest.raises(EngineError, match="values that the knob schema no longer takes"):
            open_at(file, narrower)
        assert open_at(file).get(ME, "acme").knobs["rrf_weight_vector"] == 1.5

    def test_a_knob_that_the_schema_does_not_know_stops_it(
        self, file: Path, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """An older knobctl does not drop what a newer one stored."""
        newer = changed_catalogue(tmp_path, lambda props: props.update(new_knob=NEW_KNOB))
        open_at(file, newer).update(ME, "acme", {"new_knob": 9})
        with pytest.raises(EngineError, match="1 knob that the schema does not know: new_knob"):
            open_at(file)
        assert open_at(file, newer).get(ME, "acme").knobs == {"new_knob": 9}

    def test_a_newer_store_is_refused(
        self, file: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """A schema of tomorrow is not guessed at."""
        _execute(file, "PRAGMA user_version = 1000")
        with pytest.raises(EngineError, match="written by a newer knobctl"):
            open_at(file)

    def test_another_programs_database_is_left_alone(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """A file with tables of its own is none of ours, whatever its version says."""
        path = tmp_path / "other.db"
        _execute(path, "CREATE TABLE notes (text)")
        with pytest.raises(EngineError, match="database of another program"):
            open_at(path)
        with closing(sqlite3.connect(path)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master").fetchall()
        assert names == [("notes",)]

    def test_an_empty_file_is_no_new_store(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """It may be a store that was cut off: no defaults in its place, and the way out is said."""
        path = tmp_path / "engine.db"
        path.touch()
        with pytest.raises(EngineError, match="is empty") as refused:
            open_at(path)
        assert "to begin a new store, remove the file" in str(refused.value.hint)
        assert path.stat().st_size == 0


OPENING = """
import sys
from datetime import UTC, datetime
from knobctl.knobs import Catalogue, load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.knobs import open_service
sys.stdin.readline()
service = open_service(sys.argv[1], load_catalogue(), clock=lambda: datetime.now(UTC))
service.update(local_caller(sys.argv[2]), "acme", {"rrf_k": 7})
"""


def test_processes_may_make_the_file_at_once(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """Eight processes open a file that is not there; all get in, all write, one chain."""
    path = tmp_path / "engine.db"
    command = [sys.executable, "-c", OPENING, f"embedded:{path}"]
    running = [
        subprocess.Popen([*command, f"p{n}"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for n in range(8)
    ]
    for process in running:
        assert process.stdin
        process.stdin.write(b"go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[1].decode() for process in running]
    assert [process.returncode for process in running] == [0] * 8, said
    events = open_at(path).audit_events(ME).items
    assert sorted(event["actor"] for event in events) == [f"p{n}" for n in range(8)]
    assert broken_links(events) == []


class TestTheAuditLogIsAppendOnly:
    """What the triggers refuse, in plain SQL on the file."""

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE config_audit_events SET actor = 'mallory'",
            "DELETE FROM config_audit_events WHERE sequence = 4",
            f"{REPLACE} (sequence, tenant_id, revision, {REST}) VALUES (1, 'acme', 1, '', '', '{{}}')",
            f"{REPLACE} (tenant_id, revision, {REST}) VALUES ('acme', 1, '', '', '{{}}')",
        ],
    )
    def test_a_change_of_the_past_is_refused(self, file: Path, statement: str) -> None:
        """Edit, removal and replacement."""
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            _execute(file, statement)

    def test_a_removed_tail_leaves_a_gap(
        self, file: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Whoever drops the triggers and the newest event is found out by the next one."""
        _execute(file, "DROP TRIGGER config_audit_events_stay")
        _execute(file, "DELETE FROM config_audit_events WHERE tenant_id = 'acme' AND revision = 2")
        service = open_at(file)
        service.update(ME, "acme", {})
        events = service.audit_events(ME, tenant="acme").items
        assert [event["revision"] for event in events] == ["r1", "r3"]
        assert [event["revision"] for event, _ in broken_links(events)] == ["r3"]


class TestDamage:
    """A damaged store is noticed; what it holds is never replaced by defaults."""

    @pytest.mark.parametrize(
        "damage",
        [
            "UPDATE context_engine_knobs SET rrf_weight_vector = 2.5 WHERE tenant_id = 'acme'",
            "UPDATE context_engine_knobs SET gate_mode = 'ENABLED' WHERE tenant_id = 'acme'",
            "UPDATE context_engine_knobs SET revision = 9 WHERE tenant_id = 'acme'",
            "UPDATE context_engine_knobs SET updated_by = 'mallory' WHERE tenant_id = 'acme'",
            "UPDATE context_engine_knobs SET seal = '' WHERE tenant_id = 'acme'",
            "DELETE FROM context_engine_knobs WHERE tenant_id = 'acme'",
        ],
    )
    def test_a_set_that_was_tampered_with_gives_way_to_the_last_good_one(
        self,
        file: Path,
        damage: str,
        open_at: Callable[..., KnobsService],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """The audit log proves what was in force; the answer and the log say that it is that."""
        _execute(file, damage)
        service = open_at(file)
        stored = service.get(ME, "acme")
        assert stored.knobs == {"rrf_weight_vector": 1.5, "gate_mode": "DISABLED"}
        assert stored.last_good
        assert "'acme' is damaged" in caplog.text
        assert not service.get(ME, "bolt").last_good

    def test_a_list_tells_the_last_good_set_of_a_tenant_whose_row_is_gone(
        self, file: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """A tenant that a list left out would pass for one at the defaults; pages break anywhere."""
        service = open_at(file)
        for number in range(5):
            service.update(ME, f"t{number}", {"rrf_k": number + 1})
        before = {one.tenant: (one.knobs, one.revision) for one in service.list(ME).items}
        for gone in ("'acme'", "'t1', 't2'", "'t4'", "'bolt'", "'t0', 't3'"):
            _execute(file, f"DELETE FROM context_engine_knobs WHERE tenant_id IN ({gone})")
            for size in (0, 1, 2, 3):
                listed: list[Stored] = []
                token = ""
                while True:
                    page = service.list(ME, page_size=size, page_token=token)
                    listed += page.items
                    token = page.next_page_token
                    if not token:
                        break
                assert {one.tenant: (one.knobs, one.revision) for one in listed} == before
                assert [one.tenant for one in listed] == sorted(before)
        assert all(one.last_good for one in service.list(ME).items)
        few = replace(ME, tenants=frozenset({"t1", "t3", "never"}))
        assert [one.tenant for one in service.list(few).items] == ["t1", "t3"]

    def test_a_write_heals_it(self, file: Path, open_at: Callable[..., KnobsService]) -> None:
        """The next full replace compares with the last good set and stores a whole row again."""
        _execute(file, "UPDATE context_engine_knobs SET rrf_weight_vector = 2.5")
        service = open_at(file)
        answer = service.update(ME, "acme", {"gate_mode": "DISABLED"}, expected_revision="r2")
        assert answer.changed_field_paths == ("rrf_weight_vector",)
        assert not service.get(ME, "acme").last_good
        assert broken_links(service.audit_events(ME, tenant="acme").items) == []

    def test_a_running_engine_keeps_the_set_in_force(
        self, file: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """What a call has seen stays in force although the row under it is damaged or gone."""
        service = open_at(file)
        before = service.get(ME, "acme")
        _execute(file, "UPDATE context_engine_knobs SET rrf_weight_vector = 2.5")
        assert service.get(ME, "acme") == before
        _execute(file, "DELETE FROM context_engine_knobs")
        assert service.get(ME, "acme").knobs == before.knobs

    def test_a_running_engine_survives_the_loss_of_its_file(
        self, file: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Where the store cannot be asked, the last good set stands, marked; nothing is made up."""
        service = open_at(file)
        before = service.get(ME, "acme")
        service.close()
        file.write_bytes(b"no database, but long enough to look at" * 200)
        after = service.get(ME, "acme")
        assert (after.knobs, after.revision, after.last_good) == (before.knobs, "r2", True)
        for call in (
            lambda: service.get(ME, "bolt"),
            lambda: service.list(ME),
            lambda: service.audit_events(ME),
            lambda: service.update(ME, "acme", {}),
            lambda: service.authenticate(f"kct_{'0' * 16}_{'A' * 43}"),
            lambda: service.new_token(ME),
        ):
            with pytest.raises(ServiceError) as refused:
                call()
            assert refused.value.code == "unavailable"
            assert str(file) not in refused.value.message

    @pytest.mark.parametrize(
        "value", [b"\x00", None, "1.5", float("nan"), float("inf"), 2**62, "\ud800", 7.5]
    )
    def test_a_row_of_the_wrong_kind_is_damaged(self, catalogue: Catalogue, value: object) -> None:
        """Whatever a damaged record holds in the place of a number, the row does not open."""
        unset: dict[str, object] = {knob.name: knob.unset for knob in catalogue}
        row = KnobsRow(
            tenant="acme",
            values=unset | {"rrf_k": 7},
            revision=1,
            updated_at="",
            updated_by="anna",
            head_hash="",
            seal="",
        )
        whole = sealed(row, catalogue)
        assert opened(whole, catalogue)
        assert opened(replace(whole, values=unset | {"rrf_k": value}), catalogue) is None
        assert opened(replace(whole, updated_by=value), catalogue) is None  # type: ignore[arg-type]  # what a damaged record gives

    def test_a_zero_below_zero_is_damage(self, catalogue: Catalogue) -> None:
        """It equals the unset value and is another one; of a 0 in either type the row is whole."""
        unset: dict[str, object] = {knob.name: knob.unset for knob in catalogue}
        row = KnobsRow(
            tenant="acme",
            values=unset,
            revision=1,
            updated_at="",
            updated_by="anna",
            head_hash="",
            seal="",
        )
        for zero in (0, 0.0):
            stored = opened(
                sealed(replace(row, values=unset | {"mmr_lambda": zero}), catalogue), catalogue
            )
            assert stored
            assert stored.knobs == {}
        odd = sealed(replace(row, values=unset | {"mmr_lambda": -0.0}), catalogue)
        assert opened(odd, catalogue) is None

    def test_an_event_that_is_no_json_is_said_to_be_damaged(
        self, file: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Not an empty history, and not a crash."""
        _execute(file, "DROP TRIGGER config_audit_events_keep")
        for event in ("{", "[]", "null"):
            _execute(file, f"UPDATE config_audit_events SET event = '{event}'")
            with pytest.raises(ServiceError, match="cannot be asked"):
                open_at(file).audit_events(ME)

    def test_where_nothing_is_left_to_trust_it_refuses(
        self, file: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Row and event both damaged: no set at all is better than defaults."""
        _execute(file, "DROP TRIGGER config_audit_events_keep")
        _execute(file, "UPDATE config_audit_events SET event = replace(event, '1.5', '2.5')")
        _execute(file, "UPDATE context_engine_knobs SET rrf_weight_vector = 2.5")
        service = open_at(file)
        for call in (
            lambda: service.get(ME, "acme"),
            lambda: service.list(ME),
            lambda: service.update(ME, "acme", {}),
        ):
            with pytest.raises(ServiceError, match="no defaults are served"):
                call()

    def test_a_truncated_file_is_refused_or_whole(
        self, file: Path, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Cut anywhere, to nothing or by one byte, the file is refused, or its sets are right."""
        size = file.stat().st_size
        for length in [0, 1, 15, 16, 99, 100, *range(512, size, 1536), size - 1]:
            cut = tmp_path / f"cut-{length}.db"
            cut.write_bytes(file.read_bytes()[:length])
            assert _answers(open_at, cut) <= RIGHT, f"cut to {length} bytes"

    def test_a_flipped_bit_is_refused_or_harmless(
        self, file: Path, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Wherever one bit flips, a set is the right one, or there is none: never another."""
        whole = bytearray(file.read_bytes())
        for offset in range(18, len(whole), 211):
            flipped = tmp_path / "flipped.db"
            for stray in tmp_path.glob("flipped.db*"):
                stray.unlink()
            whole[offset] ^= 1 << offset % 8
            flipped.write_bytes(whole)
            whole[offset] ^= 1 << offset % 8
            assert _answers(open_at, flipped) <= RIGHT, f"bit flipped at {offset}"


RIGHT = {"refused", json.dumps({"gate_mode": "DISABLED", "rrf_weight_vector": 1.5}, sort_keys=True)}
"""What a damaged store may answer."""


def _answers(open_at: Callable[..., KnobsService], path: Path) -> set[str]:
    """What both tenants' sets are in a store, or that it refuses."""
    try:
        service = open_at(path)
    except EngineError:
        return {"refused"}
    answers = set()
    for tenant in ("acme", "bolt"):
        try:
            stored = service.get(ME, tenant)
        except ServiceError:
            answers.add("refused")
        else:
            answers.add(json.dumps({**stored.knobs}, sort_keys=True))
    service.close()
    return answers


WRITING = """
import resource, signal, sys
from datetime import UTC, datetime
from knobctl.knobs import Catalogue, load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.knobs import open_service
from knobctl.server.refusal import ServiceError
service = open_service(sys.argv[1], load_catalogue(), clock=lambda: datetime.now(UTC))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
number = 0
while True:
    number += 1
    try:
        service.update(local_caller("loop"), "acme", {"rrf_k": number % 1000 + 1})
    except ServiceError as error:
        print(error.code.value, error.message, flush=True)
        break
    print(number, flush=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


@pytest.mark.parametrize("limit", [8192, 100_000, 300_000])
def test_a_full_disk_writes_nothing_more(
    tmp_path: Path, limit: int, open_at: Callable[..., KnobsService]
) -> None:
    """The write that finds no room is refused in words; what was answered before it is there, no more."""
    path = tmp_path / "engine.db"
    open_at(path).close()
    done = subprocess.run(
        [sys.executable, "-c", WRITING, f"embedded:{path}", str(limit)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    *written, refused = done.stdout.splitlines()
    assert refused == "unavailable the store cannot be written to; nothing was written"
    assert "Traceback" not in done.stderr
    _assert_holds(open_at(path), len(written))


def test_a_killed_writer_leaves_a_whole_store(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """SIGKILL at any moment: everything that was answered is there, at most the write in flight besides."""
    path = tmp_path / "engine.db"
    open_at(path).close()
    known = 0
    for kills in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITING, f"embedded:{path}", str(1 << 30)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        for _ in range(3 + 7 * kills):
            process.stdout.readline()
        process.kill()
        answered = 3 + 7 * kills + len(process.communicate()[0].splitlines())
        service = open_at(path)
        found = len(every_event(service, ME))
        assert known + answered <= found <= known + answered + 1
        _assert_holds(service, found)
        known = found
        service.close()


def _assert_holds(service: KnobsService, number: int) -> None:
    """As many events as changes, one chain, and the set that the last of them left."""
    events = every_event(service, ME)
    assert len(events) == number
    assert broken_links(events) == []
    stored = service.get(ME, "acme")
    assert not stored.last_good
    assert stored.knobs == (events[-1]["after"] if events else {})


def test_a_copy_of_a_closed_file_is_a_backup(
    file: Path, tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """After close nothing is left beside the file that belongs to it."""
    copied: Any = shutil.copy(file, tmp_path / "copy.db")
    assert open_at(copied).get(ME, "acme").revision == "r2"


def _execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
