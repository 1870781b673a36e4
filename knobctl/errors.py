"""What can stop knobctl, and the one table of exit codes."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable


class ExitCode(IntEnum):
    """The exit codes of every command, format and verbosity."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    CHANGES = 3
    FINDINGS = 4
    WARNINGS = 5
    REFUSED = 6
    CONFLICT = 7
    ENGINE = 8
    PARTIAL = 9
    UNKNOWN = 10
    ROLLED_BACK = 11
    INTERRUPTED = 130
    TERMINATED = 143

    @property
    def outcome(self) -> str:
        """The name that machine-readable output carries."""
        match self:
            case ExitCode.ROLLED_BACK:
                return "rolled back"
            case ExitCode.TERMINATED:
                return "interrupted"
            case _:
                return self.name.lower()


PRECEDENCE: Final = tuple(
    ExitCode(code) for code in (10, 9, 11, 7, 8, 1, 130, 143, 6, 2, 4, 5, 3, 0)
)


def gravest(codes: Iterable[ExitCode]) -> ExitCode:
    """Give the code that wins when several apply; `OK` where none does."""
    return min(codes, key=PRECEDENCE.index, default=ExitCode.OK)


class KnobctlError(Exception):
    """The tool is unable to work. Raised once, caught once (in `cli/edge.py`)."""

    exit_code: ExitCode = ExitCode.INTERNAL

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class AnswerError(KnobctlError):
    """The answer could not be delivered; what was done by then is done."""


class InstallationError(KnobctlError):
    """What ships with knobctl is not there, or not as it was shipped."""


class UsageError(KnobctlError):
    """Bad arguments, no files, no policies, an unknown tenant on the command line."""

    exit_code = ExitCode.USAGE


class InputError(KnobctlError):
    """Something the user gave cannot be read, and no document finding can say so."""

    exit_code = ExitCode.FINDINGS


class RefusedError(KnobctlError):
    """A guard stopped us before any write."""

    exit_code = ExitCode.REFUSED


class ConflictError(KnobctlError):
    """Live moved since the plan, or the plan is applied already; nothing written."""

    exit_code = ExitCode.CONFLICT


class EngineError(KnobctlError):
    """The engine could not be reached, did not let us in, refused, or answered nonsense."""

    exit_code = ExitCode.ENGINE


class UnknownOutcomeError(KnobctlError):
    """A write was sent and its result could not be established, or reads back differently."""

    exit_code = ExitCode.UNKNOWN
