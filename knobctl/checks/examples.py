"""Runs the passing and failing examples that policies carry: a policy is its own test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knobctl.checks.asking import Asking, Hit
from knobctl.checks.places import value_at
from knobctl.checks.subject import Subject
from knobctl.documents.layers import resolve
from knobctl.documents.model import Document, Kind
from knobctl.documents.tree import Spot, Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.checks.policies import Policy
    from knobctl.documents.model import Effective
    from knobctl.finding import Location
    from knobctl.knobs import Catalogue


@dataclass(frozen=True, slots=True)
class Example:
    """One example of a policy, and what the policy said of it."""

    policy: Policy
    must_fail: bool
    hits: tuple[Hit, ...]
    place: Location

    @property
    def holds(self) -> bool:
        """Whether the policy did what the example says: a policy that could not be evaluated did not."""
        found = [hit for hit in self.hits if hit.failed is None]
        return len(found) == len(self.hits) and bool(found) is self.must_fail


def run_examples(policy: Policy, catalogue: Catalogue) -> Iterator[Example]:
    """Ask a policy of each of its examples."""
    for outcome in ("pass", "fail"):
        examples = value_at(policy.document.value, ("examples", outcome))
        for index, value in enumerate(examples if isinstance(examples, list) else ()):
            subject = _subject(policy.document, outcome, index, value, catalogue)
            alone = subject.base is None and subject.live is None
            hits = tuple(Asking([policy], alone=alone).hits(subject))
            place = policy.document.location("examples", outcome, index)
            yield Example(policy, outcome == "fail", hits, place)


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
        today=str(value.get("today", "")),
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
