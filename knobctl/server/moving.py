"""Moves all that a store holds into another, whole or not at all."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from knobctl.chain import FIRST_PREVIOUS_HASH, is_whole
from knobctl.errors import EngineError, RefusedError
from knobctl.server.store.interface import StoreUnavailableError
from knobctl.server.store.moved import CHUNKS, CORPORA, EVENTS, PRINCIPALS, SETS, moved_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from knobctl.knobs import Catalogue
    from knobctl.server.candidates.interface import Candidates
    from knobctl.server.store.interface import Session, Store
    from knobctl.server.store.moved import MovedTable

ROWS_AT_ONCE: Final = 500
NOTHING_WRITTEN: Final = "nothing was written to the target"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What was moved, and read back equal."""

    rows: Mapping[str, int]
    """By table."""

    @property
    def sets(self) -> int:
        """Tenants' sets."""
        return self.rows[SETS]

    @property
    def events(self) -> int:
        """Audit events."""
        return self.rows[EVENTS]

    @property
    def principals(self) -> int:
        """Tokens."""
        return self.rows[PRINCIPALS]

    @property
    def corpora(self) -> int:
        """Tenants with a corpus."""
        return self.rows[CORPORA]

    @property
    def chunks(self) -> int:
        """Their chunks."""
        return self.rows[CHUNKS]


@dataclass(slots=True)
class _Seen:
    """What went by of a table: how many rows, and a digest over all of them in their order."""

    rows: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def see(self, row: Sequence[object]) -> None:
        self.rows += 1
        for value in row:
            part = value if isinstance(value, bytes) else repr(_plain(value)).encode()
            self.digest.update(b"%d:" % len(part) + part)

    def equals(self, other: _Seen) -> bool:
        return (self.rows, self.digest.digest()) == (other.rows, other.digest.digest())


def move(
    source: Store,
    target: Store,
    catalogue: Catalogue,
    *,
    progress: Callable[[str, int], None] = lambda *_: None,
) -> Moved:
    """Copy everything from one moment of a store into an empty one, in one transaction.

    Args:
        source: Is only read.
        target: Holds nothing.
        catalogue: The knobs of both.
        progress: Told of rows that were copied, or read back, of which table; what it raises stops the move.

    Raises:
        RefusedError: If the target holds something.
        EngineError: If a store cannot be asked, the source's audit log is broken, or what is read
            back is not what was written. Then nothing of it is in the target.
    """
    tables = moved_tables(catalogue)
    try:
        with target.receiving() as into:
            _require_empty(into, tables)
            with source.reading() as session:
                seen = {table.name: _copy(session, into, table, progress) for table in tables}
                identity = session.corpus.embedder()
            if identity:
                into.corpus.set_embedder(identity)
            for table in tables:
                if not _read_back(into, table, progress).equals(seen[table.name]):
                    raise EngineError(
                        f"{table.name} reads back differently from what was written",
                        hint=NOTHING_WRITTEN,
                    )
            _require_whole_chains(into, tables)
    except StoreUnavailableError as error:
        raise EngineError(f"a store cannot be asked: {error}", hint=NOTHING_WRITTEN) from error
    return Moved(rows={name: one.rows for name, one in seen.items()})


def fill(
    candidates: Candidates, store: Store, *, progress: Callable[[str, int], None] = lambda *_: None
) -> None:
    """Bring an index outside the store to all that it holds; one that is cut off goes on later.

    Raises:
        CandidatesUnavailableError: If the index cannot be asked.
        StoreUnavailableError: If the store cannot.
    """
    with store.reading() as session:
        tenants = list(session.corpus.tenants())
    for tenant in tenants:
        candidates.follow(tenant)
        progress("indexes", 1)


def _require_empty(session: Session, tables: Iterable[MovedTable]) -> None:
    held = [table.name for table in tables if any(True for _ in session.rows_of(table))]
    if held or session.corpus.embedder():
        raise RefusedError(
            f"the target holds something already ({', '.join(held) or 'an embedder'}); {NOTHING_WRITTEN}",
            hint="name a database or a file that holds nothing",
        )


def _copy(
    source: Session, target: Session, table: MovedTable, progress: Callable[[str, int], None]
) -> _Seen:
    seen = _Seen()
    for batch in _batches(source.rows_of(table)):
        for row in batch:
            seen.see(row)
        target.put_rows(table, batch)
        progress(f"{table.name}, copied", len(batch))
    return seen


def _read_back(session: Session, table: MovedTable, progress: Callable[[str, int], None]) -> _Seen:
    seen = _Seen()
    for batch in _batches(session.rows_of(table)):
        for row in batch:
            seen.see(row)
        progress(f"{table.name}, read back", len(batch))
    return seen


def _plain(value: object) -> object:
    """A number whichever way a store has it: 8.0 is 8."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _batches(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        yield batch


def _require_whole_chains(session: Session, tables: Sequence[MovedTable]) -> None:
    """See that every event continues its tenant's chain, and that every set is at its chain's head."""
    heads: dict[str, object] = {}
    sets, events = (next(one for one in tables if one.name == name) for name in (SETS, EVENTS))
    for row in session.rows_of(events):
        tenant, text = (row[events.columns.index(name)] for name in ("tenant_id", "event"))
        event = _event(text)
        if event.get("previous_hash") != heads.get(tenant, FIRST_PREVIOUS_HASH) or not is_whole(
            event
        ):
            raise _broken(tenant, str(event.get("revision", "an event that cannot be read")))
        heads[tenant] = event["hash"]
    for row in session.rows_of(sets):
        tenant, head = (row[sets.columns.index(name)] for name in ("tenant_id", "head_hash"))
        if heads.pop(tenant, None) != head:
            raise _broken(tenant, "its head, which the stored set does not name")
    for tenant in heads:
        raise _broken(tenant, "its head, which no stored set names")


def _event(text: str) -> Mapping[str, Any]:
    try:
        event = json.loads(text)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _broken(tenant: str, place: str) -> EngineError:
    return EngineError(
        f"the audit log of {tenant} is broken at {place}",
        hint=f"{NOTHING_WRITTEN}; see knobctl history {tenant} --verify, and restore the source from a backup",
    )
