"""Reads what an engine answers: bounded, strict, and never trusted to be what it should be."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from knobctl.engine.interface import Violation
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
EXCERPT_CHARACTERS: Final = 120
SHORTEST_SECRET: Final = 6
"""What is shorter is no secret, and would be found inside words."""
BAD_REQUEST: Final = "google.rpc.BadRequest"

CODE_OF_STATUS: Final[Mapping[int, str]] = {
    400: "internal",
    401: "unauthenticated",
    403: "permission_denied",
    404: "unimplemented",
    429: "unavailable",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
}
"""What an HTTP status means where the body is no Connect error. Source: the Connect protocol."""


class NonsenseError(ValueError):
    """An answer is not what the contract says; the text says in which way."""


@dataclass(frozen=True, slots=True)
class WireError:
    """An engine's refusal, as it came."""

    code: str
    message: str
    violations: tuple[Violation, ...]
    connect: bool
    """Whether it was a Connect error, so that the engine itself spoke, not something before it."""


def parse_object(body: bytes) -> dict[str, Any]:
    """Read a JSON object, strictly: no NaN, no key twice.

    Raises:
        NonsenseError: If it is anything else.
    """
    try:
        value = json.loads(body.decode(), object_pairs_hook=_once_each, parse_constant=no_constant)
    except NonsenseError:
        raise
    except RecursionError as error:
        raise NonsenseError("JSON nested too deeply") from error
    except ValueError as error:
        raise NonsenseError("no JSON") from error
    if not isinstance(value, dict):
        raise NonsenseError("JSON, but no object")
    return value


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NonsenseError("a key stands there twice")
    return found


def no_constant(text: str) -> None:
    """Refuse a bare word that Python's parser takes and JSON does not have.

    Raises:
        NonsenseError: Always.
    """
    raise NonsenseError(f"the bare word {text}")


def wire_error(status: int, body: bytes) -> WireError:
    """Read the body of an answer that is not 200; the HTTP status speaks where it is no Connect error."""
    try:
        error = parse_object(body)
    except NonsenseError:
        error = {}
    code = error.get("code")
    if not isinstance(code, str) or not code:
        return WireError(CODE_OF_STATUS.get(status, "unknown"), "", (), connect=False)
    message = error.get("message")
    details = error.get("details")
    return WireError(
        code,
        message if isinstance(message, str) else "",
        tuple(_violations(details if isinstance(details, list) else [])),
        connect=True,
    )


def _violations(details: list[Any]) -> Iterator[Violation]:
    for detail in details:
        if not isinstance(detail, dict) or detail.get("type") != BAD_REQUEST:
            continue
        yield from _from_debug(detail.get("debug")) or _from_value(detail.get("value"))


def _from_debug(debug: Any) -> list[Violation]:  # noqa: ANN401  any JSON may come
    found = debug.get("fieldViolations") if isinstance(debug, dict) else None
    return [
        Violation(str(violation.get("field", "")), str(violation.get("description", "")))
        for violation in (found if isinstance(found, list) else [])
        if isinstance(violation, dict)
    ]


def _from_value(value: Any) -> list[Violation]:  # noqa: ANN401  any JSON may come
    """Decode a serialised BadRequest; what cannot be decoded gives none."""
    if not isinstance(value, str):
        return []
    try:
        raw = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
        return [
            Violation(
                fields.get(1, b"").decode("utf-8", "replace"),
                fields.get(2, b"").decode("utf-8", "replace"),
            )
            for number, content in _fields(raw)
            if number == 1
            for fields in [dict(_fields(content))]
        ]
    except (binascii.Error, ValueError, IndexError):
        return []


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Walk the length-delimited fields of a protobuf message: all that BadRequest consists of."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 != 2:
            raise ValueError("a field that is no text and no message")
        size, at = _varint(message, at)
        if at + size > len(message):
            raise ValueError("a field is cut off")
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number that is too long")


def excerpt(body: bytes, token: str | None) -> str:
    """The beginning of an answer, without the token, on one line and safe for a terminal."""
    # Far more than is shown, so that no token is cut in two before it is taken out.
    text = " ".join(without_token(body[: 1 << 17].decode("utf-8", "replace"), token).split())
    return visible(text if len(text) <= EXCERPT_CHARACTERS else f"{text[:EXCERPT_CHARACTERS]}...")


def without_token(text: str, token: str | None) -> str:
    """Take the token out of what an engine said, in the spellings in which it could come back."""
    if not token or len(token) < SHORTEST_SECRET:
        return text
    raw = token.encode()
    for spelling in (
        token,
        quote(token, safe=""),
        base64.b64encode(raw).decode().rstrip("="),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
    ):
        text = text.replace(spelling, "[token]")
    return text
