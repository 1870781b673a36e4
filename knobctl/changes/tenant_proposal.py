"""One tenant's push as it is shown before anybody consents: what it was made against, what stops it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from knobctl.changes.guards import Refusal
    from knobctl.changes.plan import TenantPlan
    from knobctl.changes.proposal import Done, Proposal
    from knobctl.changes.single import Subject
    from knobctl.checks.carried_evidence import CarriedEvidence
    from knobctl.checks.report import Report
    from knobctl.engine.interface import LiveSet
    from knobctl.errors import KnobctlError
    from knobctl.finding import Finding
    from knobctl.knobs import KnobValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What one tenant's set shall become, and why."""

    subject: Subject
    live: LiveSet
    """The set that it was decided against: it must still be there when the write arrives."""
    read_at: datetime
    """When that was read."""
    desired: Mapping[str, KnobValue]
    """The whole canonical set."""
    literals: Mapping[str, str] = field(default_factory=dict)
    """What was typed, by knob."""
    with_file: bool
    """Whether the tenant's document is edited too."""
    reason: str
    ticket: str | None = None
    evidence: tuple[str, ...] = ()
    """Files of evidence that are attached, as they were typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantProposal:
    """What a push of one tenant would write, and what is to be said of it."""

    wanted: Wanted
    proposal: Proposal
    reports: Sequence[Report]
    """What the checks say of the live change, then of the edit of the file."""
    refusals: tuple[Refusal, ...]
    """What the guards say where nothing is acknowledged."""
    notes: tuple[str, ...] = ()
    """What a command would have told on the way."""

    @property
    def tenant(self) -> TenantPlan:
        """The tenant's part of the plan."""
        return self.proposal.plan.tenants[0]

    @property
    def evidence(self) -> tuple[CarriedEvidence, ...]:
        """The evidence that the change carries."""
        tenants = self.proposal.plan.tenants
        return tenants[0].evidence if tenants else ()

    @property
    def findings(self) -> list[Finding]:
        """All that the checks say, each once, the gravest first."""
        found = dict.fromkeys(one for report in self.reports for one in report.pressing)
        return sorted(found, key=lambda one: (not one.counts, one.severity.rank))


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """What a person looked at and went on in spite of, one by one."""

    allowances: tuple[str, ...] = ()
    """Refusals, as `--allow` names them."""
    rules: tuple[str, ...] = ()
    """Rules of findings, and `reset KNOB` or `drift KNOB`: they go into the audit reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What became of a push, with what went wrong beside the writes."""

    done: Done
    faults: Sequence[KnobctlError] = ()
    """Of the journal, and of the edits of files."""
