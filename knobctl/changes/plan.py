"""The plan: what a push would send, tenant by tenant, bound to what it was made against. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knobctl.changes.diff import Change, Op, diff_sets, in_force_before
from knobctl.changes.sealing import digest
from knobctl.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knobctl.changes.limits import Limits
    from knobctl.checks.carried_evidence import CarriedEvidence
    from knobctl.documents.model import Document
    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Catalogue, KnobValue

FORMAT: Final = "knobctl-plan"
FORMAT_VERSION: Final = 1
_TOGETHER: Final = 500
"""How many tenants stand in one record of a journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantPlan:
    """What is planned for one tenant: its whole set, and the state that the set was made against."""

    tenant: str
    source: str
    """The file that asks for it; empty where a command does."""
    base_revision: str | None
    """The revision planned against: empty for a tenant that was never written, None where the
    engine has no revisions."""
    existing: Mapping[str, KnobValue]
    """The canonical set that the engine held."""
    desired: Mapping[str, KnobValue]
    """The canonical set to be sent: the whole of it, a push replaces everything."""
    changes: tuple[Change, ...]
    hazards: tuple[Finding, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    owner: str | None = None
    evidence: tuple[CarriedEvidence, ...] = ()
    """The evidence that the change carries, by the files that documents name or somebody attached."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Stored fields that the schema does not know and that the push would lose, as JSON text."""
    pruned: bool = False
    """Whether no document asks for the tenant any more, so that it is reset."""

    @property
    def resets(self) -> tuple[Change, ...]:
        """The changes that send a knob back to its default."""
        return tuple(change for change in self.changes if change.op is Op.RESET)

    @property
    def changed_field_paths(self) -> tuple[str, ...]:
        """What the audit event will list."""
        return tuple(change.field_path for change in self.changes)

    def content(self) -> dict[str, Any]:
        """What the tenant's digest covers."""
        return {
            "tenant": self.tenant,
            "source": self.source,
            **({"pruned": True} if self.pruned else {}),
            "labels": dict(self.labels),
            "owner": self.owner,
            "base_revision": self.base_revision,
            "base": dict(self.existing),
            "set": dict(self.desired),
            "unknown": dict(self.unknown),
            "changed_field_paths": list(self.changed_field_paths),
            "changes": [change.as_json() for change in self.changes],
            "hazards": [hazard.as_json() for hazard in self.hazards],
            "evidence": [one.as_json() for one in self.evidence],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a push would do."""

    engine: str
    fleet: str | None
    schema_digest: str
    """Of the knobs' schema: defaults, ranges and roles that the plan was made with."""
    managed: int
    """Tenants that the fleet has documents for, the base of a share."""
    limits: Limits
    tenants: tuple[TenantPlan, ...]
    """By tenant: those that change, and of the others those that somebody named one by one."""
    unchanged: int = 0
    """Tenants that were looked at, need no change and are not listed."""
    staying: Mapping[str, str | None] = field(default_factory=dict)
    """Of those, where this run looked at them: by tenant, the revision."""
    hazards: tuple[Finding, ...] = ()
    """Findings about no tenant."""

    @property
    def looked_at(self) -> int:
        """All tenants that were looked at, listed or not."""
        return len(self.tenants) + self.unchanged

    @property
    def changing(self) -> tuple[TenantPlan, ...]:
        """The tenants that would be written."""
        return tuple(tenant for tenant in self.tenants if tenant.changes)


def plan_tenant(
    catalogue: Catalogue,
    live: LiveSet,
    desired: Mapping[str, KnobValue],
    *,
    document: Document | None = None,
    hazards: tuple[Finding, ...] = (),
    evidence: Callable[[Mapping[str, KnobValue]], tuple[CarriedEvidence, ...]] = lambda _: (),
) -> TenantPlan:
    """Plan one tenant.

    Args:
        catalogue: The knobs.
        live: The set that the engine holds.
        desired: The canonical set that it shall hold.
        document: The document that asks for it, if one does.
        hazards: What the checks say of it.
        evidence: Tells what a change carries, by the changing knobs and what is in force of them.
    """
    changes = diff_sets(catalogue, live.knobs, desired)
    return TenantPlan(
        tenant=live.tenant,
        source=document.source if document else "",
        base_revision=live.revision,
        existing=dict(live.knobs),
        desired=dict(desired),
        changes=changes,
        hazards=hazards,
        labels=document.labels if document else {},
        owner=document.owner if document else None,
        evidence=evidence(in_force_before(changes)),
        unknown=unknown_fields(live),
    )


def unknown_fields(live: LiveSet) -> dict[str, str]:
    """What a live set holds and the schema does not know, as JSON text by field."""
    return {name: json.dumps(value) for name, value in live.unknown.items()}


def plan_records(plan: Plan) -> Iterator[dict[str, Any]]:
    """Lay out what a run is to write as its journal has it: as the file does, without digests.

    The journal has a checksum of its own; how many need no change stands in its heading. Of many
    tenants the first stand in the plan's own record and the others in more behind it, so that
    neither who writes nor who reads them holds them all at once.
    """
    changing = plan.changing
    first, rest = changing[:_TOGETHER], changing[_TOGETHER:]
    more = {"more": len(rest)} if rest else {}
    yield {"kind": "plan", **more, "plan": _recorded(plan, first)}
    for start in range(0, len(rest), _TOGETHER):
        together = rest[start : start + _TOGETHER]
        yield {"kind": "tenants", "tenants": [tenant.content() for tenant in together]}


def _recorded(plan: Plan, tenants: Sequence[TenantPlan]) -> dict[str, Any]:
    return {
        "engine": plan.engine,
        "fleet": plan.fleet,
        "schema_digest": plan.schema_digest,
        "managed_tenants": plan.managed,
        "limits": plan.limits.as_json(),
        "tenants": [tenant.content() for tenant in tenants],
        "hazards": [hazard.as_json() for hazard in plan.hazards],
    }


def is_plan(raw: bytes) -> bool:
    """Whether a file says of itself that it is a plan, whole or not."""
    head = raw[:4096].lstrip()
    return head.startswith(b"{") and b'"format"' in head and f'"{FORMAT}"'.encode() in head


def schema_digest(catalogue: Catalogue) -> str:
    """The digest of a knob schema."""
    return digest(catalogue.schema)


def worrying(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings that a reviewer must know of: errors and warnings that nothing waives."""
    return tuple(one for one in findings if one.counts and one.severity is not Severity.INFO)
