"""A push about to be made, and what became of it: what commands hand on and reports render. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from knobctl.changes.journal import SETTLED
from knobctl.changes.outcomes import Outcome, TenantOutcome, unbegun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.changes.file_edits import FileEdit
    from knobctl.changes.guards import Refusal
    from knobctl.changes.limits import Limits
    from knobctl.changes.plan import Plan
    from knobctl.changes.probing import Probes
    from knobctl.changes.rollout import Rolled, Rollout
    from knobctl.changes.waves import BegunWaves
    from knobctl.checks.report import Report
    from knobctl.documents.model import Effective
    from knobctl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a command wants to write: the plan, the files, and what is known about them."""

    command: str
    plan: Plan
    limits: Limits
    needs_consent: bool
    """Whether somebody must say yes, on the terminal or by `--yes`."""
    report: Report | None = None
    """What the checks said; None for a plan that was reviewed."""
    effective: Mapping[str, Effective] = field(default_factory=dict)
    """By tenant, where every value comes from, if documents say."""
    files: Sequence[FileEdit] = ()
    """Files to be edited with it."""
    left_out: Sequence[TenantOutcome] = ()
    """Tenants of the plan that moved since it was made and are left alone."""
    probes: Probes | None = None
    """The questions that a canary would ask."""
    begun: BegunWaves | None = None
    """The waves of a run that is gone on with, where they were not all found well."""
    rollout: Rollout | None = None
    """The waves; None where all is written at once."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the command adds to its machine-readable answer."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.plan.changing or self.files)

    def unbegun(self, message: str | None = None) -> list[TenantOutcome]:
        """The outcomes where nothing is written."""
        unwritten = (unbegun(one, message) for one in self.plan.tenants)
        return in_order([*self.left_out, *unwritten])


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What was done."""

    outcomes: Sequence[TenantOutcome]
    """By tenant."""
    code: ExitCode
    edited: Sequence[FileEdit] = ()
    elapsed_s: float | None = None
    """How long the writes took; None where none were begun."""
    dry_run: bool = False
    refusals: Sequence[Refusal] = ()
    run: str | None = None
    """The run in whose journal it stands; None where nothing was to be sent."""
    rolled: Rolled | None = None
    """What became of the waves; of a dry run, what would."""

    @property
    def can_be_resumed(self) -> bool:
        """Whether the run has something left that it can go on with."""
        if self.rolled and self.rolled.taken_back:
            stuck = {one.outcome for one in self.outcomes if one.tenant in self.rolled.stuck}
            return bool(stuck - {Outcome.CONFLICT})
        unjudged = bool(self.rolled and self.rolled.unjudged)
        left = unjudged or any(one.outcome not in SETTLED for one in self.outcomes)
        return self.run is not None and left

    @property
    def left(self) -> list[str]:
        """The tenants that were to be written and were not."""
        held = {Outcome.APPLIED, Outcome.UNCHANGED}
        return [one.tenant for one in self.outcomes if one.outcome not in held]


def in_order(outcomes: Sequence[TenantOutcome]) -> list[TenantOutcome]:
    """Sort outcomes by tenant."""
    return sorted(outcomes, key=lambda one: one.tenant)
