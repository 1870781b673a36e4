"""The formats in which findings are answered: one module each, imported when its format is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from knobctl.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from knobctl.changes.comparing import TenantDiff
    from knobctl.changes.foresight import Foreseen
    from knobctl.changes.rules_changed import RuleChange
    from knobctl.checks.adopting import Adoption
    from knobctl.checks.report import Report
    from knobctl.errors import ExitCode
    from knobctl.finding import Finding

FORMATS: Final[Mapping[str, str]] = {
    # name, to the module under knobctl.report that has `render(answer)`
    "text": "findings",
    "json": "findings_json",
    "sarif": "sarif",
    "junit": "junit",
    "github": "github",
    "gitlab": "gitlab",
    "markdown": "markdown",
}
"""To add a format: one module, one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsAnswer:
    """What a format renders: the findings of a run, and what changes where that is known."""

    report: Report
    code: ExitCode
    """With what the run exits; the same in every format."""
    fail_on: Severity = Severity.ERROR
    """What fails the run: with `WARNING`, warnings alone do."""
    shown: Sequence[Finding] | None = None
    """The findings that were asked for; None for all of them."""
    base: str | None = None
    """The revision that findings may stand in too; None where there is none."""
    changes: Sequence[TenantDiff] | None = None
    """By tenant, what differs from the base revision or from live; None where neither is known."""
    removed: Sequence[str] = ()
    """Tenants that had a document at the base and have none now."""
    rules_changed: Sequence[RuleChange] | None = None
    """What judges otherwise than at the base; no findings, they fail nothing. None where there is no base."""
    guards: Sequence[Foreseen] = ()
    """What a push of these changes would be asked, by fleet; no findings, they fail nothing here."""
    adopted: Adoption | None = None
    """The waivers that this run wrote; None where it was not asked to."""
    now: datetime | None = None
    """When the engine was asked; given where there are changes."""
    colored: bool = False
    everything: bool = False
    """Whether each info and each standing finding is told, however many there are."""

    @property
    def findings(self) -> Sequence[Finding]:
        """The findings to render, by place; those that the base has too come last."""
        return self.report.findings if self.shown is None else self.shown

    @property
    def verdict(self) -> ExitCode:
        """What the findings mean, whatever the run was told to exit with."""
        return self.report.exit_code(self.fail_on)

    @property
    def hidden(self) -> int:
        """How many findings are counted and not shown, as asked."""
        return 0 if self.shown is None else len(self.report.findings) - len(self.shown)

    def fails(self, finding: Finding) -> bool:
        """Whether a finding alone would fail the run."""
        return finding.counts and finding.severity.rank <= self.fail_on.rank


def render(name: str, answer: FindingsAnswer) -> str | Iterable[str]:
    """Render an answer in a format of the table, whole or in pieces."""
    rendered: str | Iterable[str] = import_module(f"knobctl.report.{FORMATS[name]}").render(answer)
    return rendered
