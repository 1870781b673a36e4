"""What the services need of a store; the catalogue of chunks is in `corpus`. One contract suite runs over every store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from knobctl.server.auth import Principal
    from knobctl.server.store.corpus import CorpusSession
    from knobctl.server.store.moved import MovedTable


class StoreUnavailableError(Exception):
    """The store cannot be asked, or what it holds cannot be read. Nothing was written."""


class OutcomeUnknownError(StoreUnavailableError):
    """The store was lost while it committed, and cannot be asked whether it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobsRow:
    """One tenant's set as the store holds it."""

    tenant: str
    values: Mapping[str, object]
    """Every knob by its canonical name, unset ones included, as the columns hold them."""
    revision: int
    updated_at: str
    updated_by: str
    head_hash: str
    """The hash of the tenant's last audit event."""
    seal: str
    """A digest over all of the above, so that a damaged row is noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKey:
    """What makes a repeated request known: its key, and a digest of what it asked for."""

    tenant: str
    actor: str
    key: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A request that was answered before."""

    digest: str
    event: dict[str, Any]


class Session(Protocol):
    """One consistent view of the store, and in a writing session its only writer."""

    @property
    def corpus(self) -> CorpusSession:
        """The catalogue of chunks."""

    def store_id(self) -> str:
        """What tells this store from every other: 32 hexadecimal digits, made with it."""

    def revision(self, tenant: str) -> int | None:
        """The revision of a tenant's set; None where none was ever written."""

    def row(self, tenant: str) -> KnobsRow | None:
        """One tenant's set."""

    def rows(self, tenants: frozenset[str] | None, *, after: str, limit: int) -> list[KnobsRow]:
        """Sets by tenant, of these tenants or of all, those behind `after` first."""

    def lost(
        self, tenants: frozenset[str] | None, *, after: str, until: str | None, limit: int
    ) -> list[str]:
        """Tenants that were written, as the audit log says, and have no row any more: behind `after`, up to `until`."""

    def last_event(self, tenant: str) -> dict[str, Any] | None:
        """The tenant's newest audit event."""

    def event_at(self, tenant: str, revision: int) -> dict[str, Any] | None:
        """The audit event that made a revision."""

    def events(
        self, tenants: frozenset[str] | None, *, since: str, after: int, limit: int
    ) -> list[tuple[int, dict[str, Any]]]:
        """Audit events with their sequence numbers, oldest first, behind the number `after`."""

    def answered(self, key: RequestKey) -> Answered | None:
        """What a request with this key led to, if one came before."""

    def write(self, row: KnobsRow, event: Mapping[str, Any], key: RequestKey | None) -> None:
        """Replace a set and append its event, both or neither."""

    def principal(self, token_id: str) -> Principal | None:
        """The principal of a token's public half."""

    def add_principal(self, principal: Principal) -> None:
        """Keep a new principal."""

    def rows_of(self, table: MovedTable) -> Iterator[tuple[Any, ...]]:
        """All rows of a table in the order of its key, with the columns that are moved, some at a time."""

    def put_rows(self, table: MovedTable, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write rows of another store into a table that does not hold them."""


class Store(Protocol):
    """A store. Safe to use from several threads, and by several processes at once."""

    reads_at_once: bool
    """Whether reading one set takes microseconds and waits for nobody: then it is not worth a thread."""

    def reading(self) -> AbstractContextManager[Session]:
        """A session that sees one moment of the store.

        Raises:
            StoreUnavailableError: If the store cannot be asked; also from within the session.
        """

    def writing(self) -> AbstractContextManager[Session]:
        """A session that nobody else writes beside; commits at its end, rolls back on an exception.

        Raises:
            StoreUnavailableError: As above; then nothing of it was written.
        """

    def ingesting(self, tenant: str) -> AbstractContextManager[Session]:
        """A session that nobody else writes this tenant's corpus beside; otherwise like `writing`."""

    def indexing(self, tenant: str) -> AbstractContextManager[Session]:
        """A session beside which nobody else brings an index outside the store forward for this tenant."""

    def receiving(self) -> AbstractContextManager[Session]:
        """A session beside which nobody writes anything at all; otherwise like `writing`."""

    def close(self) -> None:
        """Give back connections and files."""
