"""How the reference engine says no: a code of the wire contract, words, and the fields concerned."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """The error codes of the wire contract, by their Connect names."""

    INVALID_ARGUMENT = "invalid_argument"
    UNAUTHENTICATED = "unauthenticated"
    PERMISSION_DENIED = "permission_denied"
    NOT_FOUND = "not_found"
    ABORTED = "aborted"
    FAILED_PRECONDITION = "failed_precondition"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    UNAVAILABLE = "unavailable"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    UNIMPLEMENTED = "unimplemented"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Violation:
    """One field that cannot be taken, and why."""

    field: str
    """A knob by its field path, or the name of another field of the request."""
    description: str


class ServiceError(Exception):
    """The service refuses a call; nothing was written, unless the message says that it is not known."""

    def __init__(self, code: Code, message: str, violations: tuple[Violation, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.violations = violations


def invalid(*violations: Violation) -> ServiceError:
    """Refuse a request for its fields; the message says them all."""
    message = "; ".join(violation.description for violation in violations)
    return ServiceError(Code.INVALID_ARGUMENT, message, violations)
