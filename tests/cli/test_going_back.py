"""Going back is tested, not assumed: defaults that changed, sets that are invalid by now, an audit log that cannot be written, and back again."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.engine.embedded import EmbeddedEngine
from knobctl.errors import EngineError
from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.knobs import open_service
from knobctl.server.opening import open_services
from knobctl.server.retrieval.model import Text
from tests.cli.fleets import over_http
from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of
from tests.server.doors import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from knobctl.engine.interface import Receipt

YES = ("--yes", "--reason", "r")
SCHEMA = "output-rollback.v1.schema.json"
BEFORE: Mapping[str, Mapping[str, object]] = {
    "a": {"rrf_k": 20, "mmr_lambda": 0.3},
    "b": {"rrf_k": 200},
    "c": {},
}
WRITTEN = {tenant: {"rrf_k": 30} for tenant in BEFORE}


@pytest.fixture
def written(inside: Inside) -> Inside:
    """Three tenants that a run has written; two held a set before it."""
    inside.write("knobctl.toml", "")
    for tenant, knobs in BEFORE.items():
        if knobs:
            inside.hold(tenant, **knobs)
        inside.write(f"t/{tenant}.yaml", f"tenant: {tenant}\nknobs: {{rrf_k: 30}}\n")
    result = inside("apply", ".", *YES, "--format", "json", *ENGINE)
    assert result.code == 0
    inside.write("run", result.json["run"])
    return inside


def taken_back(inside: Inside, run: str, *options: str, code: int = 0) -> dict[str, Any]:
    """The answer of taking a run back."""
    result = inside("rollback", "--run", run, *YES, "--format", "json", *options, *ENGINE)
    assert result.code == code, result.err
    answer: dict[str, Any] = result.json
    assert faults_of(answer, SCHEMA) == []
    return answer


def sets(inside: Inside) -> dict[str, Any]:
    return {tenant: inside.live(tenant) for tenant in BEFORE}


def events(inside: Inside) -> dict[str, int]:
    return {tenant: len(inside.events(tenant)) for tenant in BEFORE}


@contextmanager
def no_events(folder: Path) -> Iterator[None]:
    """Let the audit log of the store refuse what is appended."""
    _run(
        folder,
        "CREATE TRIGGER sink_is_down BEFORE INSERT ON config_audit_events "
        "BEGIN SELECT RAISE(ABORT, 'the audit log cannot be written'); END",
    )
    yield
    _run(folder, "DROP TRIGGER sink_is_down")


def _run(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "e.db")) as store:
        store.execute(statement)
        store.commit()


def changed_schema(inside: Inside, knob: str, **changes: object) -> tuple[str, ...]:
    """The options by which an engine has another default or maximum of a knob from now on."""
    schema = json.loads(json.dumps(load_catalogue().schema))
    said = schema["properties"][knob]
    said["anyOf"][1] |= {key: value for key, value in changes.items() if key == "maximum"}
    said["x-knob"] |= {key: value for key, value in changes.items() if key == "default"}
    name = inside.folder / "changed.json"
    name.write_text(json.dumps(schema))
    return ("--schema", str(name))


def test_defaults_that_changed_since_do_not_change_what_is_restored(written: Inside) -> None:
    """The exact sets; that what they leave out has the defaults of today is said."""
    changed = changed_schema(written, "rrf_k", default=80)
    result = written("rollback", "--run", written.read("run"), *YES, *changed, *ENGINE)
    assert result.code == 0, result.err
    assert "what they leave out has the default of today" in result.err
    assert "  reset   rrf_k  30 -> default 80" in result.out
    assert sets(written) == BEFORE


def test_a_set_that_is_invalid_by_now_stops_the_whole_run(written: Inside) -> None:
    """Refused with the knob, its value and what it may be; the others go back by name."""
    changed = changed_schema(written, "rrf_k", maximum=100)
    before, run = events(written), written.read("run")
    result = written("rollback", "--run", run, *YES, *changed, *ENGINE)
    assert result.code == 6
    assert result.err.endswith(
        "refused: b then had rrf_k 200; it must lie in 1 .. 100 now; nothing was written.\n"
        "  set what is wanted: knobctl set b KNOB=VALUE; the others go back by name: "
        f"knobctl rollback --run {run} TENANT...\n"
    )
    assert events(written) == before
    assert written("rollback", "a", "c", "--run", run, *YES, *changed, *ENGINE).code == 0
    assert sets(written) == {**BEFORE, "b": {"rrf_k": 30}}


def test_a_revision_that_is_invalid_by_now_stops_all_tenants(written: Inside) -> None:
    """Those that could go back are not written either."""
    changed = changed_schema(written, "rrf_k", maximum=100)
    before = events(written)
    result = written("rollback", "a", "b", "c", *YES, *changed, *ENGINE)
    assert (result.code, "b then had rrf_k 200; it must lie in 1 .. 100 now" in result.err) == (
        6,
        True,
    )
    assert events(written) == before


def test_an_engine_that_does_not_take_the_earlier_set_any_more_says_so(written: Inside) -> None:
    """Its schema is narrower than the client's: the tenant keeps what it holds, the others go back."""
    changed_schema(written, "rrf_k", maximum=100)
    narrow = load_catalogue(written.folder / "changed.json")
    store = f"embedded:{written.folder / 'e.db'}"
    with (
        closing(open_service(store, narrow, clock=lambda: datetime.now(UTC))) as service,
        served(service) as address,
    ):
        there = over_http(written, service, address)
        assert written("history", "b", "--verify", *there).code == 0
        result = written("rollback", "a", "b", *YES, "--no-file", "--format", "json", *there)
    assert (result.code, faults_of(result.json, SCHEMA)) == (9, []), result.out
    told = {one["tenant"]: one for one in result.json["tenants"]}
    assert (told["a"]["outcome"], told["b"]["outcome"]) == ("applied", "failed")
    assert "rrf_k" in told["b"]["message"]
    assert sets(written) == {**BEFORE, "b": {"rrf_k": 30}, "c": {"rrf_k": 30}}


def test_an_event_that_is_not_what_was_noted_is_not_believed(written: Inside) -> None:
    """Somebody changed what the log says: refused, whether the last change or a revision is named."""
    _run(written.folder, "DROP TRIGGER config_audit_events_keep")
    _run(
        written.folder,
        "UPDATE config_audit_events SET event = replace(event, '0.3', '0.9') WHERE tenant_id = 'a'",
    )
    for named in ((), ("--to", "r1")):
        result = written("rollback", "a", *named, *YES, *ENGINE)
        assert result.code == 6
        assert "its content does not give its hash; nothing was written." in result.err
    assert written.live("a") == {"rrf_k": 30}
    run = written.read("run")
    assert written("rollback", "a", "--run", run, *YES, *ENGINE).code == 0
    assert written.live("a") == BEFORE["a"]


def test_an_audit_log_that_cannot_be_written_leaves_every_set_as_it_was(written: Inside) -> None:
    """No change without its event: the engine refuses, and says why; the run goes on once it can."""
    files = {name: written.read(f"t/{name}.yaml") for name in BEFORE}
    with no_events(written.folder):
        answer = taken_back(written, written.read("run"), code=8)
        assert {one["outcome"] for one in answer["tenants"]} == {"failed"}
        assert (
            "the store cannot be written to; nothing was written"
            in (answer["tenants"][0]["message"])
        )
        assert sets(written) == WRITTEN
        assert {name: written.read(f"t/{name}.yaml") for name in BEFORE} == files
    assert written("apply", "--resume", answer["run"], *ENGINE).code == 0
    assert sets(written) == BEFORE


def test_an_audit_log_that_cannot_be_read_leads_to_the_journal(
    written: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sets before stand there too."""

    def unread(engine: EmbeddedEngine, tenant: str) -> Iterator[dict[str, Any]]:
        raise EngineError(f"{engine.name} does not find the log of {tenant}")

    monkeypatch.setattr(EmbeddedEngine, "audit_events", unread)
    result = written("rollback", "a", *YES, *ENGINE)
    assert result.code == 8
    assert (
        "what a had before cannot be read: embedded:e.db does not find the log of a; nothing was written."
        in (result.err)
    )
    assert written("rollback", "a", "--run", written.read("run"), *YES, *ENGINE).code == 0
    assert written.live("a") == BEFORE["a"]


def test_a_rollback_is_rolled_back_with_its_files(written: Inside) -> None:
    """Forth and back by runs, as often as wanted; drift finds nothing after each."""
    files = {name: written.read(f"t/{name}.yaml") for name in BEFORE}
    run = written.read("run")
    for turn in range(3):
        run = taken_back(written, run)["run"]
        back = turn % 2 == 0
        assert sets(written) == (BEFORE if back else WRITTEN)
        assert written("drift", ".", *ENGINE).code == 0
    assert {name: written.read(f"t/{name}.yaml") for name in BEFORE} != files
    assert events(written) == {"a": 5, "b": 5, "c": 4}


@pytest.fixture
def silenced(inside: Inside) -> Inside:
    """Two tenants with a text each; their files ask for a floor that silences them."""
    services = open_services("embedded:e.db", load_catalogue(), clock=lambda: datetime.now(UTC))
    assert services.ingest is not None
    text = [Text(document_id="gates", text="Approval gates stop a run.")]
    for tenant in ("a", "b"):
        services.ingest.upsert(local_caller("test"), tenant, text)
    services.close()
    inside.write("knobctl.toml", "")
    inside.write("q.jsonl", '{"question": "What stops a run?"}\n')
    inside.write("fleet.yaml", "fleet: default\nprobes: [{questions: q.jsonl}]\n")
    inside.hold("a", rrf_k=200)
    for tenant in ("a", "b"):
        inside.write(
            f"t/{tenant}.yaml", f"tenant: {tenant}\nknobs: {{no_match_min_cosine: 0.99}}\n"
        )
    return inside


CANARY = ("apply", ".", "--canary", "100%", "--bake", "0s", *YES, "--format", "json", *ENGINE)


def asked(monkeypatch: pytest.MonkeyPatch, then: Callable[[], None]) -> None:
    """Let something happen while the first tenant is asked after its write."""
    real, done = EmbeddedEngine.assemble, list[bool]()

    def assemble(self: EmbeddedEngine, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if not done:
            done.append(True)
            then()
        return real(self, tenant, request)

    monkeypatch.setattr(EmbeddedEngine, "assemble", assemble)


def test_a_canary_that_cannot_write_the_audit_log_goes_back_once_it_can(
    silenced: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9 while what it wrote stands, each tenant with its reason; resumed, every one is back."""
    with ExitStack() as down:
        asked(monkeypatch, lambda: down.enter_context(no_events(silenced.folder)))
        result = silenced(*CANARY)
        assert result.code == 9
        assert {one["outcome"] for one in result.json["tenants"]} == {"applied"}
        assert all(
            "written, and not taken back: " in one["message"] for one in result.json["tenants"]
        )
        run = result.json["run"]
        assert f"to take back the rest: knobctl apply --resume {run}" in result.err
        again = silenced("apply", "--resume", run, *ENGINE)
        assert again.code == 9
    assert silenced("apply", "--resume", run, *ENGINE).code == 11
    assert (silenced.live("a"), silenced.live("b")) == ({"rrf_k": 200}, {})


def interrupted(silenced: Inside) -> str:
    """A canary that is to be taken back and could not be; gives its run."""
    with ExitStack() as down, pytest.MonkeyPatch().context() as during:
        asked(during, lambda: down.enter_context(no_events(silenced.folder)))
        found: str = silenced(*CANARY).json["run"]
    return found


def test_a_taking_back_goes_on_where_the_defaults_changed_meanwhile(silenced: Inside) -> None:
    """The sets are exact, whatever the defaults; they are what counts."""
    run = interrupted(silenced)
    changed = changed_schema(silenced, "rrf_k", default=80)
    result = silenced("apply", "--resume", run, *changed, *ENGINE)
    assert result.code == 11, result.err
    assert "what they leave out has the default of today" in result.err
    assert (silenced.live("a"), silenced.live("b")) == ({"rrf_k": 200}, {})


def test_a_taking_back_that_is_gone_on_with_stops_on_a_signal_and_is_gone_on_with(
    silenced: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write in flight is finished and noted, no other is begun; the rest is taken back by the next."""
    run, real = interrupted(silenced), EmbeddedEngine.replace

    def replace(self: EmbeddedEngine, *arguments: Any, **named: Any) -> Receipt:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)  # the signal is for another thread
        return real(self, *arguments, **named)

    with monkeypatch.context() as during:
        during.setattr(EmbeddedEngine, "replace", replace)
        during.setattr(sys, "stderr", sys.__stderr__)  # a signal is answered on the real one
        stopped = silenced(
            *("apply", "--resume", run, "--parallelism", "1", "--format", "json", *ENGINE)
        )
    assert stopped.code == 9
    outcomes = [one["outcome"] for one in stopped.json["tenants"]]
    assert sorted(outcomes) == ["applied", "rolled_back"]
    assert silenced("apply", "--resume", run, *ENGINE).code == 11
    assert (silenced.live("a"), silenced.live("b")) == ({"rrf_k": 200}, {})


def test_a_taking_back_to_what_is_invalid_by_now_is_refused(silenced: Inside) -> None:
    """With the reason, and before anybody is half back."""
    run = interrupted(silenced)
    changed = changed_schema(silenced, "rrf_k", maximum=100)
    result = silenced("apply", "--resume", run, *changed, *ENGINE)
    assert result.code == 6
    assert "a then had rrf_k 200; it must lie in 1 .. 100 now; nothing was written." in result.err
    assert silenced.live("b") == {"no_match_min_cosine": 0.99}
