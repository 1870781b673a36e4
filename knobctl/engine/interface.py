"""What knobctl needs of an engine, whichever way it is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, runtime_checkable

from knobctl.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from knobctl.knobs import KnobValue
    from knobctl.server.retrieval.embedder import Vectors
    from knobctl.server.retrieval.stored_vectors import StoredVectors

NEVER_WRITTEN = ""
"""The revision of a tenant that was never written: absence is a revision."""
NOTHING: Final[Mapping[str, Any]] = {}
"""What is unknown in a set of which everything is known; the same one for all of them."""


class TenantNotFoundError(EngineError):
    """The engine has no such tenant for this caller."""


class NotOfferedError(EngineError):
    """The engine does not offer a method that is our extension of the given contract."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One field that the engine refused, and why."""

    field_path: str
    description: str


class EngineRefusedError(EngineError):
    """The engine was reached, understood the call and refused it; nothing was written."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        violations: tuple[Violation, ...] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        """The Connect code, such as `invalid_argument`."""
        self.violations = violations


class LiveSet(NamedTuple):
    """A tenant's set as the engine holds it.

    A tuple, because there are many: making one costs a fifth of what a frozen dataclass does.
    """

    tenant: str
    knobs: Mapping[str, KnobValue]
    """The canonical set: knobs at 0 or UNSPECIFIED are not in it."""
    revision: str | None
    """Opaque; `NEVER_WRITTEN` for a tenant without a set, None where the engine has no revisions."""
    updated_at: str | None = None
    updated_by: str | None = None
    unknown: Mapping[str, Any] = NOTHING
    """What is stored and the schema does not know, raw: a full replace would lose it.

    Fields by their name on the wire. A knob that the schema has stands here under its canonical name
    where it holds a value that the schema does not take, such as a mode of a newer engine; it is then
    not in `knobs`.
    """
    last_good: bool = False
    """Whether the engine could not ask its store, so that this is the last good set, still in force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The engine's answer to a write."""

    knobs: Mapping[str, KnobValue]
    revision: str | None
    changed_field_paths: tuple[str, ...] | None
    """None where the engine does not say."""


@runtime_checkable
class HoldsVectors(Protocol):
    """An engine whose store is at hand, so that its vectors can be measured."""

    def stored_vectors(self, tenant: str) -> StoredVectors:
        """Read the vectors of a tenant's corpus.

        Raises:
            EngineError: If the store cannot be asked, or retrieval is not offered.
        """

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as questions are.

        Raises:
            EngineError: If the embedder cannot be asked, or retrieval is not offered.
        """


class Engine(Protocol):
    """An engine's knobs and retrieval, for one caller. Safe to call from several threads.

    Every method raises `EngineError` where the engine cannot be reached, does not let the caller in
    or answers nonsense, and nothing was written.
    """

    @property
    def name(self) -> str:
        """How people name it: `embedded:engine.db`, `https://engine.example`."""

    def read(self, tenant: str) -> LiveSet:
        """Read one tenant's set.

        Raises:
            TenantNotFoundError: If the caller does not hold the tenant.
        """

    def list(self) -> Iterator[LiveSet]:
        """Read the sets of every tenant that the caller holds, by tenant.

        Raises:
            NotOfferedError: If the engine has no such method.
        """

    def replace(
        self,
        tenant: str,
        knobs: Mapping[str, KnobValue],
        *,
        expected_revision: str | None,
        reason: str,
        idempotency_key: str,
        expected_knobs: Mapping[str, KnobValue] | None = None,
    ) -> Receipt:
        """Replace a tenant's whole set.

        Args:
            tenant: Whose set.
            knobs: The canonical set; what is left out goes back to the platform default.
            expected_revision: The revision that this set was made against; None to write unguarded
                (only where the engine has no revisions).
            reason: Goes into the audit event.
            idempotency_key: The same key never writes twice.
            expected_knobs: The set that this one was made against. An engine without revisions is
                read immediately before the write and must still hold it; and where the answer to a
                write is lost, this is what "nothing was written" is measured by.

        Raises:
            ConflictError: If the tenant is at another revision; nothing was written.
            EngineError: If the engine refused; provably nothing was written.
            UnknownOutcomeError: If the write was sent and its result could not be established.
        """

    def audit_events(
        self, tenant: str | None = None, *, since: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Audit events, oldest first, in the snake_case shape of the contract.

        Args:
            tenant: Whose; every tenant's that the caller holds if None.
            since: RFC 3339 time; only events at or after it.

        Raises:
            NotOfferedError: If the engine has no such method.
        """

    def search(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Search; as the other calls of retrieval, in the wire's own JSON, lowerCamelCase.

        Raises:
            NotOfferedError: If the engine does not retrieve.
            TenantNotFoundError: If the caller does not hold the tenant.
            EngineRefusedError: If the engine refused the request.
        """

    def assemble(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call AssembleContext.

        Raises:
            NotOfferedError: As `search`.
        """

    def evaluate(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Evaluate: what the engine would answer under a proposed set, without writing it.

        Raises:
            NotOfferedError: As `search`; it is our extension.
        """

    def describe(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Describe: how much there is to search.

        Raises:
            NotOfferedError: As `search`; it is our extension.
        """

    def assert_addresses(self, tenants: Collection[str]) -> None:
        """Make sure, before any write, that a write to each tenant can reach that tenant.

        Raises:
            RefusedError: If the engine takes the tenant from the token alone and one token would
                stand for several of these tenants: every set would land in one.
        """

    def close(self) -> None:
        """Give back connections and files."""
