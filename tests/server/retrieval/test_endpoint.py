"""An OpenAI-compatible endpoint, asked over a real socket."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from knobctl.errors import UsageError
from knobctl.server.retrieval.embedder import EmbedderUnavailableError
from knobctl.server.retrieval.embedding import open_embedder
from knobctl.server.retrieval.endpoint import TEXTS_A_CALL, Endpoint

KEY = "sk-very-secret"


@dataclass
class Served:
    """What the endpoint was asked, and how it answers."""

    answer: Callable[[list[str]], Any]
    statuses: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """Of the next answers, with their headers; 200 when used up."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""


def rows(texts: list[str]) -> dict[str, Any]:
    """Vectors of the texts' lengths, last one first, each with its index."""
    found = [
        {"index": number, "embedding": [len(text), 1.0, 0.0]} for number, text in enumerate(texts)
    ]
    return {"object": "list", "data": found[::-1], "model": "m"}


@contextmanager
def serving(answer: Callable[[list[str]], Any] = rows) -> Iterator[Served]:
    served = Served(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.asked.append(asked)
            served.keys.append(self.headers["Authorization"])
            served.paths.append(self.path)
            status, headers = served.statuses.pop(0) if served.statuses else (200, {})
            found = served.answer(asked["input"])
            body = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(BrokenPipeError):  # the caller gave up
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()


def test_texts_are_asked_for_and_vectors_get_unit_length() -> None:
    """With the model, the key and nothing else; each vector goes to the text whose index it bears."""
    with serving() as served:
        embedder = open_embedder(f"openai:{served.url}/#text-embedding-3-small", key=KEY)
        vectors = embedder.embed(["ab", "a"])
    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(
        np.array([[2, 1, 0], [1, 1, 0]]) / [[5**0.5], [2**0.5]], abs=1e-6
    )
    assert served.asked == [
        {"model": "text-embedding-3-small", "input": ["ab", "a"], "encoding_format": "float"}
    ]
    assert (served.paths, served.keys) == (["/v1/embeddings"], [f"Bearer {KEY}"])


def test_without_a_key_none_is_sent() -> None:
    with serving() as served:
        Endpoint(served.url, "m").embed(["a"])
    assert served.keys == [None]


def test_many_texts_are_several_calls() -> None:
    """In the order of the texts."""
    texts = ["x" * number for number in range(1, TEXTS_A_CALL + 3)]
    with serving() as served:
        vectors = Endpoint(served.url, "m").embed(texts)
        assert len(Endpoint(served.url, "m").embed([])) == 0
    assert [len(asked["input"]) for asked in served.asked] == [TEXTS_A_CALL, 2]
    assert vectors[:, 0] / vectors[:, 1] == pytest.approx(range(1, TEXTS_A_CALL + 3), rel=1e-5)


def test_dimensions_are_learnt_from_the_first_answer() -> None:
    """By asking, where nothing was embedded yet; a later answer of another length is nonsense."""
    with serving() as served:
        embedder = Endpoint(served.url, "m")
        assert embedder.identity.dimensions == 3
        assert embedder.identity.model == "m"
        assert len(served.asked) == 1
        served.answer = lambda _: {"data": [{"index": 0, "embedding": [1.0, 0.0]}]}
        with pytest.raises(EmbedderUnavailableError, match="have 2 dimensions, they had 3 before"):
            embedder.embed(["a"])


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        [],
        {},
        {"data": None},
        {"data": []},
        {"data": [{"index": 0, "embedding": [1, 2]}]},
        {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 0, "embedding": [1, 2]}]},
        {"data": [{"embedding": [1, 2]}, {"embedding": [1, 2]}]},
        {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}]},
        {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [0, 0]}]},
        {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [float("nan"), 0]}]},
        {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [float("inf"), 0]}]},
        {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": ["a", "b"]}]},
        {"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]},
        {"data": [{"index": 0, "embedding": 1}, {"index": 1, "embedding": 1}]},
    ],
)
def test_nonsense_is_refused(answer: Any) -> None:
    """Nothing of it becomes a vector."""
    with serving(lambda _: answer) as served, pytest.raises(EmbedderUnavailableError):
        Endpoint(served.url, "m").embed(["a", "b"])


@pytest.mark.parametrize("status", [429, 502, 503])
def test_an_endpoint_that_is_busy_is_asked_again(status: int) -> None:
    """Embedding changes nothing, so that is safe; Retry-After is honoured up to a cap."""
    with serving() as served:
        served.statuses = [(status, {"Retry-After": "0"})]
        Endpoint(served.url, "m").embed(["a"])
        assert len(served.asked) == 2
        served.statuses = [(status, {"Retry-After": "0"})] * 9
        with pytest.raises(EmbedderUnavailableError, match=f"answers HTTP {status}"):
            Endpoint(served.url, "m").embed(["a"])
        assert len(served.asked) == 5


@pytest.mark.parametrize("status", [400, 401, 404, 500])
def test_a_refusal_is_told_without_the_key(status: int, caplog: pytest.LogCaptureFixture) -> None:
    """Even where the endpoint repeats it, and with nothing that drives a terminal."""
    refusal = {"error": {"message": f"bad key {KEY} \x1b[31m"}}
    with caplog.at_level(logging.DEBUG), serving(lambda _: refusal) as served:
        served.statuses = [(status, {})]
        with pytest.raises(
            EmbedderUnavailableError, match=f"HTTP {status}: .*bad key .key."
        ) as caught:
            Endpoint(served.url, "m", key=KEY).embed(["a"])
    assert len(served.asked) == 1
    assert KEY not in str(caught.value)
    assert KEY not in caplog.text
    assert "\x1b" not in str(caught.value)


def test_redirects_are_not_followed() -> None:
    """The texts and the key stay with whom they were meant for."""
    with serving() as served, serving() as elsewhere:
        served.statuses = [(307, {"Location": f"{elsewhere.url}/embeddings"})]
        with pytest.raises(EmbedderUnavailableError, match="HTTP 307"):
            Endpoint(served.url, "m", key=KEY).embed(["a"])
        assert elsewhere.asked == []


def test_an_endpoint_that_does_not_answer_is_given_up() -> None:
    """After the time that one answer may take; it is not asked a second time."""
    waiting = threading.Event()

    def never(_: list[str]) -> Any:
        waiting.wait(5)
        return {}

    with serving(never) as served:
        with pytest.raises(EmbedderUnavailableError, match="cannot be asked"):
            Endpoint(served.url, "m", answer_timeout_s=0.2).embed(["a"])
        assert len(served.asked) == 1
        waiting.set()


def test_an_answer_that_drips_is_given_up() -> None:
    """One attempt has its time, up to the last byte."""
    times = iter([0.0, 31.0])
    with serving() as served, pytest.raises(EmbedderUnavailableError, match="drips"):
        Endpoint(served.url, "m", monotonic=lambda: next(times)).embed(["a"])


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://example.org/v1", "in the clear"),
        ("http://10.0.0.1/v1", "in the clear"),
        ("ftp://example.org", "is no URL of an embedder"),
        ("example.org/v1", "is no URL of an embedder"),
        ("https://", "is no URL of an embedder"),
        ("https://host:port/v1", "is no URL of an embedder"),
        ("https://user:secret@example.org/v1", "no user, password or query"),
        ("https://example.org/v1?key=secret", "no user, password or query"),
    ],
)
def test_a_url_that_would_leak_or_means_nothing_is_refused(url: str, said: str) -> None:
    """Before anything is sent, and without repeating a secret."""
    with pytest.raises(UsageError, match=said) as caught:
        open_embedder(f"openai:{url}#m", key=KEY)
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "url", ["https://example.org/v1", "http://localhost:1/v1", "http://[::1]:1/v1"]
)
def test_https_and_loopback_are_taken(url: str) -> None:
    """Without being asked yet."""
    assert open_embedder(f"openai:{url}#m").longest > 0
