"""Proves that audit events continue each other, tenant by tenant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knobctl.chain import Chain
from knobctl.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RULE = "audit-chain-broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What the events of one tenant prove."""

    tenant: str
    events: int
    head: str | None
    """The hash of the last event: whoever keeps it can tell later that nothing was cut off."""
    against_head: bool
    """Whether a kept head was there to compare with, without which a cut tail cannot be seen."""
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """The tenant's part of `history --verify --format json`."""
        return {
            "tenant": self.tenant,
            "events": self.events,
            "head": self.head,
            "against_kept_head": self.against_head,
            "unbroken": not self.findings,
        }


class Verifying:
    """Proves chains while their events come; remembers of each tenant where its chain is."""

    def __init__(self, kept_heads: Mapping[str, str] | None = None) -> None:
        """Begin.

        Args:
            kept_heads: By tenant, the hash of an event that was once the last.
        """
        self._kept = kept_heads or {}
        self._tenants = {tenant: _Tenant() for tenant in self._kept}

    def take(self, event: Mapping[str, Any]) -> bool:
        """Take the next event of its tenant, oldest first: whether it continues the chain."""
        tenant = event["tenant_id"]
        one = self._tenants.setdefault(tenant, _Tenant())
        one.found_kept |= event["hash"] == self._kept.get(tenant)
        words = one.chain.fault(event)
        if words is None:
            return True
        told = f"event {event['event_id']} ({event['revision']}, {event['occurred_at']}): {words}"
        one.findings.append(_finding(tenant, told, event["event_id"]))
        return False

    def verified(self) -> list[Verified]:
        """What was proved, by tenant."""
        return [self._verified(tenant, self._tenants[tenant]) for tenant in sorted(self._tenants)]

    def _verified(self, tenant: str, one: _Tenant) -> Verified:
        kept, findings = self._kept.get(tenant), list(one.findings)
        if kept is not None and not one.found_kept:
            words = f"no event has the kept head {kept}: events were cut off"
            findings.append(_finding(tenant, words, kept))
        return Verified(
            tenant=tenant,
            events=one.chain.events,
            head=one.chain.head,
            against_head=kept is not None,
            findings=tuple(findings),
        )


class _Tenant:
    """One tenant's chain so far."""

    def __init__(self) -> None:
        self.chain = Chain()
        self.findings: list[Finding] = []
        self.found_kept = False


def verify(
    events: Iterable[Mapping[str, Any]], kept_heads: Mapping[str, str] | None = None
) -> list[Verified]:
    """Verify the chain of every tenant that the events or the kept heads name.

    Args:
        events: All events of these tenants from their first on, oldest first.
        kept_heads: By tenant, the hash of an event that was once the last.
    """
    verifying = Verifying(kept_heads)
    for event in events:
        verifying.take(event)
    return verifying.verified()


def _finding(tenant: str, words: str, value: str) -> Finding:
    return Finding(
        rule=RULE,
        severity=Severity.ERROR,
        tenant=tenant,
        value=value,
        message=f"{tenant}: {words}",
        hint="the store was changed past the engine; compare with a backup before you trust its history",
    )
