"""Sends one Connect call over HTTP and gives its JSON: sessions, time limits, repetitions, TLS."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from knobctl.engine.answers import (
    MAX_ANSWER_BYTES,
    NonsenseError,
    excerpt,
    parse_object,
    wire_error,
    without_token,
)
from knobctl.engine.failures import (
    PASSING_STATUSES,
    BrokenOffError,
    CallFailedError,
    CallRefusedError,
    explained,
)
from knobctl.engine.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from knobctl.engine.network import Network

_CHUNK_BYTES: Final = 64 * 1024


class Repeat(Enum):
    """When a call may be sent again."""

    READ = "read"
    """It changes nothing: whenever it failed on the way."""
    KEYED_WRITE = "keyed write"
    """The engine honours the idempotency key: as a read."""
    BARE_WRITE = "bare write"
    """Only where it provably did not start: no connection, or told to come back later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One unary call."""

    method: str
    """`package.Service/Method`."""
    body: Mapping[str, Any]
    repeat: Repeat
    token: str | None = None
    tenant: str | None = None
    idempotency_key: str | None = None

    def headers(self, answer_timeout_s: float) -> dict[str, str]:
        """The headers of the call."""
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Connect-Protocol-Version": "1",
            "Connect-Timeout-Ms": str(int(answer_timeout_s * 1000)),
        }
        optional = {
            "Authorization": f"Bearer {self.token}" if self.token else None,
            "X-Tenant-Id": self.tenant,
            "Idempotency-Key": self.idempotency_key,
        }
        return headers | {name: value for name, value in optional.items() if value is not None}


class Transport:
    """The way to one engine. One session for each call under way; safe to call from several threads."""

    def __init__(self, url: str, network: Network, *, say: Callable[[str], None]) -> None:
        """Take the way; nothing is sent yet.

        Args:
            url: Of the engine.
            network: How the network is used.
            say: Told why a call waits, the engine being the subject.
        """
        self._url = url.rstrip("/")
        self._network = network
        self._say = say
        self._idle: list[requests.Session] = []
        self._is_closed = False

    def call(self, call: Call) -> dict[str, Any]:
        """Send a call, repeatedly where it may be, and read its answer.

        Raises:
            CallRefusedError: If the answer is an error.
            CallFailedError: If there is no answer, or it is none of the contract's.
        """
        body = self.fetch(call)
        try:
            return parse_object(body)
        except NonsenseError as error:
            raise nonsense(str(error), body, call.token) from error

    def fetch(self, call: Call) -> bytes:
        """Send a call, repeatedly where it may be, and give the body of its answer, which nobody has read.

        Raises:
            CallRefusedError: If the answer is an error.
            CallFailedError: If there is no answer.
        """
        try:
            return self._once(call)
        except BrokenOffError:
            # urllib3 repeats what fails before the answer's headers; this came after them.
            if call.repeat is Repeat.BARE_WRITE:
                raise
            return self._once(call)

    def _once(self, call: Call) -> bytes:
        if self._network.pace:
            self._network.pace.turn()
        with self._session() as session:
            return self._sent(call, session)

    def _sent(self, call: Call, session: requests.Session) -> bytes:
        adapter = session.get_adapter(self._url)
        assert isinstance(adapter, HTTPAdapter)
        # The session is lent to this call, so the policy is this call's alone.
        adapter.max_retries = retry_policy(call.repeat, self._network, self._say)
        try:
            with session.post(
                f"{self._url}/{call.method}",
                data=json.dumps(call.body, allow_nan=False).encode(),
                headers=call.headers(self._network.answer_timeout_s),
                timeout=(self._network.connect_timeout_s, self._network.answer_timeout_s),
                allow_redirects=False,
                stream=True,
            ) as response:
                return self._read(response, call.token)
        except requests.RequestException as error:
            raise explained(error, self._network) from error

    def _read(self, response: requests.Response, token: str | None) -> bytes:
        status = response.status_code
        lost = was_lost(response)
        if 300 <= status < 400:
            raise CallFailedError(
                f"redirects elsewhere (HTTP {status}); redirects are not followed, the token stays here",
                started=lost,
            )
        body = self._body(response)
        if status != 200:
            error = wire_error(status, body)
            if not error.connect and 200 <= status < 300:
                raise nonsense(f"HTTP {status}", body, token)
            message = without_token(error.message, token)
            raise CallRefusedError(replace(error, message=message), status, alone=not lost)
        return body

    def _body(self, response: requests.Response) -> bytes:
        """Read an answer's body, to a limit of size and of time."""
        deadline = time.monotonic() + self._network.answer_timeout_s
        body = bytearray()
        try:
            for chunk in _chunks(response.raw):
                body += chunk
                if len(body) > MAX_ANSWER_BYTES:
                    raise CallFailedError(
                        f"answered nonsense: more than {MAX_ANSWER_BYTES:,} bytes", started=True
                    )
                if time.monotonic() > deadline:
                    raise CallFailedError("drips its answer for too long", started=True)
        except (HTTPError, OSError) as error:
            raise BrokenOffError("broke off in the middle of its answer", started=True) from error
        return bytes(body)

    @contextmanager
    def _session(self) -> Iterator[requests.Session]:
        """Lend a session whose connection may be open already."""
        try:
            session = self._idle.pop()
        except IndexError:
            session = new_session(self._network)
        try:
            yield session
        finally:
            self._idle.append(session)
            if self._is_closed:
                self.close()

    def close(self) -> None:
        """Close the connections; those of calls under way as soon as these come to their end."""
        self._is_closed = True
        with suppress(IndexError):  # another thread may be closing them too
            while True:
                self._idle.pop().close()


def was_lost(response: requests.Response) -> bool:
    """Whether an attempt before this answer got as far as the engine and gave no answer."""
    retries = response.raw.retries
    return any(
        attempt.error and not isinstance(attempt.error, (NewConnectionError, ConnectTimeoutError))
        for attempt in (retries.history if retries else ())
    )


def _chunks(raw: Any) -> Iterator[bytes]:  # noqa: ANN401  requests does not type its raw response
    while chunk := raw.read1(_CHUNK_BYTES, decode_content=True):
        yield chunk


def nonsense(what: str, body: bytes, token: str | None) -> CallFailedError:
    """Say what an answer is, and how it begins; the token of the call is left out."""
    said = excerpt(body, token)
    return CallFailedError(f"answered nonsense ({what}): {said or 'nothing'}", started=True)


def new_session(network: Network) -> requests.Session:
    """Make a session that asks the environment nothing; proxy and trust are decided already."""
    session = requests.Session()
    session.trust_env = False  # a third faster, and no netrc
    session.headers.clear()
    session.headers["User-Agent"] = "knobctl"
    session.headers["Accept-Encoding"] = "gzip"
    if network.proxy:
        session.proxies = {"http": network.proxy, "https": network.proxy}
    session.verify = str(network.ca_bundle) if network.ca_bundle else True
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(pool_connections=1, pool_maxsize=1))
    return session


def retry_policy(repeat: Repeat, network: Network, say: Callable[[str], None]) -> Waiting:
    """Say when urllib3 sends a call again.

    urllib3 itself counts 429 and 503 with Retry-After as "come back later".
    """
    bare = repeat is Repeat.BARE_WRITE
    return Waiting.of(
        network,
        say,
        total=max(network.retries, network.patience),
        connect=network.retries,
        read=0 if bare else network.retries,
        other=0,
        redirect=0,
        status=network.patience,
        status_forcelist=(429,) if bare else PASSING_STATUSES,
        allowed_methods=frozenset({"POST"}),
        respect_retry_after_header=True,
        raise_on_status=False,
    )
