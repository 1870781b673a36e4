"""Runs the passing and failing examples that policies carry: a policy is its own test."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from knobctl.checks.asking import Asking
from knobctl.checks.concerns import why_not_asked
from knobctl.checks.evidence_facts import example_facts
from knobctl.checks.places import value_at
from knobctl.checks.subject import Subject
from knobctl.documents.layers import resolve
from knobctl.documents.model import Document, Kind
from knobctl.documents.tree import Spot, Tree
from knobctl.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knobctl.checks.policies import Policy
    from knobctl.checks.telling import Words
    from knobctl.documents.model import Effective
    from knobctl.finding import Location
    from knobctl.knobs import Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One example of a policy, and what the policy said of it."""

    policy: Policy
    outcome: str
    """`pass` or `fail`: what it shall do."""
    index: int
    hits: tuple[Words, ...] = ()
    silent: str | None = None
    """Why the policy had nothing to say of it, whatever its condition; None where it was asked."""
    refused: str | None = None
    """Why nobody can be asked about it; None where the policy was asked."""

    @property
    def must_fail(self) -> bool:
        """Whether the policy shall find fault with it."""
        return self.outcome == "fail"

    @property
    def path(self) -> tuple[str | int, ...]:
        """Where it stands in the policy's document."""
        return "examples", self.outcome, self.index

    @property
    def place(self) -> Location:
        """Where it stands in the file."""
        return self.policy.document.location(*self.path)

    @property
    def holds(self) -> bool:
        """Whether the policy did what the example says: a policy that could not be evaluated did not."""
        found = [hit for hit in self.hits if hit.failed is None]
        if self.refused or len(found) < len(self.hits):
            return False
        return bool(found) is self.must_fail

    @property
    def said(self) -> str:
        """What the policy said of it, in a line."""
        if self.refused:
            return self.refused
        for hit in self.hits:
            if hit.failed is not None:
                return f"{hit.failed} cannot be evaluated: {hit.message}"
        if self.hits:
            return self.hits[0].message.partition("\n")[0]
        return self.silent or "the condition is false"


def run_examples(policy: Policy, catalogue: Catalogue) -> Iterator[Example]:
    """Ask a policy of each of its examples."""
    for outcome in OUTCOMES:
        examples = value_at(policy.document.value, ("examples", outcome))
        for index, value in enumerate(examples if isinstance(examples, list) else ()):
            if refused := _no_day(policy, value):
                yield Example(policy=policy, outcome=outcome, index=index, refused=refused)
                continue
            subject = _subject(policy.document, outcome, index, value, catalogue)
            alone = subject.base is None and subject.live is None
            yield Example(
                policy=policy,
                outcome=outcome,
                index=index,
                hits=tuple(hit.words for hit in Asking([policy], alone=alone).hits(subject)),
                silent=why_not_asked(policy, subject),
            )


def _no_day(policy: Policy, value: Mapping[str, Any]) -> str | None:
    """Why an example has no day, though the policy reads it: every run has one."""
    if "today" not in value:
        reads = "today" in policy.depends.variables
        return "the policy reads today, and the example does not say it" if reads else None
    try:
        date.fromisoformat(str(value["today"]))
    except ValueError:
        return f"today is {value['today']}, which is no day"
    return None


def example_findings(policy: Policy, examples: Sequence[Example]) -> Iterator[Finding]:
    """Say which examples do not hold, and what no example shows.

    Args:
        policy: The policy.
        examples: All of its examples, run.
    """
    for example in examples:
        if not example.holds:
            yield _broken(example)
    lacking = [outcome for outcome in OUTCOMES if all(one.outcome != outcome for one in examples)]
    if lacking:
        yield _untested(policy, lacking)


OUTCOMES: Final = ("pass", "fail")
_SHOWN_BY: Final = {
    "pass": "nothing shows that it lets anything pass",
    "fail": "nothing shows that it finds anything",
}


def _broken(example: Example) -> Finding:
    policy = example.policy
    does = "passes" if example.must_fail else "fails"
    if example.refused or any(hit.failed is not None for hit in example.hits):
        does = "cannot be judged"
    return Finding(
        rule="policy-example-fails",
        severity=Severity.ERROR,
        message=f"{policy.id}: {example.outcome}ing example {example.index + 1} {does}: {example.said}",
        hint="mend the example or the policy: knobctl policy show " + policy.id,
        field_path=".".join(map(str, example.path)),
        primary=example.place,
    )


def _untested(policy: Policy, lacking: Sequence[str]) -> Finding:
    listed = " and ".join(f"no {outcome}ing example" for outcome in lacking)
    shows = " and ".join(_SHOWN_BY[outcome] for outcome in lacking)
    return Finding(
        rule="policy-untested",
        severity=Severity.WARNING,
        message=f"{policy.id} has {listed}: {shows}",
        hint="add under examples: "
        + ", ".join(f"{outcome}: [{{knobs: {{...}}}}]" for outcome in lacking),
        field_path="examples",
        primary=policy.document.location("examples"),
    )


def _subject(
    policy: Document,
    outcome: str,
    index: int,
    value: Mapping[str, Any],
    catalogue: Catalogue,
) -> Subject:
    spot = policy.spot("examples", outcome, index)
    assert spot is not None
    document = _tenant(policy, spot, value, "knobs")

    def resolved(of: Document) -> Effective:
        return resolve(of, (), catalogue)

    live = value.get("live")
    return Subject(
        document,
        resolved,
        base=resolved(_tenant(policy, spot, value, "base")) if "base" in value else None,
        live=catalogue.canonical(live) if isinstance(live, dict) else None,
        fleet=value.get("fleet"),
        today=str(value.get("today", "")),
        evidence=lambda _: example_facts(value.get("evidence", [])),
    )


def _tenant(policy: Document, spot: Spot, value: Mapping[str, Any], knobs: str) -> Document:
    """A tenant of an example's knobs, which keep their places: a floor counts as it is written."""
    name = str(value.get("tenant", "example"))
    children = spot.children if isinstance(spot.children, dict) else {}
    places = {**children, "knobs": children[knobs]} if knobs in children else children
    content = {**value, "tenant": name, "knobs": value.get(knobs, {})}
    return Document(
        Kind.TENANT, name, content, policy.text, Tree(content, spot._replace(children=places))
    )
