"""Says what each document of a text is: one of ours, somebody else's, or a mistake."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knobctl.documents.model import Document, Kind
from knobctl.documents.order import KEY_ORDER
from knobctl.documents.tree import Spot, Tree
from knobctl.documents.troubles import findings_of
from knobctl.finding import Finding, Severity
from knobctl.text import nearest

if TYPE_CHECKING:
    from knobctl.documents.tree import Text, Value

KIND_KEYS: Final = frozenset(kind.value for kind in Kind)
TENANT_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?\Z")
_FIELDS: Final = frozenset({name for names in KEY_ORDER.values() for name in names} - KIND_KEYS)
_ANSWER: Final = frozenset({"version", "command", "outcome", "exit_code"})
"""What every answer of ours has; some say fleet or tenant beside it, and pipelines leave them lying about."""
_ONE_OF: Final = "exactly one of tenant, layer, policy, waiver and fleet says what a document is"


@dataclass(slots=True)
class Sorted:
    """The documents of one text, sorted by what they are."""

    documents: list[Document] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    strangers: int = 0
    """How many documents are somebody else's."""


def sort_documents(text: Text, *, named: bool, tenant: str | None = None) -> Sorted:
    """Sort the documents of a text.

    Args:
        text: A text as read.
        named: Whether the user named this very file, so that nothing in it is somebody else's.
        tenant: Whose knobs a bare knob map, or the wire's JSON, is; None where those are not expected.
    """
    result = Sorted()
    for trouble in text.troubles:
        result.findings += findings_of(text, [trouble], named=named)
    if not text.trees and not text.troubles:
        result.findings.append(_empty(text, 0, 0))
    for index, tree in enumerate(text.trees):
        _sort(text, tree, index, result, named=named, tenant=tenant)
    return result


def _sort(
    text: Text, tree: Tree, index: int, result: Sorted, *, named: bool, tenant: str | None
) -> None:
    value = tree.value
    if isinstance(value, dict) and value.keys() >= _ANSWER:
        _pass_over_answer(text, tree, result, named=named)
        return
    if isinstance(value, dict):
        kinds = KIND_KEYS & value.keys()
        if len(kinds) == 1:
            (kind,) = kinds
            result.documents.append(_document(text, tree, index, Kind(kind), result.findings))
            return
    elif value is None:
        result.findings.append(_empty(text, tree.spot.start, tree.spot.end))
        return
    if tenant is not None and value == {}:
        result.findings.append(_empty(text, tree.spot.start, tree.spot.end))
    elif tenant is not None and isinstance(value, dict) and not KIND_KEYS & value.keys():
        adopted = _adopted(tree, value, tenant)
        result.documents.append(_document(text, adopted, index, Kind.TENANT, result.findings))
    elif (problem := _problem(text, tree, named=named)) is not None:
        result.findings.append(problem)
    else:
        result.strangers += 1


def _pass_over_answer(text: Text, tree: Tree, result: Sorted, *, named: bool) -> None:
    if named:
        start = tree.spot.start
        message = "this is what a command answered, no document"
        result.findings.append(_unknown(text, start, start, message, _ONE_OF))
    else:
        result.strangers += 1


def _document(text: Text, tree: Tree, index: int, kind: Kind, findings: list[Finding]) -> Document:
    value = tree.value
    assert isinstance(value, dict)
    name = value[kind.value]
    document = Document(kind, name if isinstance(name, str) else "", value, text, tree, index)
    if tree.troubles:
        findings += findings_of(text, tree.troubles, document=document)
    if kind is Kind.TENANT and isinstance(name, str) and not TENANT_NAME.match(name):
        findings.append(_bad_name(document))
    return document


def _adopted(tree: Tree, value: dict[str, Value], tenant: str) -> Tree:
    """Give a bare knob map, the wire's JSON, or `knobs` without a kind its tenant."""
    spot = tree.spot
    at = Spot(spot.start, spot.start, spot.start)
    for key in ("knobs", "config"):
        if isinstance(value.get(key), dict):
            assert isinstance(spot.children, dict)
            rest = value if key == "knobs" else {}
            inner = {
                **(spot.children if key == "knobs" else {}),
                "tenant": at,
                "knobs": spot.children[key],
            }
            return Tree(
                {**rest, "tenant": tenant, "knobs": value[key]},
                spot._replace(children=inner),
                tree.troubles,
            )
    bare = {"tenant": at, "knobs": spot}
    return Tree({"tenant": tenant, "knobs": value}, spot._replace(children=bare), tree.troubles)


def _problem(text: Text, tree: Tree, *, named: bool) -> Finding | None:
    """What is wrong with a document that has not exactly one kind key; None if it is somebody else's."""
    value, spot = tree.value, tree.spot
    if not isinstance(value, dict):
        if not named:
            return None
        kind = "a list" if isinstance(value, list) else "a plain value"
        return _unknown(
            text, spot.start, spot.end, f"the document is {kind}, not a mapping", _ONE_OF
        )
    assert isinstance(spot.children, dict)
    kinds = [key for key in value if key in KIND_KEYS]
    if kinds:
        second = spot.children[kinds[1]]
        message = f"the document says {kinds[0]} and {kinds[1]}"
        return _unknown(
            text, second.key, second.key + len(kinds[1]), message, f"{_ONE_OF}; divide it with ---"
        )
    return _kindless(text, tree, value, spot.children, named=named)


def _kindless(
    text: Text, tree: Tree, value: dict[str, Value], spots: dict[str, Spot], *, named: bool
) -> Finding | None:
    ours = "knobs" in value
    for key, written in value.items():
        meant = _near(key)
        if meant and (
            ours or (isinstance(written, str) and _FIELDS.issuperset(value.keys() - {key}))
        ):
            at = spots[key].key
            return _unknown(
                text,
                at,
                at + len(key),
                f"{key} is no kind of document",
                f"did you mean {meant}?",
                written,
            )
    if ours:
        at = spots["knobs"].key
        return _unknown(
            text,
            at,
            at + len("knobs"),
            "knobs stand here, and nothing says whose",
            "write tenant: NAME or layer: NAME above them",
        )
    if named:
        return _unknown(
            text, tree.spot.start, tree.spot.start, "this is no document of knobctl", _ONE_OF
        )
    return None


def _near(key: str) -> str | None:

    if key.lower().removesuffix("s") in KIND_KEYS and key.lower() not in KIND_KEYS:
        return None  # `tenants` and `layers` are words of their own, not mistyped ones
    return nearest(key.lower(), KIND_KEYS, cutoff=0.8)


def _unknown(
    text: Text, start: int, end: int, message: str, hint: str, value: Value = None
) -> Finding:
    return Finding(
        rule="unknown-document",
        severity=Severity.ERROR,
        message=message,
        hint=hint,
        value=value if isinstance(value, str) else None,
        primary=text.location(start, end),
    )


def _empty(text: Text, start: int, end: int) -> Finding:
    return Finding(
        rule="empty-document",
        severity=Severity.ERROR,
        message='nothing stands here; an empty document is never read as "reset every knob"',
        hint="write the tenant and `knobs: {}` for a tenant at the defaults; to reset one: knobctl reset TENANT",
        primary=text.location(start, end),
    )


def _bad_name(document: Document) -> Finding:
    return Finding(
        rule="invalid-name",
        severity=Severity.ERROR,
        message=f"{document.name!r} is no tenant's name",
        hint="1 to 63 of a-z 0-9 . _ -, the first and the last a letter or digit",
        field_path="tenant",
        value=document.name,
        primary=document.location("tenant"),
    )
