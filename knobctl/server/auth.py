"""Who calls, and what they may do: principals, clearances and tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.server.refusal import Code, ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable

READ: Final = 3
"""The clearance that reading knobs and audit events needs."""
EDIT: Final = 4
"""The clearance that editing knobs needs; a knob may ask for more."""

_TENANT: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?")
_TOKEN: Final = re.compile(r"kct_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A principal: whoever makes a call."""

    subject: str
    clearance: int
    """0 to 5, for L0 to L5."""
    tenants: frozenset[str] | None
    """The tenants that it holds; None for every tenant."""
    sources: frozenset[str] | None = None
    """The sources that it may search; None for every source."""

    def holds(self, tenant: str) -> bool:
        """Whether a well-formed tenant is one of the caller's."""
        return is_tenant(tenant) and (self.tenants is None or tenant in self.tenants)


def local_caller(subject: str) -> Caller:
    """The caller inside the process: the local user, L4, all tenants."""
    return Caller(subject=subject, clearance=EDIT, tenants=None)


def is_tenant(name: str) -> bool:
    """Whether a text can name a tenant: 1 to 63 of a-z 0-9 . _ -, first and last a letter or digit."""
    return _TENANT.fullmatch(name) is not None


def admit(caller: Caller, tenant: str | None, clearance: int) -> str:
    """Give the tenant of a call, if the caller holds it and is cleared.

    Args:
        caller: Who calls.
        tenant: The tenant named in the call; None for the caller's only one.
        clearance: What the call needs.

    Raises:
        ServiceError: `not_found` for a tenant that the caller does not hold, whatever its clearance
            and whether or not the tenant exists; then `permission_denied`; then `invalid_argument`
            where no tenant is named and the caller holds not exactly one.
    """
    if tenant is not None and not caller.holds(tenant):
        raise ServiceError(Code.NOT_FOUND, "no such tenant")
    require(caller, clearance)
    if tenant is not None:
        return tenant
    if caller.tenants is not None and len(caller.tenants) == 1:
        return next(iter(caller.tenants))
    raise ServiceError(
        Code.INVALID_ARGUMENT,
        "the call names no tenant and its caller holds not exactly one; send X-Tenant-Id",
    )


def require(caller: Caller, clearance: int) -> None:
    """Refuse a caller under a clearance.

    Raises:
        ServiceError: `permission_denied`, with the clearance that is needed.
    """
    if caller.clearance < clearance:
        raise ServiceError(
            Code.PERMISSION_DENIED,
            f"this needs clearance L{clearance}; the caller has L{caller.clearance}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller as the store keeps it: by the public half of its token and a hash of the secret half."""

    token_id: str
    secret_hash: str
    caller: Caller
    created_at: str


def new_principal(
    caller: Caller, *, created_at: str, entropy: Callable[[int], bytes]
) -> tuple[Principal, str]:
    """Make a principal and its token.

    Args:
        caller: What the token will stand for.
        created_at: RFC 3339 time, UTC.
        entropy: Gives that many random bytes.

    Returns:
        The principal to store, and the token to show once: a public id that finds the principal,
        and a secret of 256 random bits of which only the SHA-256 is kept.
    """
    token_id = entropy(8).hex()
    secret = base64.urlsafe_b64encode(entropy(32)).rstrip(b"=").decode()
    principal = Principal(
        token_id=token_id, secret_hash=_hash(secret), caller=caller, created_at=created_at
    )
    return principal, f"kct_{token_id}_{secret}"


def token_halves(token: str) -> tuple[str, str] | None:
    """Split a token into its id and its secret; None for what is no token of ours."""
    match = _TOKEN.fullmatch(token)
    return (match[1], match[2]) if match else None


def secret_fits(secret: str, principal: Principal) -> bool:
    """Compare a secret with the stored hash, in constant time."""
    return hmac.compare_digest(_hash(secret), principal.secret_hash)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
