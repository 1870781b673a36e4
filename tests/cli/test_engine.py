"""`knobctl engine`: a process that serves, stops and says what it took; tokens."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.outputs import faults_of
from tests.cli.serving import MAIN, serving

if TYPE_CHECKING:
    from tests.cli.inside import Inside
    from tests.running import Knobctl

SERVICE = "upsquad.contextengine.v1.ContextEngineKnobsConfigService"


def _call(address: str, method: str, body: Any, token: str) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"{address}/{SERVICE}/{method}",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_stops_gracefully(tmp_path: Path, number: signal.Signals) -> None:
    """SIGTERM and SIGINT: exit 0, nothing on stdout, one line of talk, the file whole."""
    with serving(tmp_path, "--store", "embedded:h.db") as (process, address):
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    grpc = json.loads((tmp_path / "ports.json").read_text())["grpc"]
    assert err == f"knobctl engine on {address}, gRPC on 127.0.0.1:{grpc}, store embedded:h.db\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("h.db")] == ["h.db"]


def test_the_given_page_works_against_it(inside: Inside) -> None:
    """Its two calls, with tokens of `engine token`: L4 writes, L3 reads and cannot write."""
    store = ["--store", "embedded:h.db"]
    tokens = {}
    for level in ("L3", "L4"):
        made = inside(
            "engine", "token", "--subject", level, "--clearance", level, "--tenant", "acme", *store
        )
        assert (made.code, made.err) == (0, "")
        assert made.out.startswith("kct_")
        assert made.out.count("\n") == 1
        tokens[level] = made.out.strip()
    given = {"config": {"retrievalMinScore": 0.15, "retrievalVectorTopK": 32}}
    with serving(inside.folder, *store) as (process, address):
        status, answered = _call(address, "UpdateContextEngineKnobsConfig", given, tokens["L3"])
        assert (status, answered["code"]) == (403, "permission_denied")
        assert _call(address, "UpdateContextEngineKnobsConfig", given, tokens["L4"])[0] == 200
        status, answered = _call(address, "GetContextEngineKnobsConfig", {}, tokens["L3"])
        assert (status, answered["config"]) == (200, given["config"])
        assert answered["updatedBy"] == "L4"
        process.terminate()
        said = process.communicate(timeout=20)
    assert not any(token in text for token in tokens.values() for text in said)


def test_serve_keeps_what_it_stored(inside: Inside) -> None:
    """Killed without warning: what was answered is there after the next start."""
    store = ["--store", "embedded:h.db"]
    token = inside(
        "engine", "token", "--subject", "a", "--clearance", "L4", "--tenant", "acme", *store
    ).out.strip()
    for number in (1, 2, 3):
        with serving(inside.folder, *store) as (process, address):
            body = {"config": {"rrfK": number}}
            assert _call(address, "UpdateContextEngineKnobsConfig", body, token)[0] == 200
            process.kill()
            process.wait()
        (inside.folder / "ports.json").unlink()
    with serving(inside.folder, *store) as (_, address):
        assert _call(address, "GetContextEngineKnobsConfig", {}, token)[1]["revision"] == "r3"
        events = _call(address, "ListConfigAuditEvents", {}, token)[1]["events"]
    assert [event["after"]["rrfK"] for event in events] == [1, 2, 3]


def test_the_port_file_has_its_schema(tmp_path: Path) -> None:
    """What `--port-file` writes is read by scripts, so it has a schema like every other answer."""
    with serving(tmp_path, "--store", "embedded:h.db"):
        written = json.loads((tmp_path / "ports.json").read_text())
    assert faults_of(written, "output-engine-serve.v1.schema.json") == []


def test_both_ports_answer(tmp_path: Path) -> None:
    """Two listeners, each for everything."""
    with serving(tmp_path, "--store", "embedded:h.db"):
        ports = json.loads((tmp_path / "ports.json").read_text())
        assert ports["http"] != ports["grpc"]
        for port in ports.values():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
                assert answer.status == 200


def test_one_port_cannot_be_taken_twice(inside: Inside) -> None:
    """Exit 2, with the option to change."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    both = ("--port", port, "--grpc-port", port)
    done = inside("engine", "serve", "--store", "embedded:h.db", *both)
    assert done.code == 2
    assert "choose another --grpc-port" in done.err


def test_json_logs_are_one_object_a_line(inside: Inside) -> None:
    """What is said at the start too; each call has its line with -v, and no token is in it."""
    store = ["--store", "embedded:h.db"]
    token = inside(
        "engine", "token", "--subject", "anna", "--clearance", "L3", "--tenant", "acme", *store
    ).out.strip()
    with serving(inside.folder, *store, "--log-format", "json", "-v") as (process, address):
        assert _call(address, "GetContextEngineKnobsConfig", {}, token)[0] == 200
        assert _call(address, "UpdateContextEngineKnobsConfig", {}, token)[0] == 403
        process.terminate()
        _, err = process.communicate(timeout=20)
    first, *lines = [json.loads(line) for line in err.splitlines()]
    assert first["message"].startswith(f"knobctl engine on {address}, gRPC on ")
    assert [(line["method"], line["code"]) for line in lines] == [
        ("GetContextEngineKnobsConfig", "ok"),
        ("UpdateContextEngineKnobsConfig", "permission_denied"),
    ]
    assert {(line["subject"], line["tenant"], line["level"]) for line in lines} == {
        ("anna", "acme", "info")
    }
    assert token not in err


@pytest.mark.parametrize(("host", "warns"), [("0.0.0.0", True), ("127.0.0.1", False)])
def test_a_port_that_is_open_to_the_network_is_said(tmp_path: Path, host: str, warns: bool) -> None:
    """Tokens travel in clear there; said once, at the start."""
    with serving(tmp_path, "--store", "embedded:h.db", "--host", host) as (process, _):
        process.terminate()
        _, err = process.communicate(timeout=20)
    assert err.count("tokens travel in clear") == warns


def test_too_many_calls_of_one_principal_are_refused(inside: Inside) -> None:
    """--rate."""
    store = ["--store", "embedded:h.db"]
    token = inside(
        "engine", "token", "--subject", "a", "--clearance", "L3", "--tenant", "acme", *store
    ).out.strip()
    with serving(inside.folder, *store, "--rate", "0.01") as (_, address):
        statuses = [_call(address, "GetContextEngineKnobsConfig", {}, token)[0] for _ in range(3)]
    assert statuses == [200, 429, 429]


def test_a_stop_waits_for_balancers_where_it_is_told_to(tmp_path: Path) -> None:
    """--drain: /readyz says no first, and the end comes after."""
    with serving(tmp_path, "--store", "embedded:h.db", "--drain", "1.5") as (process, address):
        process.terminate()
        time.sleep(0.5)
        with pytest.raises(urllib.error.HTTPError) as unready:
            urllib.request.urlopen(f"{address}/readyz")
        assert unready.value.code == 503
        unready.value.close()
        assert process.wait(timeout=20) == 0


def test_the_base_install_serves_knobs(inside: Inside) -> None:
    """Without what the extras bring: knobs, probes and health; retrieval says what to install."""
    extras = "ir_measures numpy onnxruntime tantivy tokenizers usearch sqlalchemy psycopg alembic pymilvus grpc"
    absent = f"import sys; sys.modules |= dict.fromkeys({extras.split()}); {MAIN}"
    store = ["--store", "embedded:h.db"]
    token = inside(
        "engine", "token", "--subject", "a", "--clearance", "L4", "--tenant", "acme", *store
    ).out.strip()
    with serving(inside.folder, *store, main=absent) as (_, address):
        assert _call(address, "UpdateContextEngineKnobsConfig", {"config": {}}, token)[0] == 200
        with urllib.request.urlopen(f"{address}/readyz") as answer:
            assert answer.status == 200
        request = urllib.request.Request(
            f"{address}/upsquad.context.v1.ContextEngine/Search",
            data=b'{"query": "x"}',
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        with refused.value as error:
            told = json.loads(error.read())
    assert told["code"] == "unimplemented"
    assert "pip install 'knobctl[engine]'" in told["message"]


def test_the_help_says_what_is_open_to_everybody(inside: Inside) -> None:
    """Without a token."""
    told = " ".join(inside("engine", "serve", "--help").out.split())
    assert "Open to everybody, without a token: /healthz, /readyz, /metrics" in told
    assert "KNOBCTL_EMBEDDER_KEY alone" in told


def test_the_knobs_of_another_engine_stay_off_http(inside: Inside) -> None:
    """Tokens are made for any store; the messages of HTTP carry the shipped knobs alone."""
    other = inside.write("other.json", json.dumps({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "cutoff": {"type": "number", "minimum": 0, "maximum": 1, "x-knob": {"default": 0.4}}
        },
    }))  # fmt: skip
    store = ("--store", "embedded:o.db", "--schema", other)
    made = inside("engine", "token", "--subject", "a", "--clearance", "L4", "--tenant", "t", *store)
    assert made.code == 0
    refused = inside("engine", "serve", *store)
    assert (refused.code, refused.out) == (2, "")
    assert "the knobs of another engine are not served over HTTP" in refused.err
    assert "--engine embedded:FILE --schema" in refused.err


def test_a_port_that_is_taken_is_an_error_of_usage(inside: Inside) -> None:
    """Exit 2, with the port and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = inside("engine", "serve", "--store", "embedded:h.db", "--port", port)
    assert done.code == 2
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use" in done.err
    assert "--port; 0 takes any free one" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["serve", "--store", "postgres://u:secret@h/d"], 2, "no store is offered at postgres:"),
        (["serve", "--store", "embedded:missing/e.db"], 8, "cannot be opened: No such file"),
        (["serve", "--store", "embedded:broken.db"], 8, "is no SQLite database"),
        (["serve", "--port", "70000"], 2, "70000 is not in the range"),
        (["serve", "--store", "embedded:h.db", "--host", "no.such.host.invalid"], 2, "--host is a name or an address of this machine"),
        (["serve", "--store", "embedded:h.db", "--port-file", "missing/p"], 2, "--port-file cannot write"),
        (["serve", "--store", "embedded:h.db", "--embedder", "nonsense"], 2, "'nonsense' means no embedder"),
        (["serve", "--store", "embedded:h.db", "--candidates", "nonsense"], 2, "milvus:"),
        (["serve", "--store", "embedded:h.db", "--rate", "0"], 2, "0 is not in the range"),
        (["serve", "--store", "embedded:h.db", "--rate", "nan"], 2, "nan is no number"),
        (["serve", "--store", "embedded:h.db", "--log-format", "xml"], 2, "'xml' is not one of"),
        (["token", "--subject", "a", "--clearance", "L9", "--tenant", "t"], 2, "'L9' is not one of"),
        (["token", "--subject", "a", "--clearance", "L4"], 2, "Missing option '--tenant'"),
        (["token", "--subject", " ", "--clearance", "L4", "--tenant", "t"], 2, "--subject is empty"),
        (["token", "--subject", "a\nb", "--clearance", "L4", "--tenant", "t"], 2, "cannot be seen"),
        (["token", "--subject", "a" * 201, "--clearance", "L4", "--tenant", "t"], 2, "201 characters; at most 200"),
        (["token", "--subject", "a", "--clearance", "L4", "--tenant", "t", "--source", ""], 2, "--source is empty"),
        (["token", "--subject", "a", "--clearance", "L4", "--tenant", "A/b"], 2, "can name no tenant"),
        (["token", "--subject", "a", "--clearance", "L4", "--tenant", "t", "--store", "embedded:broken.db"], 8, "no defaults are served"),
        (["load"], 2, "Missing argument 'FILE.jsonl'"),
        (["lode"], 2, "No such command 'lode'"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(
    inside: Inside, arguments: list[str], code: int, said: str
) -> None:
    """Each with its exit code, nothing on stdout, and no password echoed."""
    inside.write("broken.db", "not a database, though it is long enough " * 10)
    done = inside("engine", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert "secret" not in done.err


@pytest.mark.parametrize("command", ["serve", "token", "load", "describe", "migrate"])
def test_a_help_is_plain_text(knobctl: Knobctl, command: str) -> None:
    """No mark of its own makers stands in it, and it fits a terminal."""
    done = knobctl("engine", command, "--help", COLUMNS="80")
    assert "\\b" not in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_a_store_that_takes_no_token_is_no_defect(inside: Inside) -> None:
    """It can be read, and not written: no token is printed, and what happened is said."""
    asked = ["engine", "token", "--subject", "a", "--clearance", "L4", "--tenant", "*"]
    assert inside(*asked, "--store", "embedded:full.db").code == 0
    with closing(sqlite3.connect(inside.folder / "full.db")) as connection, connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON principals BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    done = inside(*asked, "--store", "embedded:full.db")
    assert (done.code, done.out) == (8, "")
    assert "no token was made" in done.err


def test_a_token_may_hold_every_tenant(inside: Inside) -> None:
    """'*' holds tenants that do not exist yet; several tenants make a list."""
    store = ["--store", "embedded:h.db"]
    every = inside(
        "engine", "token", "--subject", "a", "--clearance", "L4", "--tenant", "*", *store
    )
    with serving(inside.folder, *store) as (_, address):
        request = urllib.request.Request(
            f"{address}/{SERVICE}/GetContextEngineKnobsConfig",
            data=b"{}",
            headers={
                "Content-Type": "application/json",
                "Authorization": f"Bearer {every.out.strip()}",
                "X-Tenant-Id": "of-tomorrow",
            },
        )
        with urllib.request.urlopen(request) as answer:
            assert json.loads(answer.read())["tenantId"] == "of-tomorrow"


def test_the_default_store_is_in_the_data_folder(knobctl: Knobctl) -> None:
    """`embedded:` alone; the folder is made."""
    made = knobctl("engine", "token", "--subject", "a", "--clearance", "L3", "--tenant", "t")
    assert made.code == 0
    home = knobctl.folder.with_name(f"{knobctl.folder.name}-home")
    assert (home / "data" / "knobctl" / "engine.db").is_file()


def test_a_data_folder_that_cannot_be_made_is_said(knobctl: Knobctl) -> None:
    """Exit 8: there is no engine."""
    file = knobctl.write("file", "")
    done = knobctl(
        *("engine", "token", "--subject", "a", "--clearance", "L3", "--tenant", "t"),
        XDG_DATA_HOME=str(file),
    )
    assert done.code == 8
    assert "cannot be made: Not a directory" in done.err


def test_the_help_names_what_is_offered(inside: Inside) -> None:
    """Every command of the reference engine."""
    done = inside("engine", "--help")
    for name in ("serve", "token", "load", "describe"):
        assert f"\n  {name} " in done.out
