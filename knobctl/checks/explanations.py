"""Explains what the judge refused: every fault of a document, as findings with places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.checks.fields import Fault, field_faults
from knobctl.checks.knob_faults import name_fault, value_fault
from knobctl.checks.places import tenant_of, value_at
from knobctl.documents.model import Kind
from knobctl.finding import Finding, Location, Related, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.checks.schema import Judge
    from knobctl.documents.model import Document
    from knobctl.knobs import Catalogue

_ABSENCES: Final = frozenset({"missing-field", "unknown-field", "unknown-knob"})
_HOLDERS: Final = frozenset({Kind.TENANT, Kind.LAYER})
"""The kinds of document that have knobs."""
_NUMBER_RULES: Final = frozenset({"not-finite", "underflow-to-zero", "negative-zero"})


def explain(
    document: Document, catalogue: Catalogue, judge: Judge, *, known: frozenset[tuple[int, int]]
) -> Iterator[Finding]:
    """Explain a document that the judge refused.

    Args:
        document: The document.
        catalogue: The knobs.
        judge: The judge that refused it.
        known: Lines and columns at which reading found an error already: one fault, one finding.

    Yields:
        A finding for each fault; none where the document only spells knobs as the wire does.
    """
    reading = _told_by_the_reader(document)
    canonical = _canonical(document, catalogue)
    found = [
        *_knob_findings(document, catalogue, reading),
        *_field_findings(document, catalogue, judge, canonical, reading),
    ]
    yield from (one for one in found if one.rule in _ABSENCES or _place(one) not in known)
    if not found and not reading and not known and canonical[0] == document.value:
        # The two judges disagree. Say so rather than let the document pass.
        yield _at(document, Fault((), "bad-value", judge.refusal(document)))


def _place(finding: Finding) -> tuple[int, int]:
    assert finding.primary is not None
    return finding.primary.line, finding.primary.column


def _told_by_the_reader(document: Document) -> frozenset[int]:
    """Offsets of the keys and values of which the reader has told what is wrong."""
    knobs = document.spot("knobs")
    return frozenset(
        trouble.start
        for trouble in document.tree.troubles
        if trouble.rule in _NUMBER_RULES
        or trouble.rule == "unsupported-yaml"
        or (trouble.rule == "ambiguous-scalar" and knobs and knobs.start <= trouble.start)
    )


def _canonical(
    document: Document, catalogue: Catalogue
) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """The document with canonical names of knobs, and by canonical name the one written."""
    names: dict[str, str] = {}
    for key in document.knobs:
        knob = catalogue.by_any_name.get(key)
        names.setdefault(knob.name if knob else key, key)
    if not document.knobs:
        return document.value, names
    knobs = {name: document.knobs[key] for name, key in names.items()}
    return {**document.value, "knobs": knobs}, names


def _knob_findings(
    document: Document, catalogue: Catalogue, reading: frozenset[int]
) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for key, value in document.knobs.items():
        spot = document.spot("knobs", key)
        assert spot is not None
        knob = catalogue.by_any_name.get(key)
        if knob is None:
            if spot.key not in reading:
                yield _unknown(document, catalogue, key)
            continue
        if knob.name in first:
            yield _both_spellings(document, knob.name, first[knob.name], key)
        first.setdefault(knob.name, key)
        words = value_fault(knob, value, document.literal("knobs", key))
        if words and spot.start not in reading:
            yield knob_finding(document, ("knobs", key), knob.name, words)


def _unknown(document: Document, catalogue: Catalogue, key: str) -> Finding:
    words = name_fault(key, catalogue)
    return knob_finding(
        document, ("knobs", key), key, words, at=document.key_location("knobs", key)
    )


def _both_spellings(document: Document, name: str, first: str, second: str) -> Finding:
    return Finding(
        rule="unknown-knob",
        severity=Severity.ERROR,
        message=f"{first} and {second} are two spellings of one knob, {name}",
        hint="keep one of the two; neither is used",
        tenant=tenant_of(document),
        field_path=name,
        value=document.knobs[second],
        primary=document.key_location("knobs", second),
        related=(Related("written first here", document.key_location("knobs", first)),),
    )


def knob_finding(
    document: Document,
    path: tuple[str | int, ...],
    name: str,
    words: tuple[str, str, str],
    *,
    at: Location | None = None,
) -> Finding:
    """Make a finding about a knob that one of our documents writes."""
    rule, message, hint = words
    spot = document.spot(*path)
    related: tuple[Related, ...] = ()
    if spot is not None and spot.via >= 0:
        via = document.text.location(spot.via)
        related = (
            Related(
                f"the value arrives through the merge or alias at {via.line}:{via.column}", via
            ),
        )
    return Finding(
        rule=rule,
        severity=Severity.ERROR,
        message=message,
        hint=hint,
        tenant=tenant_of(document),
        field_path=name,
        value=value_at(document.value, path),
        primary=at or document.location(*path),
        related=related,
    )


def _field_findings(
    document: Document,
    catalogue: Catalogue,
    judge: Judge,
    canonical: tuple[Mapping[str, Any], Mapping[str, str]],
    reading: frozenset[int],
) -> Iterator[Finding]:
    value, names = canonical
    told: set[tuple[str | int, ...]] = set()
    for fault in field_faults(document.kind, value, judge.schemas):
        path = fault.path
        is_value = fault.rule not in {"missing-field", "unknown-field"}
        if _is_told_of_knobs(document, catalogue, names, path) or (is_value and path in told):
            continue
        told.add(path)
        if path[:1] == ("knobs",) and len(path) > 1:
            path = ("knobs", names.get(str(path[1]), path[1]), *path[2:])
        spot = document.spot(*path)
        if spot is None or spot.start not in reading:
            yield _at(document, _about_a_knob(document, catalogue, fault._replace(path=path)))


def _about_a_knob(document: Document, catalogue: Catalogue, fault: Fault) -> Fault:
    """The fault, with where a knob belongs if that is what stands at the root."""
    is_knob = len(fault.path) == 1 and fault.path[0] in catalogue.by_any_name
    if fault.rule != "unknown-field" or not is_knob or document.kind not in _HOLDERS:
        return fault
    hint = "it is a knob: it belongs under knobs, indented like the others there"
    return fault._replace(hint=hint)


def _is_told_of_knobs(
    document: Document,
    catalogue: Catalogue,
    names: Mapping[str, str],
    path: tuple[str | int, ...],
) -> bool:
    """Whether a fault is in a knob's name or value, of which `_knob_findings` tells more."""
    if len(path) < 2 or path[0] != "knobs":
        return False
    knob = catalogue.by_name.get(str(path[1]))
    return knob is None or not knob.accepts(document.knobs.get(names[knob.name]))


def _at(document: Document, fault: Fault) -> Finding:
    place = document.location
    if fault.at_key:
        place = document.key_location
    return Finding(
        rule=fault.rule,
        severity=Severity.ERROR,
        message=fault.message,
        hint=fault.hint,
        tenant=tenant_of(document),
        field_path=".".join(map(str, fault.path)) or None,
        value=_scalar(value_at(document.value, fault.path)),
        primary=place(*fault.path),
    )


def _scalar(value: object) -> object:
    return None if isinstance(value, (dict, list)) else value
