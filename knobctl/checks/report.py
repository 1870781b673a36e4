"""The report of one run: findings in order, counts, and the exit code that they mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from knobctl.errors import ExitCode
from knobctl.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
    from datetime import date

    from knobctl.documents.model import Document
    from knobctl.documents.tree import Text


class Later(Protocol):
    """The infos of one tenant, not yet made. None of them is waived or standing."""

    @property
    def tenant(self) -> str:
        """Whom they are about."""

    @property
    def infos(self) -> Sized:
        """As many as there are."""

    @property
    def rules(self) -> Sequence[str]:
        """The rule of each."""

    def message(self, index: int) -> str:
        """The message of one of them."""

    def made(self) -> list[Finding]:
        """Make them."""


@dataclass(kw_only=True)
class Report:
    """What a run of `validate` or `check` found."""

    command: str
    pressing: list[Finding]
    """All findings but the `later` ones, by place; those that the base has too come last."""
    later: Sequence[Later] = ()
    """Infos that are made where somebody looks: of a fleet they are tens of thousands."""
    staying: Mapping[str, int] = field(default_factory=dict)
    """By severity, findings about tenants that stay as they are; counted, not told."""
    files: int
    tenants: int
    policies: int = 0
    examples: int | None = None
    """How many examples of policies were run; None where none was to be."""
    skipped: Sequence[str] = ()
    """Files in which somebody else's documents stand."""
    unread: Sequence[str] = ()
    """Files around the judged ones that look like ours and cannot be read."""
    texts: Mapping[str, Text] = field(default_factory=dict)
    """By file, the text in which findings stand."""
    names: Mapping[str, str] = field(default_factory=dict)
    """By file, its name relative to the root of the repository."""
    below: str = ""
    """Where that root lies in its Git checkout, as a prefix of those names."""
    judged: Sequence[Document] = ()
    """The documents of tenants that the run is about."""
    own_policies: Sequence[Document] = ()
    """The repository's own policies, for what their rules say."""
    unsure: Collection[str] = ()
    """Tenants of whose set nothing certain can be said, as their documents have errors; where a change is known."""
    unjudged: Sequence[str] = ()
    """What a fleet demands of evidence and nobody could judge, with the reason."""
    waivers: Mapping[str, date] = field(default_factory=dict)
    """By waiver, its last day."""
    knobs: Collection[str] = ()
    """The names that `knobctl explain` knows."""

    @cached_property
    def findings(self) -> list[Finding]:
        """By file, line and column; those that the base has too come last."""
        if not self.later:
            return self.pressing
        return ordered([*self.pressing, *(info for one in self.later for info in one.made())])

    @property
    def untold(self) -> int:
        """How many infos are not made yet."""
        return sum(len(one.infos) for one in self.later)

    @property
    def errors(self) -> int:
        """Errors that count: neither waived nor standing."""
        return self._counting(Severity.ERROR)

    @property
    def warnings(self) -> int:
        """Warnings that count."""
        return self._counting(Severity.WARNING)

    @property
    def infos(self) -> int:
        """Infos that count."""
        return self._counting(Severity.INFO) + self.untold

    @property
    def waived(self) -> int:
        """Findings that a waiver covers."""
        return sum(finding.waived_by is not None for finding in self.pressing)

    @property
    def standing(self) -> int:
        """Findings that the base has too; a waiver may cover some of them."""
        return sum(one.standing for one in self.pressing)

    def _counting(self, severity: Severity) -> int:
        return sum(
            finding.severity is severity and finding.waived_by is None and not finding.standing
            for finding in self.pressing
        )

    def exit_code(self, fail_on: Severity = Severity.ERROR) -> ExitCode:
        """What the findings mean for the run.

        Args:
            fail_on: `WARNING` where warnings alone fail it too.
        """
        if self.errors:
            return ExitCode.FINDINGS
        if self.warnings and fail_on is Severity.WARNING:
            return ExitCode.WARNINGS
        return ExitCode.OK

    def as_json(
        self, exit_code: ExitCode | None = None, *, shown: Iterable[Finding] | None = None
    ) -> dict[str, Any]:
        """The report in the shape of the contract, section 3.

        Args:
            exit_code: The run's own, where more than the findings decides it.
            shown: The findings to show; the summary counts all of them.
        """
        code = self.exit_code() if exit_code is None else exit_code
        findings = self.findings if shown is None else shown
        return {
            "version": 1,
            "command": self.command,
            "outcome": code.outcome,
            "exit_code": int(code),
            "summary": {
                "files": self.files,
                "tenants": self.tenants,
                "policies": self.policies,
                "errors": self.errors,
                "warnings": self.warnings,
                "infos": self.infos,
                "waived": self.waived,
                "standing": self.standing,
                **({} if self.examples is None else {"examples": self.examples}),
            },
            "findings": [finding.as_json() for finding in findings],
        }


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings by place, gravest first where they share one; standing ones last."""
    return sorted(findings, key=_order)


def _order(finding: Finding) -> tuple[bool, str, int, int, int]:
    place = finding.primary
    if place is None:
        return (finding.standing, "", 0, 0, finding.severity.rank)
    return (finding.standing, place.file, place.line, place.column, finding.severity.rank)
