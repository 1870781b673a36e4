"""The one write: a full replace of a tenant's set, with its event, both or neither."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knobctl.canonical import canonical
from knobctl.server.audit import updated_event
from knobctl.server.in_force import set_after
from knobctl.server.refusal import Code, ServiceError
from knobctl.server.store.interface import (
    KnobsRow,
    OutcomeUnknownError,
    RequestKey,
    StoreUnavailableError,
)
from knobctl.server.stored import Updated, revision_number, sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from knobctl.knobs import Catalogue, KnobValue
    from knobctl.server.auth import Caller
    from knobctl.server.in_force import SetsInForce
    from knobctl.server.store.interface import Session, Store
    from knobctl.server.stored import Stored

log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Who wants which tenant's set replaced, and on what condition."""

    caller: Caller
    tenant: str
    expected_revision: str | None
    reason: str
    key: RequestKey | None


def request_key(caller: Caller, tenant: str, key: str | None, asked: object) -> RequestKey | None:
    """Make the key of a request: a caller's key means one request to one tenant.

    Args:
        caller: Whose key.
        tenant: For which tenant.
        key: As the caller sent it; None for none.
        asked: All that the request asks for, in plain values.
    """
    if key is None:
        return None
    digest = hashlib.sha256(canonical(asked)).hexdigest()
    return RequestKey(tenant=tenant, actor=caller.subject, key=key, digest=digest)


class Replacing:
    """Writes changes of sets into a store."""

    def __init__(
        self,
        store: Store,
        sets: SetsInForce,
        catalogue: Catalogue,
        *,
        clock: Callable[[], datetime],
        entropy: Callable[[int], bytes],
    ) -> None:
        self._store = store
        self._sets = sets
        self._catalogue = catalogue
        self._clock = clock
        self._entropy = entropy

    def apply(
        self, change: Change, wanted: Callable[[Session], Mapping[str, KnobValue]]
    ) -> Updated:
        """Write a change, unless it was answered before.

        Args:
            change: Whose, and on what condition.
            wanted: Gives the canonical set to be stored.

        Raises:
            ServiceError: If it is refused; nothing was written.
        """
        try:
            with self._store.writing() as session:
                event = self._answered(session, change) or self._write(
                    session, change, wanted(session)
                )
        except OutcomeUnknownError as error:
            log.critical("what became of a change of %r is not known: %s", change.tenant, error)
            raise ServiceError(
                Code.UNAVAILABLE,
                "the store was lost while it wrote; whether the change is in force is not known:"
                " read the set, or repeat the call with the same Idempotency-Key",
            ) from error
        except StoreUnavailableError as error:
            log.critical("a change of %r could not be written: %s", change.tenant, error)
            raise ServiceError(
                Code.UNAVAILABLE, "the store cannot be written to; nothing was written"
            ) from error
        return Updated(
            stored=set_after(event, self._catalogue),
            changed_field_paths=tuple(event["changed_field_paths"]),
        )

    def _answered(self, session: Session, change: Change) -> dict[str, Any] | None:
        """The event that the same request has led to before."""
        answered = session.answered(change.key) if change.key else None
        if answered is None:
            return None
        if change.key and answered.digest != change.key.digest:
            raise ServiceError(
                Code.FAILED_PRECONDITION,
                "the idempotency key was used for another request; nothing was written",
            )
        return answered.event

    def _write(
        self, session: Session, change: Change, after: Mapping[str, KnobValue]
    ) -> dict[str, Any]:
        row = session.row(change.tenant)
        before = self._sets.good(session, change.tenant, row)
        _require_revision(change, before)
        event = updated_event(
            before,
            after,
            revision=1 + (revision_number(before.revision) or 0),
            actor=change.caller.subject,
            reason=change.reason,
            # Not the last event's: the set remembers the log's head, so that a cut tail leaves a gap.
            previous_hash=before.head_hash,
            now=self._clock(),
            entropy=self._entropy,
        )
        self._require_clearance(change, event["changed_field_paths"])
        session.write(self._row(event), event, change.key)
        return event

    def _require_clearance(self, change: Change, changed: list[str]) -> None:
        for name in changed:
            needed = self._catalogue[name].edit_clearance if name in self._catalogue else 0
            if change.caller.clearance < needed:
                raise ServiceError(
                    Code.PERMISSION_DENIED,
                    f"changing {name} needs clearance L{needed}; the caller has"
                    f" L{change.caller.clearance}; nothing was written",
                )

    def _row(self, event: Mapping[str, Any]) -> KnobsRow:
        unset = {knob.name: knob.unset for knob in self._catalogue}
        row = KnobsRow(
            tenant=event["tenant_id"],
            values=unset | event["after"],
            revision=revision_number(event["revision"]) or 0,
            updated_at=event["occurred_at"],
            updated_by=event["actor"],
            head_hash=event["hash"],
            seal="",
        )
        return sealed(row, self._catalogue)


def _require_revision(change: Change, before: Stored) -> None:
    expected = change.expected_revision
    if expected is not None and expected != before.revision:
        raise ServiceError(
            Code.ABORTED,
            f"the tenant is at {_named(before.revision)}, not at {_named(expected)}; nothing was written",
        )


def _named(revision: str) -> str:
    return f"revision {revision[:40]}" if revision else "no revision (never written)"
