"""Turns what went wrong on the way to an engine into errors that a person can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.engine.interface import EngineRefusedError, TenantNotFoundError
from knobctl.errors import ConflictError, EngineError
from knobctl.text import visible

if TYPE_CHECKING:
    from knobctl.engine.failures import CallFailedError, CallRefusedError

MAX_SAID: Final = 500
_NOT_WRITTEN: Final = frozenset(
    {
        "invalid_argument",
        "unauthenticated",
        "permission_denied",
        "not_found",
        "failed_precondition",
        "resource_exhausted",
        "unimplemented",
        "out_of_range",
    }
)
"""Codes by which an engine says that it has not done what was asked."""
_HINTS: Final = {
    "unauthenticated": "give a token: --token-file, KNOBCTL_TOKEN, or the context's token source",
    "permission_denied": "reading knobs needs clearance L3, writing them L4",
    "not_found": "the token's principal does not hold this tenant, or there is none of this name",
    "resource_exhausted": "the engine wants fewer calls; try again later",
    "unavailable": "try again later",
}


def says_not_written(error: CallRefusedError) -> bool:
    """Whether an answer to a write says by itself that nothing was written."""
    return error.error.code in _NOT_WRITTEN or 400 <= error.status < 500


def speaks_of_tenant(error: CallRefusedError, tenant: str | None, revisions: bool | None) -> bool:
    """Whether an error of a method that is ours is about the call, not about the method's absence.

    Args:
        error: What came back.
        tenant: The tenant that the call was about.
        revisions: Whether the engine is known to have our extensions.
    """
    if error.error.code == "unimplemented" or (error.status == 404 and not error.error.connect):
        return False
    return error.error.code != "not_found" or (tenant is not None and revisions is True)


def refused(name: str, error: CallRefusedError, tenant: str | None) -> EngineError:
    """Say that the engine refused a call, with its own words and the fields that it names."""
    wire = error.error
    said = visible(wire.message)[:MAX_SAID] or f"HTTP {error.status}"
    if wire.code == "not_found" and wire.connect and tenant is not None:
        return TenantNotFoundError(
            f"{name} has no tenant {tenant} for us", hint=_HINTS["not_found"]
        )
    if not wire.connect and error.status == 404:
        return EngineError(
            f"{name} has no knobs service at this address (HTTP 404)",
            hint="the URL is what stands before /upsquad.contextengine.v1...",
        )
    lines = [f"{name} refused ({visible(wire.code)[:40]}): {said}"]
    for violation in wire.violations[:20]:
        line = f"  {visible(violation.field_path)}: {visible(violation.description)}"
        if violation.description not in wire.message:
            lines.append(line[:MAX_SAID])
    return EngineRefusedError(
        "\n".join(lines), code=wire.code, violations=wire.violations, hint=_HINTS.get(wire.code)
    )


def failed(name: str, error: CallFailedError) -> EngineError:
    """Say that there was no answer, or a senseless one."""
    return EngineError(f"{name} {error.reason}", hint=error.hint)


def moved(tenant: str) -> ConflictError:
    """Say that somebody else was faster; the current revision is not shown, so that nobody pastes it."""
    return ConflictError(
        f"{tenant}: the live set changed after it was read; nothing was written",
        hint="plan again, and look at what changed: knobctl history " + tenant,
    )
