"""The knobs service: Get, Update, List, audit events and Revert, for every way in."""

from __future__ import annotations

import logging
import os
import time
from contextlib import contextmanager
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from knobctl.server.audit import rfc3339
from knobctl.server.auth import (
    EDIT,
    READ,
    Caller,
    admit,
    new_principal,
    require,
)
from knobctl.server.in_force import SetsInForce
from knobctl.server.principals import Principals
from knobctl.server.refusal import Code, ServiceError, Violation, invalid
from knobctl.server.replacing import Change, Replacing, request_key
from knobctl.server.requests import (
    accepted_config,
    accepted_key,
    accepted_page_size,
    accepted_position,
    accepted_reason,
    accepted_since,
    page_token_for,
)
from knobctl.server.store import open_store
from knobctl.server.store.interface import StoreUnavailableError
from knobctl.server.stored import Page, Stored, Updated, revision_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from knobctl.knobs import Catalogue, KnobValue
    from knobctl.server.store.interface import KnobsRow, Session, Store

log: Final = logging.getLogger(__name__)


def open_service(
    store_url: str,
    catalogue: Catalogue,
    *,
    clock: Callable[[], datetime],
    entropy: Callable[[int], bytes] = os.urandom,
    monotonic: Callable[[], float] = time.monotonic,
) -> KnobsService:
    """Open the knobs service over a store.

    Args:
        store_url: `embedded:FILE`, or `embedded:` alone.
        catalogue: The knobs.
        clock: Tells the time, with its zone.
        entropy: Gives that many random bytes.
        monotonic: Seconds that never go back, for what is remembered for a while.

    Raises:
        UsageError: If the URL names no store that is offered.
        EngineError: If the store cannot be used.
    """
    store = open_store(store_url, catalogue)
    return KnobsService(store, catalogue, clock=clock, entropy=entropy, monotonic=monotonic)


class KnobsService:
    """The knobs of every tenant in one store. Safe to call from several threads.

    Every method raises `ServiceError` where it refuses; then nothing was written.
    """

    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        *,
        clock: Callable[[], datetime],
        entropy: Callable[[int], bytes],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.catalogue = catalogue
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self._sets = SetsInForce(catalogue)
        self.principals = Principals(store, monotonic=monotonic)
        self._replacing = Replacing(store, self._sets, catalogue, clock=clock, entropy=entropy)

    def get(self, caller: Caller, tenant: str | None = None) -> Stored:
        """Read one tenant's set; an empty one where it was never written.

        Args:
            caller: Who asks; needs L3.
            tenant: Whose; None for the caller's only tenant.
        """
        return self.in_force(admit(caller, tenant, READ))

    def in_force(self, tenant: str) -> Stored:
        """The set that a tenant's calls go by; the last good one, marked so, where the store cannot be asked.

        Nobody's clearance is asked here: it is for the engine itself.
        """
        try:
            with self._store.reading() as session:
                return self.in_force_within(session, tenant)
        except StoreUnavailableError as error:
            return self.last_good(tenant, error)

    def in_force_within(self, session: Session, tenant: str) -> Stored:
        """The same as one session sees it: the revision is read, the set comes from memory by its revision.

        Raises:
            StoreUnavailableError: If the store cannot be asked.
        """
        return self._sets.current(session, tenant)

    def last_good(self, tenant: str, error: StoreUnavailableError) -> Stored:
        """The last good set of a tenant, when the store could not be asked for the one in force."""
        log.critical("the store cannot be asked for the set of %r: %s", tenant, error)
        last = self._sets.remembered(tenant)
        if last is None:
            raise _unavailable() from error
        return last

    @property
    def store(self) -> Store:
        """Where everything is kept."""
        return self._store

    def update(
        self,
        caller: Caller,
        tenant: str | None,
        config: Mapping[str, object],
        *,
        expected_revision: str | None = None,
        reason: str = "",
        idempotency_key: str | None = None,
    ) -> Updated:
        """Replace a tenant's whole set: a knob left out, or at 0, goes back to the platform default.

        Args:
            caller: Who writes; needs L4, or more where a changed knob asks for it.
            tenant: Whose set; None for the caller's only tenant.
            config: Values by canonical name.
            expected_revision: The revision that this set was made against, the empty string for
                "never written"; None to write whatever is there.
            reason: Goes into the audit event.
            idempotency_key: A repeated key answers with the first result and writes nothing.
        """
        tenant = admit(caller, tenant, EDIT)
        after = accepted_config(self.catalogue, config)
        asked = ["update", after, expected_revision, accepted_reason(reason)]
        change = Change(
            caller=caller,
            tenant=tenant,
            expected_revision=expected_revision,
            reason=reason,
            key=request_key(caller, tenant, accepted_key(idempotency_key), asked),
        )
        return self._replacing.apply(change, lambda _: after)

    def revert(
        self,
        caller: Caller,
        tenant: str | None,
        to_revision: str,
        *,
        expected_revision: str | None = None,
        reason: str = "",
        idempotency_key: str | None = None,
    ) -> Updated:
        """Replace a tenant's set by the one that it had at an earlier revision.

        Args:
            caller: Who writes; needs L4, or more where a changed knob asks for it.
            tenant: Whose set; None for the caller's only tenant.
            to_revision: A revision of this tenant.
            expected_revision: As in `update`.
            reason: Goes into the audit event; "revert to REVISION" where it is empty.
            idempotency_key: As in `update`.
        """
        tenant = admit(caller, tenant, EDIT)
        number = revision_number(to_revision)
        asked = ["revert", to_revision, expected_revision, accepted_reason(reason)]
        change = Change(
            caller=caller,
            tenant=tenant,
            expected_revision=expected_revision,
            reason=reason or f"revert to {to_revision}",
            key=request_key(caller, tenant, accepted_key(idempotency_key), asked),
        )

        def set_then(session: Session) -> Mapping[str, KnobValue]:
            event = session.event_at(tenant, number) if number else None
            if event is None:
                raise invalid(Violation("to_revision", "the tenant had no such revision"))
            return accepted_config(self.catalogue, event["after"])

        return self._replacing.apply(change, set_then)

    def list(self, caller: Caller, *, page_size: int = 0, page_token: str = "") -> Page[Stored]:
        """Read the sets of every tenant that the caller holds and that was ever written, by tenant.

        Args:
            caller: Who asks; needs L3.
            page_size: Most sets in one answer; 0 for a size of the service's choice.
            page_token: Where the page before said that it goes on; empty to begin.
        """
        require(caller, READ)
        size = accepted_page_size(page_size)
        after = accepted_position(page_token, "sets/(.+)")
        with self._reading() as session:
            found = _rows_of(session, caller.tenants, after or "", size + 1)
            sets = tuple(self._sets.good(session, tenant, row) for tenant, row in found[:size])
        return Page(sets, page_token_for("sets", sets[-1].tenant) if len(found) > size else "")

    def audit_events(
        self,
        caller: Caller,
        *,
        tenant: str | None = None,
        since: str | None = None,
        page_size: int = 0,
        page_token: str = "",
    ) -> Page[dict[str, Any]]:
        """Read audit events, oldest first, in the snake_case shape of the contract.

        Args:
            caller: Who asks; needs L3.
            tenant: Whose; every tenant's that the caller holds if None.
            since: RFC 3339 time; only events at or after it.
            page_size: As in `list`.
            page_token: As in `list`.
        """
        if tenant is None:
            require(caller, READ)
        tenants = caller.tenants if tenant is None else frozenset([admit(caller, tenant, READ)])
        size, start = accepted_page_size(page_size), accepted_since(since)
        after = accepted_position(page_token, "events/([0-9]{1,18})")
        with self._reading() as session:
            found = session.events(tenants, since=start, after=int(after or 0), limit=size + 1)
        more = page_token_for("events", str(found[size - 1][0])) if len(found) > size else ""
        return Page(tuple(event for _, event in found[:size]), more)

    def new_token(self, caller: Caller) -> str:
        """Make a principal and give its token, this once: the store keeps a hash."""
        principal, token = new_principal(
            caller, created_at=rfc3339(self._clock()), entropy=self._entropy
        )
        try:
            with self._store.writing() as session:
                session.add_principal(principal)
        except StoreUnavailableError as error:
            log.critical("a principal could not be written: %s", error)
            raise _unavailable() from error
        return token

    def authenticate(self, token: str | None) -> Caller:
        """Give the caller that a token stands for; see `Principals.caller`."""
        return self.principals.caller(token)

    def close(self) -> None:
        """Give back the store's connections and files."""
        self._store.close()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        try:
            with self._store.reading() as session:
                yield session
        except StoreUnavailableError as error:
            log.critical("the store cannot be asked: %s", error)
            raise _unavailable() from error


def _unavailable() -> ServiceError:
    return ServiceError(Code.UNAVAILABLE, "the store cannot be asked; nothing was written")


def _rows_of(
    session: Session, tenants: frozenset[str] | None, after: str, limit: int
) -> list[tuple[str, KnobsRow | None]]:
    """Rows by tenant; None for a tenant whose row is gone: its last good set stays in force."""
    rows = session.rows(tenants, after=after, limit=limit)
    until = rows[-1].tenant if len(rows) == limit else None
    lost = session.lost(tenants, after=after, until=until, limit=limit)
    found = [*((row.tenant, row) for row in rows), *((tenant, None) for tenant in lost)]
    return sorted(found, key=itemgetter(0))[:limit] if lost else found
