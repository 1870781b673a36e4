"""The rules that are not policies: what each id means. A policy is its own entry, in its own file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule id."""

    severities: frozenset[Severity]
    """What it may weigh; more than one where the place decides."""
    says: str
    waivable: bool = False
    """Whether a waiver may name it: the engine would take the value."""


_ERROR: Final = frozenset({Severity.ERROR})
_WARNING: Final = frozenset({Severity.WARNING})
_EITHER: Final = _ERROR | _WARNING

RULES: Final[Mapping[str, Rule]] = {
    # the text cannot be one of our documents
    "unreadable-file": Rule(_ERROR, "the file cannot be read"),
    "yaml-syntax": Rule(_ERROR, "the text is no YAML 1.2"),
    "yaml-limits": Rule(_ERROR, "larger, deeper or with more nodes than a document may be"),
    "unsupported-yaml": Rule(_ERROR, "a tag, a directive, or a key that is not text"),
    "duplicate-key": Rule(_ERROR, "a key is written twice in one mapping; neither value is used"),
    "empty-document": Rule(_ERROR, "nothing stands there; that is never read as a reset"),
    "unknown-document": Rule(_ERROR, "no mapping, or not exactly one kind key"),
    "ambiguous-scalar": Rule(_EITHER, "YAML 1.1 reads it otherwise; an error as a knob's value"),
    "invisible-characters": Rule(_WARNING, "bidirectional, zero-width or control characters"),
    # numbers that no schema sees
    "not-finite": Rule(_ERROR, "NaN, an infinity, or a number too large for a double"),
    "underflow-to-zero": Rule(_ERROR, "too small for a double: it would become 0, the default"),
    "negative-zero": Rule(_ERROR, "a zero with a sign"),
    # what the JSON Schemas say
    "unknown-knob": Rule(_ERROR, "no knob has this name, or one knob is written in both spellings"),
    "wrong-type": Rule(_ERROR, "the value is of another type than it must be"),
    "out-of-range": Rule(_ERROR, "the knob's value lies outside its range or its choices"),
    "missing-field": Rule(_ERROR, "a field that the document needs is missing"),
    "unknown-field": Rule(_ERROR, "no field has this name"),
    "bad-value": Rule(_ERROR, "the field's value is of the right type and not of the right form"),
    # what documents say of one another
    "invalid-name": Rule(_ERROR, "no tenant can have this name"),
    "duplicate-tenant": Rule(_ERROR, "two documents of one fleet claim one tenant"),
    "duplicate-layer": Rule(_ERROR, "two layers have one name"),
    "duplicate-policy": Rule(_ERROR, "two policies have one id, or a policy has a built-in one's"),
    "duplicate-waiver": Rule(_ERROR, "two waivers have one name"),
    "duplicate-fleet": Rule(_ERROR, "two fleets have one name"),
    "unknown-layer": Rule(_ERROR, "the tenant names a layer that does not exist"),
    "layer-named-twice": Rule(_ERROR, "the tenant names a layer twice"),
    "unknown-tenant": Rule(
        _WARNING, "a waiver or a fleet names a tenant that no document claims; given by check"
    ),
    "unknown-rule": Rule(_ERROR, "the waiver names a rule that does not exist or cannot be waived"),
    # what other commands than validate and check find
    "not-canonical": Rule(_ERROR, "fmt --check: the file is not in the form that fmt writes"),
    "audit-chain-broken": Rule(_ERROR, "history --verify: the events do not continue each other"),
    # policies and waivers themselves
    "policy-error": Rule(_ERROR, "the policy does not compile, or fails while it runs"),
    "policy-example-fails": Rule(_ERROR, "policy test: an example does not do what it says"),
    "policy-untested": Rule(_WARNING, "policy test: no example passes, or none fails"),
    "waiver-expired": Rule(_ERROR, "the waiver's last day has passed"),
    "waiver-unused": Rule(_WARNING, "the waiver covers no finding"),
    # demanded by a fleet
    "evidence-missing": Rule(
        frozenset(Severity),
        "a knob changes without the evidence that the fleet demands; weighs what the fleet says",
        True,
    ),
    "evidence-stale": Rule(
        frozenset(Severity),
        "the evidence is too old, of too few questions, of other values, another embedder or another corpus",
        True,
    ),
}

EVIDENCE_RULES: Final = ("evidence-missing", "evidence-stale")
"""Judged where a change is known."""
