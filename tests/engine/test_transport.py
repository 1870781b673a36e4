"""What the network can do to a call that carries a token: TLS, redirects, slowness, hostile bodies."""

from __future__ import annotations

import gzip
import ssl
import subprocess
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from knobctl.engine.http import HttpEngine
from knobctl.engine.network import Network, assert_bundle
from knobctl.engine.tokens import GivenToken
from knobctl.errors import EngineError, UsageError
from knobctl.knobs import load_catalogue
from tests.given_engine import GET, Fault, GivenEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TOKEN = GivenToken("acme-token", "the test")


def client(url: str, ca_bundle: Path | None = None, answer_timeout_s: float = 5.0) -> HttpEngine:
    """A client that repeats little and trusts one bundle."""
    network = Network(
        ca_bundle=ca_bundle, answer_timeout_s=answer_timeout_s, retries=1, backoff_s=0.01
    )
    return HttpEngine(url, load_catalogue(), tokens=TOKEN, network=network, notice=lambda _: None)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes self-signed certificates, key and certificate in one file."""
    folder = tmp_path_factory.mktemp("certificates")

    def make(name: str, alternative: str = "IP:127.0.0.1", days: int = 1) -> Path:
        path = folder / f"{name}.pem"
        if path.exists():
            return path
        key, request, signed = (folder / f"{name}.{kind}" for kind in ("key", "csr", "crt"))
        subject = ("-subj", f"/CN={name}", "-addext", f"subjectAltName={alternative}")
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        openssl("req", "-new", *curve, *subject, "-keyout", key, "-out", request)
        extensions = ("-copy_extensions", "copyall", "-days", str(days))
        openssl("x509", "-req", "-in", request, "-signkey", key, *extensions, "-out", signed)
        path.write_bytes(key.read_bytes() + signed.read_bytes())
        return path

    return make


def openssl(*arguments: str | Path) -> None:
    """Run openssl."""
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def serving(pem: Path) -> ssl.SSLContext:
    """The server's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


def test_a_certificate_of_the_bundle_is_trusted(certificate: Callable[..., Path]) -> None:
    """A private authority is named by --ca-bundle's setting, and only then accepted."""
    pem = certificate("own")
    with GivenEngine(tls=serving(pem)) as given:
        given.sets["acme"] = {"rrfK": 30}
        engine = client(given.url, ca_bundle=pem)

        assert engine.read("acme").knobs == {"rrf_k": 30}
        engine.close()


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Callable[..., Path]) -> None:
    """Without the bundle the token is not sent."""
    with GivenEngine(tls=serving(certificate("own"))) as given:
        with pytest.raises(EngineError, match="certificate that is not trusted: self-signed"):
            client(given.url).read("acme")

        assert given.calls == []


def test_what_to_do_about_a_connection_is_said_where_it_is_known(
    certificate: Callable[..., Path],
) -> None:
    """An issuer of one's own can be trusted; a name that differs or a plain port can not."""
    pem = certificate("other", "DNS:elsewhere.example")
    with GivenEngine(tls=serving(pem)) as given, GivenEngine() as plain:
        with pytest.raises(EngineError) as unknown:
            client(given.url).read("acme")
        with pytest.raises(EngineError) as other_name:
            client(given.url, ca_bundle=pem).read("acme")
        with pytest.raises(EngineError, match="wrong version number") as no_tls:
            client(plain.url.replace("http:", "https:")).read("acme")

    assert "--ca-bundle" in str(unknown.value.hint)
    assert other_name.value.hint is None
    assert "http://" in str(no_tls.value.hint)


def test_a_certificate_for_another_name_is_refused(certificate: Callable[..., Path]) -> None:
    """The chain is fine, the name is not."""
    pem = certificate("other", "DNS:elsewhere.example")
    with GivenEngine(tls=serving(pem)) as given:
        with pytest.raises(EngineError, match=r"not trusted: .*mismatch"):
            client(given.url, ca_bundle=pem).read("acme")

        assert given.calls == []


def test_an_expired_certificate_is_refused(certificate: Callable[..., Path]) -> None:
    """The name is fine, the time is not."""
    pem = certificate("old", days=-1)
    with GivenEngine(tls=serving(pem)) as given:
        with pytest.raises(EngineError, match="certificate has expired"):
            client(given.url, ca_bundle=pem).read("acme")

        assert given.calls == []


@pytest.mark.parametrize("content", [b"no certificates here", b"", b"\x00\xff"])
def test_a_bundle_that_holds_no_certificates_is_usage(tmp_path: Path, content: bytes) -> None:
    """Found before anything is sent, and never "trust everybody"."""
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(content)

    with pytest.raises(UsageError, match="holds no certificates"):
        assert_bundle(bundle)


def test_a_bundle_that_is_not_there_is_usage(tmp_path: Path) -> None:
    """With the system's word."""
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        assert_bundle(tmp_path / "none.pem")


def test_an_old_protocol_is_refused(certificate: Callable[..., Path]) -> None:
    """TLS 1.1 and older are no TLS."""
    pem = certificate("own")
    context = serving(pem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with GivenEngine(tls=context) as given:
        with pytest.raises(EngineError, match="broke the secure connection"):
            client(given.url, ca_bundle=pem).read("acme")

        assert given.calls == []


class Elsewhere(BaseHTTPRequestHandler):
    """A place where a redirect leads; remembers what it was sent."""

    seen: list[str]

    def do_POST(self) -> None:
        self.seen.append(str(self.headers))
        self.send_error(500)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """The URL of another server, and what it was sent."""
    seen: list[str] = []
    handler = type("Handler", (Elsewhere,), {"seen": seen})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", seen
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("secure", [True, False])
def test_a_redirect_is_not_followed(
    certificate: Callable[..., Path], elsewhere: tuple[str, list[str]], secure: bool
) -> None:
    """Neither to another host nor from https down to http: the token stays where it was sent."""
    url, seen = elsewhere
    pem = certificate("own")
    with GivenEngine(tls=serving(pem) if secure else None) as given:
        given.fail(Fault.REDIRECT, method=GET, argument=url)
        with pytest.raises(EngineError, match="redirects are not followed"):
            client(given.url, ca_bundle=pem).read("acme")

    assert seen == []


def test_an_engine_that_does_not_answer_in_time_is_given_up() -> None:
    """The patience is bounded and named."""
    with GivenEngine() as given:
        given.fail(Fault.SLOW, method=GET, times=2, argument=1.0)
        with pytest.raises(EngineError, match=r"gave no answer within 0\.3 s"):
            client(given.url, answer_timeout_s=0.3).read("acme")


def test_an_endless_answer_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays bounded."""
    monkeypatch.setattr("knobctl.engine.transport.MAX_ANSWER_BYTES", 10_000)
    with GivenEngine() as given:
        given.fail(Fault.BODY, method=GET, argument=b" " * 50_000, times=2)
        with pytest.raises(EngineError, match="more than 10,000 bytes"):
            client(given.url).read("acme")


class Bomb(BaseHTTPRequestHandler):
    """Answers with a megabyte that unpacks to a gigabyte."""

    body = gzip.compress(b" " * (1 << 26))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_compressed_bomb_is_cut_short() -> None:
    """The limit counts unpacked bytes, and nothing is unpacked beyond it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bomb)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        with pytest.raises(EngineError, match="more than 16,777,216 bytes"):
            client(f"http://127.0.0.1:{server.server_address[1]}").read("acme")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_what_is_no_engine_says_where_the_url_ends() -> None:
    """A server without the service is told from an engine that has trouble."""
    with (
        GivenEngine() as given,
        pytest.raises(EngineError, match="no knobs service at this address"),
    ):
        client(f"{given.url}/deeper").read("acme")
