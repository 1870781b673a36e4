"""Proves that audit events continue each other, tenant by tenant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knobctl.chain import broken_links
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


def verify(
    events: Iterable[Mapping[str, Any]], kept_heads: Mapping[str, str] | None = None
) -> list[Verified]:
    """Verify the chain of every tenant that the events or the kept heads name.

    Args:
        events: All events of these tenants from their first on, oldest first.
        kept_heads: By tenant, the hash of an event that was once the last.
    """
    kept = kept_heads or {}
    chains: dict[str, list[Mapping[str, Any]]] = {tenant: [] for tenant in kept}
    for event in events:
        chains.setdefault(event["tenant_id"], []).append(event)
    return [_verified(tenant, chains[tenant], kept.get(tenant)) for tenant in sorted(chains)]


def _verified(tenant: str, chain: list[Mapping[str, Any]], kept: str | None) -> Verified:
    findings = [
        _finding(
            tenant,
            f"event {event['event_id']} ({event['revision']}, {event['occurred_at']}): {words}",
            event["event_id"],
        )
        for event, words in broken_links(chain)
    ]
    if kept is not None and all(event["hash"] != kept for event in chain):
        findings.append(
            _finding(tenant, f"no event has the kept head {kept}: events were cut off", kept)
        )
    return Verified(
        tenant=tenant,
        events=len(chain),
        head=chain[-1]["hash"] if chain else None,
        against_head=kept is not None,
        findings=tuple(findings),
    )


def _finding(tenant: str, words: str, value: str) -> Finding:
    return Finding(
        rule=RULE,
        severity=Severity.ERROR,
        tenant=tenant,
        value=value,
        message=f"{tenant}: {words}",
        hint="the store was changed past the engine; compare with a backup before you trust its history",
    )
