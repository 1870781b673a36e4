"""The policies of a repository by themselves: which are in force, who waives them, whether their examples hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.checks.examples import example_findings, run_examples
from knobctl.checks.grounds import grounds_of_rules
from knobctl.checks.policies import load_policies
from knobctl.checks.report import Report, ordered
from knobctl.checks.waivers import waiver_of
from knobctl.errors import UsageError
from knobctl.finding import Severity
from knobctl.knobs import load_catalogue
from knobctl.text import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import date

    from knobctl.checks.examples import Example
    from knobctl.checks.policies import Policies, Policy
    from knobctl.checks.waivers import Waiver
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.documents.settings import SeverityOverride
    from knobctl.finding import Finding


class State(StrEnum):
    """Whether a policy is asked."""

    IN_FORCE = "in force"
    NOT_OFFERED = "not offered"
    BROKEN = "broken"


class Entry(NamedTuple):
    """One policy, in force or not."""

    document: Document
    policy: Policy | None
    state: State
    built_in: bool
    why: str = ""
    """Why it is not in force."""

    @property
    def severity(self) -> str:
        """As the repository weighs it."""
        return self.policy.severity.value if self.policy else self.stated

    @property
    def stated(self) -> str:
        """The severity of its own document; empty where a broken one has none."""
        return str(self.document.value.get("severity", ""))

    @property
    def override(self) -> SeverityOverride | None:
        """How the repository weighs it otherwise, and why."""
        return self.policy.override if self.policy else None


SOURCE: Final = ("when", "message", "hint", "at", "each", "trigger")
"""The fields of a policy's document that say what it does."""


@dataclass(frozen=True, kw_only=True)
class RulesInForce:
    """The policies that a repository is judged by."""

    repository: Repository
    policies: Policies
    refused: Sequence[tuple[Document, str]]
    """Policies of the repository that are not in force, and why."""
    waivers: Sequence[Waiver]
    findings: Sequence[Finding]
    """What is wrong with policies and waivers, and with files in which one may stand."""

    def entries(self) -> Iterator[Entry]:
        """Every policy: those in force, those that the engine's schema does not offer, those that are broken."""
        for policy in self.policies.in_force:
            yield Entry(policy.document, policy, State.IN_FORCE, policy.built_in)
        for one in self.policies.not_offered:
            yield Entry(one.document, None, State.NOT_OFFERED, built_in=True, why=one.why)
        for document, why in self.refused:
            yield Entry(document, None, State.BROKEN, built_in=False, why=why)

    def entry(self, name: str) -> Entry:
        """The first policy of an id that exists."""
        return next(entry for entry in self.entries() if entry.document.name == name)

    @property
    def ids(self) -> list[str]:
        """Every policy's id, in force or not."""
        return list(dict.fromkeys(entry.document.name for entry in self.entries()))

    def waivers_of(self, rule: str) -> list[Waiver]:
        """The waivers that name a rule."""
        return [waiver for waiver in self.waivers if waiver.rule == rule]

    def assert_known(self, ids: Iterable[str]) -> None:
        """See that policies exist.

        Raises:
            UsageError: Naming the first that does not, and the one most like it.
        """
        for name in ids:
            if name not in self.ids:
                close = nearest(name, self.ids)
                hint = (
                    f"did you mean {close}?" if close else "they are listed by: knobctl policy list"
                )
                raise UsageError(f"there is no policy {name}", hint=hint)

    def report(
        self,
        command: str,
        findings: Iterable[Finding],
        *,
        policies: int = 0,
        examples: int | None = None,
    ) -> Report:
        """Make a report of findings about these policies."""
        repository = self.repository
        return Report(
            command=command,
            pressing=ordered(findings),
            files=repository.files,
            tenants=0,
            policies=policies,
            examples=examples,
            texts=repository.texts,
            names=repository.names,
            below=repository.below,
            own_policies=repository.policies,
        )


def rules_in_force(repository: Repository) -> RulesInForce:
    """Load the policies and waivers of a repository that was opened for its rules.

    Raises:
        InputError: If the settings weigh a rule that does not exist.
        UsageError: If there is no policy at all.
    """
    grounds = grounds_of_rules(repository)
    policies, validation, findings = grounds.policies, grounds.validation, grounds.findings
    if not policies.in_force and not findings:
        raise UsageError("0 policies are in force; nothing would be checked")
    refused = [
        (one, finding.message.removeprefix(f"{one.name}: ")) for one, finding in policies.broken
    ]
    refused += [
        (one, _first_within(one, validation.findings))
        for one in repository.policies
        if id(one) in validation.broken and one.name
    ]
    waivers = [waiver_of(one) for one in validation.sound(repository.waivers)]
    return RulesInForce(
        repository=repository,
        policies=policies,
        refused=refused,
        waivers=[waiver for waiver in waivers if waiver],
        findings=findings,
    )


def _first_within(document: Document, findings: Iterable[Finding]) -> str:
    """The first thing that is wrong with a document."""
    span = document.text.location(document.tree.spot.start, document.tree.spot.end)
    inside = [
        (at.line, at.column, finding.message)
        for finding in findings
        if finding.severity is Severity.ERROR
        and (at := finding.primary)
        and at.file == span.file
        and span.line <= at.line <= span.end_line
    ]
    return min(inside)[-1] if inside else "its text cannot be read as it is written"


def run_tests(rules: RulesInForce, ids: Collection[str]) -> Report:
    """Run the examples of policies.

    The built-in ones are asked of the knobs that their examples are about, whatever the engine's schema;
    all of them with the severity that they state, whatever the repository weighs.

    Args:
        rules: The policies.
        ids: Those to test; empty for all.

    Raises:
        UsageError: If a policy does not exist, or no example was run and nothing is wrong.
    """
    rules.assert_known(ids)
    findings, examples, policies = list(rules.findings), 0, 0
    for policy in _testable(rules):
        if ids and policy.id not in ids:
            continue
        policies += 1
        run = list(examples_of(rules, policy))
        examples += len(run)
        findings += example_findings(policy, run)
    report = rules.report("policy test", findings, policies=policies, examples=examples)
    if not examples and not report.errors:
        named = f" of {', '.join(ids)}" if ids else ""
        raise UsageError(
            f"0 examples{named}: nothing would be tested",
            hint="a policy carries them: examples: {pass: [{knobs: {}}], fail: [{knobs: {...}}]}",
        )
    return report


def examples_of(rules: RulesInForce, policy: Policy) -> Iterator[Example]:
    """Run the examples of one policy."""
    return run_examples(policy, load_catalogue() if policy.built_in else rules.repository.catalogue)


def _testable(rules: RulesInForce) -> Iterator[Policy]:
    """Every policy that compiles, as its own document states it."""
    yield from load_policies(load_catalogue()).in_force
    for policy in rules.policies.in_force:
        if not policy.built_in:
            stated = Severity(str(policy.document.value["severity"]))
            yield replace(policy, severity=stated, override=None)


def as_stated(rules: RulesInForce, name: str) -> Policy | None:
    """A policy that compiles, with the severity of its own document; None where it does not."""
    return next((policy for policy in _testable(rules) if policy.id == name), None)


def waived_now(waivers: Iterable[Waiver], today: date) -> int:
    """How many of some waivers hold on a day."""
    return sum(not waiver.has_expired(today) for waiver in waivers)
