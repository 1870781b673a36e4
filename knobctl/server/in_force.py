"""The sets in force: the last good one of a tenant, never defaults in the place of a damaged one."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from knobctl.chain import is_whole
from knobctl.server.refusal import Code, ServiceError
from knobctl.server.stored import Stored, opened, revision_text

if TYPE_CHECKING:
    from knobctl.knobs import Catalogue
    from knobctl.server.store.interface import KnobsRow, Session

log: Final = logging.getLogger(__name__)


class SetsInForce:
    """What each tenant's calls go by. Remembers sets by revision, so that a call spares reading the row."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._remembered: dict[str, Stored] = {}

    def current(self, session: Session, tenant: str) -> Stored:
        """The set in force: from memory while the revision has not moved, else from the store."""
        revision = session.revision(tenant)
        known = self._remembered.get(tenant)
        if known and revision is not None and known.revision == revision_text(revision):
            return known
        stored = self.good(session, tenant, session.row(tenant))
        if stored.revision and not stored.last_good:
            self._remembered[tenant] = stored
        return stored

    def good(self, session: Session, tenant: str, row: KnobsRow | None) -> Stored:
        """Open a row; where it is damaged or gone, give the last set that the audit log proves.

        Raises:
            ServiceError: `unavailable` where neither can be trusted.
        """
        stored = opened(row, self._catalogue) if row else None
        if stored:
            return stored
        event = session.last_event(tenant)
        if row is None and event is None:
            return Stored(tenant=tenant, knobs={})
        if event and event.get("tenant_id") == tenant and is_whole(event):
            log.error("the stored set of %r is damaged; its last good set stays in force", tenant)
            return replace(set_after(event, self._catalogue), last_good=True)
        raise ServiceError(
            Code.UNAVAILABLE,
            "the stored set of the tenant and its last audit event are damaged;"
            " no defaults are served in their place",
        )

    def remembered(self, tenant: str) -> Stored | None:
        """The last good set that a call has seen, marked as such, for when the store cannot be asked."""
        known = self._remembered.get(tenant)
        return replace(known, last_good=True) if known else None


def set_after(event: dict[str, Any], catalogue: Catalogue) -> Stored:
    """The set that an audit event left in force."""
    return Stored(
        tenant=event["tenant_id"],
        knobs=catalogue.canonical({k: v for k, v in event["after"].items() if k in catalogue}),
        revision=event["revision"],
        updated_at=event["occurred_at"],
        updated_by=event["actor"],
        head_hash=event["hash"],
    )
