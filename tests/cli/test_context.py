"""`knobctl context`, and the way from names, variables and flags to an engine."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from tests.cli.engines import FIRST, embedded, fits, write
from tests.given_engine import GivenEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.inside import Inside
    from tests.running import Knobctl


def test_contexts_are_added_used_listed_and_shown(inside: Inside) -> None:
    """The current one is marked, production too."""
    inside("context", "add", "staging", "--engine", "https://s.example", "--fleet", "staging")
    inside(
        "context",
        "add",
        "prod",
        "--engine",
        "https://p.example",
        "--production",
        "--token-env",
        "PROD",
    )
    used = inside("context", "use", "prod")

    text = inside("context", "list")
    answer = inside("context", "list", "--format", "json")
    shown = inside("context", "show", "--format", "json")

    assert used.code == 0
    assert [line.split() for line in text.out.splitlines()[1:]] == [
        ["staging", "https://s.example", "staging", "-"],
        ["*", "prod", "https://p.example", "-", "environment", "PROD", "production"],
    ]
    fits(answer.json, "context")
    fits(shown.json, "context")
    assert answer.json["current"] == "prod"
    assert shown.json["contexts"][0]["name"] == "prod"


def test_no_secret_is_shown(inside: Inside) -> None:
    """Arguments of a token command and a proxy's password stay in the file."""
    inside(
        *("context", "add", "a", "--engine", "https://a.example"),
        *("--token-command", "vault read s3cret/{tenant}", "--proxy", "http://me:s3cret@proxy:1"),
    )

    everything = [
        inside("context", action, *name, "--format", format_)
        for action, name in (("list", []), ("show", ["a"]), ("use", ["a"]))
        for format_ in ("text", "json")
    ]

    assert {answer.code for answer in everything} == {0}
    assert not any("s3cret" in answer.out + answer.err for answer in everything)
    assert "command vault" in everything[0].out
    assert "http://***@proxy:1" in everything[2].out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["use", "nope"], 2),
        (["show", "nope"], 2),
        (["show"], 2),
        (["add", "a"], 2),
        (["add", "a", "--engine", "nonsense"], 2),
        (["add", "a", "--engine", "http://a.example", "--production"], 6),
        (["add", "a", "--engine", "https://a.example", "--token-env", "A", "--token-file", "b"], 2),
        (["add", "a b", "--engine", "https://a.example"], 2),
    ],
)
def test_what_makes_no_sense_is_not_written(
    inside: Inside, arguments: list[str], code: int
) -> None:
    """And the list stays empty."""
    assert inside("context", *arguments).code == code
    assert inside("context", "list").out.startswith("no contexts")


def test_a_context_leads_commands_to_its_engine(knobctl: Knobctl) -> None:
    """The current one without a word, another by its name, a URL past all of them."""
    for name in ("one", "two"):
        with embedded(knobctl.folder / f"{name}.db") as engine:
            write(engine, name, FIRST)
        knobctl("context", "add", name, "--engine", f"embedded:{knobctl.folder / name}.db")
    knobctl("context", "use", "one")

    def tenants(*arguments: str, **environment: str) -> list[str]:
        answer = knobctl("get", "--format", "json", *arguments, **environment)
        return [one["tenant"] for one in answer.json["tenants"]]

    two = f"embedded:{knobctl.folder / 'two.db'}"
    assert tenants() == ["one"]
    assert tenants("--context", "two") == ["two"]
    assert tenants(KNOBCTL_CONTEXT="two") == ["two"]
    assert tenants("--engine", two) == ["two"]
    assert tenants(KNOBCTL_ENGINE=two) == ["two"]
    assert tenants("--context", "one", KNOBCTL_ENGINE=two) == ["one"]
    assert tenants("--engine", two, KNOBCTL_CONTEXT="one") == ["two"]


def test_production_refuses_insecure(inside: Inside) -> None:
    """Whatever the command."""
    inside("context", "add", "prod", "--engine", "https://p.example", "--production")

    answer = inside("get", "acme", "--context", "prod", "--insecure")

    assert answer.code == 6
    assert "marked production" in answer.err


def test_tokens_come_from_the_contexts_source(knobctl: Knobctl) -> None:
    """A variable, a file, a command with one token a tenant."""
    token = knobctl.write("token", "acme-token\n")
    token.chmod(0o600)
    sources = {
        "env": ["--token-env", "MY_TOKEN"],
        "file": ["--token-file", "token"],
        "command": ["--token-command", "printf %s {tenant}-token"],
    }
    with GivenEngine() as given:
        given.sets["acme"] = {"rrfK": 30}
        for name, source in sources.items():
            added = knobctl("context", "add", name, "--engine", given.url, *source)
            answer = knobctl(
                "get", "acme", "--context", name, "--format", "json", MY_TOKEN="acme-token"
            )

            assert added.code == 0, added.err
            assert answer.json["tenants"][0]["knobs"] == {"rrf_k": 30}


def test_a_token_file_that_others_can_read_is_said_unless_quiet(inside: Inside) -> None:
    """On stderr, with the command that mends it."""
    token = inside.write("token", "acme-token\n")
    token.chmod(0o644)
    with GivenEngine() as given:
        loud = inside("get", "acme", "--engine", given.url, "--token-file", "token")
        quiet = inside("get", "acme", "-q", "--engine", given.url, "--token-file", "token")

    assert "chmod 600 token" in loud.err
    assert quiet.err == ""
    assert loud.code == quiet.code == 0


class Proxy(BaseHTTPRequestHandler):
    """A proxy that forwards nothing and remembers what it was asked."""

    asked: list[str]

    def do_POST(self) -> None:
        self.asked.append(self.requestline)
        self.send_error(502)

    def do_CONNECT(self) -> None:
        self.asked.append(self.requestline)
        self.send_error(502)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[str]]]:
    """The address of a proxy, and what it was asked."""
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Proxy,), {"asked": asked}))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_environments_proxy_is_used(knobctl: Knobctl, proxy: tuple[str, list[str]]) -> None:
    """Through a tunnel for https; its password is not repeated."""
    address, asked = proxy

    answer = knobctl(
        *("get", "acme", "-v", "--engine", "https://engine.invalid"),
        HTTPS_PROXY=f"http://me:s3cret@{address}",
        KNOBCTL_TOKEN="abcdef",
    )

    assert answer.code == 8
    assert "proxy" in answer.err
    assert asked[0].startswith("CONNECT engine.invalid:443")
    assert "s3cret" not in answer.err


def test_a_contexts_proxy_is_used(inside: Inside, proxy: tuple[str, list[str]]) -> None:
    """Without any variable."""
    address, asked = proxy
    inside(
        "context", "add", "a", "--engine", "https://engine.invalid", "--proxy", f"http://{address}"
    )

    assert inside("get", "acme", "--context", "a").code == 8
    assert asked


def test_this_machine_is_never_reached_through_a_proxy(
    knobctl: Knobctl, proxy: tuple[str, list[str]]
) -> None:
    """A token for a local engine does not leave the machine."""
    address, asked = proxy
    with GivenEngine() as given:
        answer = knobctl(
            *("get", "acme", "--engine", given.url),
            HTTP_PROXY=f"http://{address}",
            http_proxy=f"http://{address}",
            ALL_PROXY=f"http://{address}",
            KNOBCTL_TOKEN="acme-token",
        )

    assert answer.code == 0
    assert asked == []


def test_hosts_of_no_proxy_are_reached_directly(
    knobctl: Knobctl, proxy: tuple[str, list[str]]
) -> None:
    """As every other program does it."""
    address, asked = proxy

    knobctl(
        *("get", "acme", "--insecure", "--engine", "http://127.0.0.1.invalid:1"),
        HTTP_PROXY=f"http://{address}",
        NO_PROXY="invalid",
    )

    assert asked == []


def test_a_ca_bundle_that_is_not_there_is_usage(knobctl: Knobctl) -> None:
    """Found before anything is sent."""
    answer = knobctl(
        "get", "acme", "--engine", "https://engine.invalid", REQUESTS_CA_BUNDLE="none.pem"
    )

    assert answer.code == 2
    assert "none.pem" in answer.err
