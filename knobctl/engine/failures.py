"""Why a call gave no answer of the contract, in words, and whether the engine may have acted on it."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

import requests
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ReadTimeoutError
from urllib3.exceptions import ProxyError as PoolProxyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.engine.answers import WireError
    from knobctl.engine.network import Network

PASSING_STATUSES: Final = (429, 502, 503, 504)
"""HTTP statuses that may be gone when one asks again."""


class CallFailedError(Exception):
    """A call that gave no answer of the contract."""

    def __init__(self, reason: str, *, started: bool, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        """In words, safe to show."""
        self.hint = hint
        """What to do, where that is known."""
        self.started = started
        """Whether the engine may have acted on the call."""


class BrokenOffError(CallFailedError):
    """The answer began and did not end."""


class CallRefusedError(Exception):
    """The engine, or something before it, answered with an error."""

    def __init__(self, error: WireError, status: int, *, alone: bool) -> None:
        super().__init__(f"{error.code}: {error.message}" if error.message else error.code)
        self.error = error
        self.status = status
        self.alone = alone
        """Whether no earlier attempt was lost on the way, so that this answer speaks for the call."""

    @property
    def is_final(self) -> bool:
        """Whether the engine itself ended the only attempt, so that nothing of it is under way."""
        return self.alone and self.error.connect and self.error.code != "deadline_exceeded"

    @property
    def is_passing(self) -> bool:
        """Whether the same call may be answered later."""
        return self.status in PASSING_STATUSES or self.error.code in {
            "unavailable",
            "deadline_exceeded",
        }


_KINDS: Final[tuple[tuple[type[BaseException], str, bool], ...]] = (
    # what it is, in words, whether the engine may have seen the call; the first that is found counts
    (ssl.SSLCertVerificationError, "has a certificate that is not trusted: {cause}", False),
    (PoolProxyError, "is behind a proxy that could not be used", False),
    (NewConnectionError, "could not be reached: {cause}", False),  # urllib3 calls it a time-out too
    (ConnectTimeoutError, "could not be reached within {connect:g} s", False),
    (ReadTimeoutError, "gave no answer within {answer:g} s", True),
    (ssl.SSLError, "broke the secure connection: {cause}", True),
    (requests.exceptions.InvalidURL, "cannot be called under this URL", False),
    (requests.exceptions.InvalidHeader, "cannot be called with this token", False),
)


_UNKNOWN_ISSUER: Final = (18, 19, 20, 21)
"""OpenSSL: self-signed, or an issuer that is not there to verify with."""
_TRUST: Final = (
    "if it is yours, trust its issuer: SSL_CERT_FILE=FILE, or knobctl context add --ca-bundle FILE"
)


def explained(error: requests.RequestException, network: Network) -> CallFailedError:
    """Say in words why there is no answer, and whether the engine may have seen the call."""
    causes = list(_causes(error))
    for kind, words, started in _KINDS:
        if any(isinstance(cause, kind) for cause in causes):
            text = words.format(
                cause=_deepest(causes),
                connect=network.connect_timeout_s,
                answer=network.answer_timeout_s,
            )
            return CallFailedError(text, started=started, hint=_hint(causes))
    return CallFailedError("closed the connection without an answer", started=True)


def _hint(causes: list[BaseException]) -> str | None:
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _TRUST if cause.verify_code in _UNKNOWN_ISSUER else None
        if isinstance(cause, ssl.SSLError) and cause.reason == "WRONG_VERSION_NUMBER":
            return "what answers there does not speak TLS; is it http://, or another port?"
    return None


def _deepest(causes: list[BaseException]) -> str:
    """What the operating system or the TLS library said, if anything."""
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return cause.reason.replace("_", " ").lower()
        if isinstance(cause, OSError) and isinstance(cause.strerror, str):
            return cause.strerror
    return "no reason given"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Walk what an exception of requests wraps: reasons, arguments and causes."""
    todo: list[BaseException] = [error]
    seen: set[int] = set()
    while todo:
        current = todo.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        inner = [getattr(current, "reason", None), *current.args]
        inner += [current.__cause__, current.__context__]
        todo += [item for item in inner if isinstance(item, BaseException)]
