"""The store in PostgreSQL: made, brought forward, shared, and lost at the worst moment."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine
from sqlalchemy.exc import SQLAlchemyError

import knobctl.server.store
from knobctl.errors import EngineError, UsageError
from knobctl.knobs import Catalogue, Knob, KnobType, load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.knobs import KnobsService, open_service
from knobctl.server.opening import open_services
from knobctl.server.refusal import ServiceError
from knobctl.server.retrieval.model import Text
from knobctl.server.store import open_store, postgres, shown
from knobctl.server.store.interface import OutcomeUnknownError, StoreUnavailableError
from knobctl.server.store.postgres import PostgresStore
from knobctl.server.store.postgres_schema import NEWEST
from knobctl.server.store.postgres_tables import METADATA, AnyText, knobs_table
from tests.engine.chains import broken_links
from tests.server.catalogues import NEW_KNOB, changed_catalogue
from tests.server.corpora import IDENTITY, chunk, write
from tests.server.services import Line, postgres_url
from tests.server.test_concurrency import COUNTING, KNOB
from tests.server.test_sqlite import OPENING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ME = local_caller("anna")
GIVEN = {"retrieval_min_score": 0.15, "retrieval_vector_top_k": 32}


@pytest.fixture
def url() -> str:
    """A database that nobody has used yet."""
    return postgres_url()


@pytest.fixture
def opened(catalogue: Catalogue) -> Iterator[Callable[..., KnobsService]]:
    """Opens services, and closes them."""
    services: list[KnobsService] = []

    def open_(url: str, knobs: Catalogue = catalogue) -> KnobsService:
        services.append(open_service(url, knobs, clock=lambda: datetime.now(UTC)))
        return services[-1]

    yield open_
    for service in services:
        service.close()


@pytest.fixture
def line(url: str) -> Iterator[Line]:
    """The same database by a line that can be cut."""
    opened = Line(url)
    yield opened
    opened.close()


def run_sql(url: str, *statements: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements[:-1]:
            connection.execute(statement)
        found = connection.execute(statements[-1])
        return found.fetchall() if found.description else []


def kill_connections(url: str) -> int:
    """End every other connection to a database, as an administrator or a restart does."""
    found = run_sql(
        url,
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    return int(found[0][0])


class TestTexts:
    """PostgreSQL has no NUL; a caller's text may."""

    @given(first=st.text(st.characters(max_codepoint=3)), second=st.text())
    def test_a_spelling_is_read_back_and_keeps_the_order(self, first: str, second: str) -> None:
        """Any text comes back; spelled texts sort and begin as the texts themselves do."""
        texts = AnyText()

        def spelled(text: str) -> str:
            return texts.process_bind_param(text, None) or ""

        for text in (first, second, first + second):
            assert "\0" not in spelled(text)
            assert texts.process_result_value(spelled(text), None) == text
        assert (spelled(first) < spelled(second)) == (first < second)
        assert spelled(first + second).startswith(spelled(first))

    def test_the_catalogue_takes_any_text(self, url: str, catalogue: Catalogue) -> None:
        """Ids, texts and metadata with NUL come back, and ids with it are found."""
        store = open_store(url, catalogue)
        odd = chunk("a\0b", "x\0\1y", source_id="\1", metadata={"k\0": "v\0"})
        write(store, "acme", [odd])
        with store.reading() as session:
            assert session.corpus.chunks("acme", ["a\0b"], vectors=True) == {"a\0b": odd}
            assert session.corpus.recent("acme", frozenset(["\1"]), since="", limit=1) == ["a\0b"]
        store.close()

    def test_names_sort_as_they_do_in_python(
        self, url: str, opened: Callable[..., KnobsService]
    ) -> None:
        """Whatever the database's own collation is: pages of two stores agree."""
        service = opened(url)
        names = ["a-b", "a.b", "a_b", "ab", "a0", "0a", "z", "a"]
        for name in names:
            service.update(ME, name, GIVEN)
        listed: list[str] = []
        token = ""
        while True:
            page = service.list(ME, page_size=3, page_token=token)
            listed += [stored.tenant for stored in page.items]
            token = page.next_page_token
            if not token:
                break
        assert listed == sorted(names)


def values_around(knob: Knob) -> list[Any]:
    """At, inside and outside the bounds, and everything that is no number; SQL sees no sign of a zero."""
    odd: list[Any] = [
        *(
            True,
            False,
            None,
            "",
            "enabled",
            "0.3",
            "64",
            "x",
            0,
            0.0,
            1,
            -1,
            0.5,
            64.0,
            64.5,
            5e-324,
        ),
        *(math.nan, math.inf, -math.inf, 2**31, 2**63, 10**400, 2**53 + 1.0, b"0"),
    ]
    if knob.minimum is None or knob.maximum is None:
        return [*odd, *knob.choices]
    bounds = [float(knob.minimum), float(knob.maximum)]
    return odd + [
        value
        for bound in bounds
        for value in (bound, math.nextafter(bound, -math.inf), math.nextafter(bound, math.inf))
    ]


@pytest.fixture(scope="module")
def checked() -> Iterator[PostgresStore]:
    store = open_store(postgres_url(), load_catalogue())
    assert isinstance(store, PostgresStore)
    yield store
    store.close()


class TestChecks:
    """Every knob's CHECK in the database gives the verdict that the catalogue gives."""

    @pytest.mark.parametrize("knob", load_catalogue(), ids=lambda knob: knob.name)
    def test_a_column_takes_what_the_knob_takes(self, knob: Knob, checked: PostgresStore) -> None:
        """NaN and the infinities, which PostgreSQL calls doubles, and text that looks like a number included."""
        taken = [value for value in values_around(knob) if self._takes(checked, knob, value)]
        assert taken == [value for value in values_around(knob) if knob.accepts(value)]
        assert taken

    def test_nothing_rounds_a_number_to_fit(self, url: str, catalogue: Catalogue) -> None:
        """An integer knob refuses 8.5 also from a hand that writes SQL."""
        open_store(url, catalogue).close()
        whole = next(knob.name for knob in catalogue if knob.type is KnobType.INT32)
        run_sql(url, "INSERT INTO context_engine_knobs VALUES ('acme', 1, '', '', '', '')")
        for value in ("8.5", "'NaN'", "'Infinity'", "NULL", "-1"):
            with pytest.raises(psycopg.IntegrityError):
                run_sql(url, f"UPDATE context_engine_knobs SET {whole} = {value}")

    @staticmethod
    def _takes(store: PostgresStore, knob: Knob, value: object) -> bool:
        table = knobs_table(load_catalogue())
        row: dict[str, object] = {one.name: one.unset for one in load_catalogue()}
        own: dict[str, object] = dict.fromkeys(
            ("tenant_id", "updated_at", "updated_by", "head_hash", "seal"), ""
        )
        try:
            with store._engine.connect() as connection:
                connection.execute(table.insert(), {**own, "revision": 1, **row, knob.name: value})
        except (SQLAlchemyError, OverflowError):
            return False
        return True


class TestTheAuditLogIsAppendOnly:
    """What the triggers refuse, in plain SQL."""

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE config_audit_events SET actor = 'mallory'",
            "UPDATE config_audit_events SET tenant_id = 'bolt' WHERE revision = 1",
            "DELETE FROM config_audit_events",
            "TRUNCATE config_audit_events",
        ],
    )
    def test_a_change_of_the_past_is_refused(
        self, url: str, opened: Callable[..., KnobsService], statement: str
    ) -> None:
        """Edit, removal, emptying and replacement."""
        opened(url).update(ME, "acme", GIVEN)
        with pytest.raises(psycopg.IntegrityError, match="append-only"):
            run_sql(url, statement)

    def test_a_tampered_row_gives_way_to_the_last_good_set(
        self, url: str, opened: Callable[..., KnobsService]
    ) -> None:
        """The seal tells; the audit log proves what was in force."""
        opened(url).update(ME, "acme", GIVEN)
        run_sql(url, "UPDATE context_engine_knobs SET retrieval_min_score = 0.9")
        stored = opened(url).get(ME, "acme")
        assert (stored.knobs, stored.last_good) == (GIVEN, True)

    def test_a_list_tells_the_last_good_set_of_a_tenant_whose_row_is_gone(
        self, url: str, opened: Callable[..., KnobsService]
    ) -> None:
        """It would pass for one at the defaults."""
        service = opened(url)
        for tenant in ("acme", "bolt", "cork"):
            service.update(ME, tenant, GIVEN)
        run_sql(url, "DELETE FROM context_engine_knobs WHERE tenant_id <> 'bolt'")
        first = service.list(ME, page_size=2)
        (last,) = service.list(ME, page_size=2, page_token=first.next_page_token).items
        found = [(one.tenant, one.knobs, one.last_good) for one in (*first.items, last)]
        assert found == [("acme", GIVEN, True), ("bolt", GIVEN, False), ("cork", GIVEN, True)]


class TestBroughtForward:
    """A store meets another version of knobctl, or of the knob schema."""

    def test_a_new_knob_becomes_a_column_and_keeps_the_rest(
        self, url: str, tmp_path: Path, opened: Callable[..., KnobsService]
    ) -> None:
        """Old sets have it unset, new ones can have it; an engine with the older schema is then refused."""
        opened(url).update(ME, "acme", GIVEN)
        newer = changed_catalogue(tmp_path, lambda props: props.update(new_knob=NEW_KNOB))
        service = opened(url, newer)
        assert service.get(ME, "acme").knobs == GIVEN
        assert not service.get(ME, "acme").last_good
        service.update(ME, "acme", {"new_knob": 9})
        assert broken_links(service.audit_events(ME).items) == []
        with pytest.raises(EngineError, match="1 knob that the schema does not know: new_knob"):
            opened(url)
        assert opened(url, newer).get(ME, "acme").knobs == {"new_knob": 9}

    def test_bounds_follow_the_schema(
        self, url: str, tmp_path: Path, opened: Callable[..., KnobsService]
    ) -> None:
        """Wider ones are taken over; narrower ones stop it where a stored value is beyond them."""
        opened(url)
        wider = changed_catalogue(
            tmp_path, lambda props: props["retrieval_min_score"].update(maximum=2)
        )
        opened(url, wider).update(ME, "acme", {"retrieval_min_score": 1.5})
        with pytest.raises(EngineError, match="values that the knob schema no longer takes"):
            opened(url)
        assert opened(url, wider).get(ME, "acme").knobs == {"retrieval_min_score": 1.5}

    def test_a_newer_store_is_refused(self, url: str, opened: Callable[..., KnobsService]) -> None:
        """A schema of tomorrow is not guessed at."""
        opened(url).close()
        run_sql(url, "UPDATE knobctl_schema SET version_num = '0999'")
        with pytest.raises(EngineError, match="written by a newer knobctl"):
            opened(url)

    def test_another_programs_tables_are_left_alone(
        self, url: str, opened: Callable[..., KnobsService]
    ) -> None:
        """A table of one of our names that we did not make stops it, and nothing is made beside it."""
        run_sql(url, "CREATE TABLE principals (name text)")
        with pytest.raises(EngineError, match=r"another program's.*principals"):
            opened(url)
        assert run_sql(url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(1,)]

    def test_a_version_that_is_none_of_ours_is_another_programs(
        self, url: str, opened: Callable[..., KnobsService]
    ) -> None:
        """Refused like any table that we did not make."""
        run_sql(url, "CREATE TABLE knobctl_schema (version_num text)")
        run_sql(url, "INSERT INTO knobctl_schema VALUES ('next')")
        with pytest.raises(EngineError, match=r"another program's.*knobctl_schema"):
            opened(url)

    def test_a_database_of_another_encoding_is_refused(
        self, url: str, opened: Callable[..., KnobsService]
    ) -> None:
        """Before anything is made in it: it could not hold every text."""
        name = url.partition("?")[0].rpartition("/")[2]
        run_sql(
            url,
            f"CREATE DATABASE {name}_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
        )
        with pytest.raises(EngineError, match="LATIN1; the store needs UTF8"):
            opened(url.replace(name, f"{name}_latin"))

    def test_the_last_step_is_the_newest(self) -> None:
        """The number that is looked at before alembic is loaded is that of its last step."""
        config = Config()
        folder = Path(knobctl.server.store.__file__).parent / "migrations" / "postgres"
        config.set_main_option("script_location", str(folder))
        assert ScriptDirectory.from_config(config).get_current_head() == NEWEST

    def test_the_steps_make_the_tables_that_queries_name(
        self, url: str, catalogue: Catalogue
    ) -> None:
        """Every table has the columns and kinds that the code knows."""
        open_store(url, catalogue).close()
        engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url))
        with engine.connect() as connection:
            context = MigrationContext.configure(
                connection, opts={"version_table": "knobctl_schema"}
            )
            found = compare_metadata(context, METADATA)
        engine.dispose()
        differing = [
            step
            for step in found
            if isinstance(step, tuple) and step[0] in {"add_table", "add_column", "remove_column"}
        ]
        assert differing == []

    def test_processes_may_make_the_tables_at_once(
        self, url: str, opened: Callable[..., KnobsService]
    ) -> None:
        """Four processes open an empty database; all get in, all write, one chain."""
        command = [sys.executable, "-c", OPENING, url]
        running = [
            subprocess.Popen([*command, f"p{n}"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            for n in range(4)
        ]
        for process in running:
            assert process.stdin
            process.stdin.write(b"go\n")
            process.stdin.flush()
        said = [process.communicate(timeout=60)[1].decode() for process in running]
        assert [process.returncode for process in running] == [0] * 4, said
        events = opened(url).audit_events(ME).items
        assert sorted(event["actor"] for event in events) == [f"p{n}" for n in range(4)]
        assert broken_links(events) == []


class TestTogether:
    """Several writers and readers at once."""

    def test_processes_lose_no_update(self, url: str, opened: Callable[..., KnobsService]) -> None:
        """Four processes read, add one and write: the counter is the number of writes, in one chain."""
        service = opened(url)
        command = [sys.executable, "-c", COUNTING, url, "8"]
        running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
        said = [process.communicate(timeout=100)[1].decode() for process in running]
        assert [process.returncode for process in running] == [0] * 4, said
        assert service.get(ME, "acme").knobs[KNOB] == 999 + 32
        events = service.audit_events(ME, page_size=1000).items
        assert len(events) == 32
        assert broken_links(events) == []

    def test_a_page_never_misses_a_late_event(
        self, url: str, opened: Callable[..., KnobsService]
    ) -> None:
        """Whoever follows the log while many write sees every event once, in the order of its numbers."""
        service = opened(url)
        seen: list[str] = []

        def write_some(tenant: str) -> None:
            for number in range(20):
                service.update(ME, tenant, {"rrf_k": number + 1})

        with ThreadPoolExecutor(4) as pool:
            writing = [pool.submit(write_some, f"t{n}") for n in range(4)]
            after, is_over = 0, False
            while not is_over:
                is_over = all(one.done() for one in writing)  # looked at before the last page
                with service.store.reading() as session:
                    found = session.events(None, since="", after=after, limit=100)
                seen += [event["event_id"] for _, event in found]
                after = found[-1][0] if found else after
            for one in writing:
                one.result()
        assert len(seen) == len(set(seen)) == 80

    def test_writers_wait_for_each_other_and_not_for_a_tenants_texts(
        self, url: str, catalogue: Catalogue
    ) -> None:
        """Sets have one writer; taking a tenant's texts in keeps only that tenant's others waiting."""
        store = open_store(url, catalogue)

        def begins(session: Any) -> bool:
            begun = threading.Event()

            def begin() -> None:
                with session:
                    begun.set()

            waiting.append(threading.Thread(target=begin))
            waiting[-1].start()
            return begun.wait(0.5)

        waiting: list[threading.Thread] = []
        with store.writing():
            assert not begins(store.writing())
            assert begins(store.ingesting("acme"))
            assert begins(store.reading())
        with store.ingesting("acme"):
            assert not begins(store.ingesting("acme"))
            assert begins(store.ingesting("bolt"))
            assert begins(store.indexing("acme"))
            assert begins(store.writing())
        for thread in waiting:
            thread.join()
        store.close()

    def test_a_reading_session_sees_one_moment(
        self, url: str, opened: Callable[..., KnobsService]
    ) -> None:
        """What is written beside it is not in it."""
        service = opened(url)
        service.update(ME, "acme", GIVEN)
        with service.store.reading() as session:
            service.update(ME, "acme", {})
            assert session.revision("acme") == 1
        with service.store.reading() as session:
            assert session.revision("acme") == 2

    def test_an_embedder_that_came_first_stays(self, url: str, catalogue: Catalogue) -> None:
        """Two tenants' first texts at once, by two embedders: the second is told."""
        store = open_store(url, catalogue)
        with store.writing() as session:
            session.corpus.set_embedder(IDENTITY)
        other = type(IDENTITY)(model="other", revision="1", pooling="none", dimensions=8)
        with pytest.raises(StoreUnavailableError, match="another embedder"), store.writing() as one:
            one.corpus.set_embedder(other)
        with store.reading() as session:
            assert session.corpus.embedder() == IDENTITY
        store.close()


class TestLost:
    """The connection, or the server, is lost."""

    def test_connections_that_died_in_the_pool_are_replaced(
        self, url: str, opened: Callable[..., KnobsService]
    ) -> None:
        """After an administrator ended them all, the next read and the next write go through."""
        service = opened(url)
        service.update(ME, "acme", GIVEN)
        for _ in range(2):
            assert kill_connections(url) >= 1
            assert service.get(ME, "acme").knobs == GIVEN
            assert not service.get(ME, "acme").last_good
            kill_connections(url)
            service.update(ME, "acme", GIVEN)

    def test_a_session_that_is_cut_leaves_nothing_half_written(
        self, url: str, opened: Callable[..., KnobsService]
    ) -> None:
        """Ended between the set and its commit: an error that says so, and the old set with its one event."""
        service = opened(url)
        first = service.update(ME, "acme", GIVEN)
        store = service.store
        with store.reading() as session:
            row, event = session.row("acme"), session.last_event("acme")
        assert row
        assert event

        def cut_while_writing() -> None:
            with store.writing() as session:
                session.write(replace(row, revision=2), event | {"revision": "r2"}, None)
                kill_connections(url)

        def cut_while_reading() -> None:
            with store.reading() as session:
                kill_connections(url)
                session.row("acme")

        for cut in (cut_while_writing, cut_while_reading):
            with pytest.raises(StoreUnavailableError):
                cut()
        assert service.get(ME, "acme") == first.stored
        assert len(service.audit_events(ME).items) == 1

    def test_a_commit_whose_answer_is_lost_counts(
        self, url: str, line: Line, opened: Callable[..., KnobsService]
    ) -> None:
        """The server wrote it and the line broke: it is asked, and the caller gets the truth, once."""
        service = opened(line.url)
        line.fails_at_commit = "after"
        answer = service.update(ME, "acme", GIVEN)
        assert answer.stored.revision == "r1"
        assert line.has_failed
        assert opened(url).get(ME, "acme").knobs == GIVEN
        assert len(opened(url).audit_events(ME).items) == 1

    def test_a_commit_that_never_arrived_is_said_to_be_unwritten(
        self, url: str, line: Line, opened: Callable[..., KnobsService]
    ) -> None:
        """The line broke on the way there: nothing is in force, and the next call works."""
        service = opened(line.url)
        line.fails_at_commit = "before"
        with pytest.raises(ServiceError, match="nothing was written"):
            service.update(ME, "acme", GIVEN)
        assert opened(url).get(ME, "acme").knobs == {}
        service.update(ME, "acme", GIVEN)
        assert [event["revision"] for event in opened(url).audit_events(ME).items] == ["r1"]

    def test_a_commit_that_nobody_can_be_asked_about_is_called_unknown(
        self,
        url: str,
        line: Line,
        opened: Callable[..., KnobsService],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The server is out of reach from then on: the answer does not say that nothing was written."""
        monkeypatch.setattr(postgres, "ASKED_EVERY_S", 0.01)
        service = opened(line.url)
        line.fails_at_commit, line.stays_dead = "after", True
        with pytest.raises(ServiceError, match="is not known") as refused:
            service.update(ME, "acme", GIVEN, idempotency_key="once")
        assert isinstance(refused.value.__cause__, OutcomeUnknownError)
        assert "nothing was written" not in refused.value.message
        line.is_dead = False
        assert service.update(ME, "acme", GIVEN, idempotency_key="once").stored.revision == "r1"
        assert len(opened(url).audit_events(ME).items) == 1

    def test_texts_whose_commit_nobody_can_be_asked_about_may_be_sent_again(
        self,
        line: Line,
        catalogue: Catalogue,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The answer does not say that nothing was written; the same texts again change nothing."""
        monkeypatch.setattr(postgres, "ASKED_EVERY_S", 0.01)
        services = open_services(line.url, catalogue, clock=lambda: datetime.now(UTC))
        ingest = services.ingest
        assert ingest
        texts = [Text(document_id="heron", text="a grey heron")]
        line.fails_at_commit, line.stays_dead = "after", True
        with pytest.raises(ServiceError, match="is not known: send the same again"):
            ingest.upsert(ME, "acme", texts)
        line.is_dead = False
        again = ingest.upsert(ME, "acme", texts)
        assert (again.written, again.unchanged) == (0, 1)
        services.close()

    def test_without_the_server_the_last_good_set_stays_in_force(
        self, line: Line, opened: Callable[..., KnobsService]
    ) -> None:
        """Marked as such, never defaults; writes are refused in words without the server's own."""
        service = opened(line.url)
        service.update(ME, "acme", GIVEN)
        service.get(ME, "acme")
        line.is_dead = True
        line.cut()
        stored = service.get(ME, "acme")
        assert (stored.knobs, stored.last_good) == (GIVEN, True)
        for call in (
            lambda: service.update(ME, "acme", {}),
            lambda: service.get(ME, "bolt"),
            lambda: service.list(ME),
        ):
            with pytest.raises(ServiceError) as refused:
                call()
            assert refused.value.code == "unavailable"
            assert "127.0.0.1" not in refused.value.message
        line.is_dead = False
        assert not service.get(ME, "acme").last_good

    def test_commits_reach_the_disk_whatever_the_database_says(
        self, url: str, catalogue: Catalogue
    ) -> None:
        """A database set to answer before it has written does not do so for us."""
        name = url.partition("?")[0].rpartition("/")[2]
        run_sql(url, f"ALTER DATABASE {name} SET synchronous_commit = off")
        store = open_store(url, catalogue)
        assert isinstance(store, PostgresStore)
        with store.writing() as session:
            found = session.connection.exec_driver_sql("SHOW synchronous_commit").scalar()
        assert found == "on"
        store.close()


class TestUrls:
    """A URL may hold a password: it is never in a message, nor in the causes behind it."""

    @pytest.mark.parametrize(
        ("url", "error"),
        [
            ("postgresql://anna:s3cret@127.0.0.1:1/knobs", EngineError),
            ("postgresql://anna:s3%cret@127.0.0.1/knobs", UsageError),
            ("postgresql://anna@127.0.0.1:1/knobs?password=s3cret", EngineError),
            ("postgresql://127.0.0.1/knobs?passwort=s3cret", UsageError),
            ("postgresql://anna:pa@s3cret@127.0.0.1:1/knobs", UsageError),
            ("postgresql://anna:pa/s3cret@127.0.0.1:1/knobs", UsageError),
            ("postgresql://anna:s3cret/pa@127.0.0.1:1/knobs", UsageError),
            ("postgresql://anna:s3cret/knobs", UsageError),
            ("postgresql://anna:s3cret#pa@127.0.0.1:1/knobs", EngineError),
        ],
    )
    def test_a_password_is_never_said(
        self, url: str, error: type[Exception], caplog: pytest.LogCaptureFixture
    ) -> None:
        """Not where the server cannot be reached, and not where the URL cannot be read."""
        caplog.set_level(0)
        with pytest.raises(error) as refused:
            open_store(url, load_catalogue())
        said = "".join(traceback.format_exception(refused.value)) + caplog.text
        said += str(getattr(refused.value, "hint", ""))
        assert "cret" not in said.replace(url, "")

    @pytest.mark.parametrize(
        ("url", "name"),
        [
            (
                "postgresql://anna:s3cret@db.example:5433/knobs",
                "postgresql://db.example:5433/knobs",
            ),
            ("postgresql://anna:p@ss@db/knobs?sslmode=require", "postgresql://db/knobs"),
            ("postgresql:///knobs?host=/run/pg&password=x", "postgresql:///run/pg/knobs"),
            ("postgresql://[::1/knobs", "postgresql://"),
            ("postgresql://[::1]:5433,b:1/knobs", "postgresql://[::1]:5433,b:1/knobs"),
            ("postgresql://anna:s3#cret@db/knobs", "postgresql://db/knobs"),
            ("postgresql://anna:s3/cret@db/knobs", "postgresql://"),
            ("postgresql://anna:s3cret/knobs", "postgresql://"),
            ("embedded:engine.db", "embedded:engine.db"),
        ],
    )
    def test_a_store_has_a_name_without_secrets(self, url: str, name: str) -> None:
        """Host and database, nothing else."""
        assert shown(url) == name

    def test_without_the_extra_it_says_what_to_install(self, tmp_path: Path) -> None:
        """And a base install never looks for it otherwise."""
        program = (
            "import sys\n"
            "sys.modules['sqlalchemy'] = None\n"
            "from knobctl.cli.main import main\n"
            "sys.argv = ['knobctl', 'engine', 'serve', '--store', 'postgresql://db/knobs']\n"
            "main()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 2
        assert "pip install 'knobctl[cluster]'" in done.stderr

    def test_the_embedded_store_loads_none_of_it(self, tmp_path: Path) -> None:
        """Neither SQLAlchemy nor the clients of PostgreSQL and Milvus."""
        program = (
            "import json, sys\n"
            "from knobctl.knobs import load_catalogue\n"
            "from knobctl.server.store import open_store\n"
            f"open_store('embedded:{tmp_path}/engine.db', load_catalogue()).close()\n"
            "print(json.dumps([m for m in ('sqlalchemy', 'psycopg', 'alembic', 'pymilvus', 'grpc')"
            " if m in sys.modules]))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert json.loads(done.stdout) == []
