"""What no schema can say of a field: that a date exists, that a knob is one, that a span is none."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from knobctl.checks.knob_faults import name_fault
from knobctl.checks.places import value_at
from knobctl.documents.model import Kind
from knobctl.documents.patterns import pattern_fault
from knobctl.finding import Finding, Location, Related, Severity
from knobctl.knobs import KnobType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knobctl.documents.model import Document
    from knobctl.knobs import Catalogue


def meaning_findings(documents: Iterable[Document], catalogue: Catalogue) -> Iterator[Finding]:
    """Look at documents that the schema accepts.

    Args:
        documents: Of any kind; those without such fields cost nothing.
        catalogue: The knobs that a fleet may name.
    """
    for document in documents:
        match document.kind:
            case Kind.WAIVER:
                yield from _no_date(document, ("expires",))
            case Kind.FLEET:
                yield from _freezes(document)
                yield from _fleet_knobs(document, catalogue)
                yield from _ticket_pattern(document)
            case _:
                pass


def _no_date(document: Document, path: tuple[str | int, ...]) -> Iterator[Finding]:
    text = str(value_at(document.value, path))
    try:
        date.fromisoformat(text)
    except ValueError:
        yield _bad(document, path, f"{path[-1]} is {text}; there is no such day")


def _freezes(document: Document) -> Iterator[Finding]:
    freezes = document.value.get("freeze")
    first: dict[object, int] = {}
    for index, freeze in enumerate(freezes if isinstance(freezes, list) else ()):
        name = value_at(freeze, ("name",))
        if first.setdefault(name, index) != index:
            yield _named_twice(document, index, first[name])
        ends: list[datetime] = []
        for end in ("from", "to"):
            text = str(value_at(freeze, (end,)))
            try:
                ends.append(datetime.fromisoformat(text))
            except ValueError:
                yield _bad(
                    document, ("freeze", index, end), f"{end} is {text}; there is no such time"
                )
        if len(ends) == 2 and ends[0] > ends[1]:
            message = f"the freeze ends before it begins: {ends[1]} is before {ends[0]}"
            yield _bad(document, ("freeze", index, "to"), message)


def _named_twice(document: Document, index: int, first: int) -> Finding:
    path = ("freeze", index, "name")
    name = value_at(document.value, path)
    found = _bad(
        document, path, f"two freezes have the name {name}: --allow could not tell them apart"
    )
    there = document.location("freeze", first, "name")
    return replace(
        found, hint="rename one of the two", related=(Related("the name stands here too", there),)
    )


def _fleet_knobs(document: Document, catalogue: Catalogue) -> Iterator[Finding]:
    steps = value_at(document.value, ("limits", "largest_step"))
    for name in steps if isinstance(steps, dict) else ():
        if name not in catalogue:
            at = document.key_location("limits", "largest_step", name)
            yield _no_knob(catalogue, ("limits", "largest_step", name), name, at)
        elif catalogue[name].type is KnobType.MODE:
            words = f"{name} is a mode: it has no steps that could be too large"
            yield _bad(document, ("limits", "largest_step", name), words)
    required = value_at(document.value, ("evidence", "required_for"))
    for index, name in enumerate(required if isinstance(required, list) else ()):
        if name not in catalogue:
            at = document.location("evidence", "required_for", index)
            yield _no_knob(catalogue, ("evidence", "required_for", index), name, at)


def _ticket_pattern(document: Document) -> Iterator[Finding]:
    pattern = document.value.get("ticket_pattern")
    if isinstance(pattern, str) and (fault := pattern_fault(pattern)):
        yield _bad(document, ("ticket_pattern",), f"ticket_pattern: {fault}")


def _bad(document: Document, path: tuple[str | int, ...], message: str) -> Finding:
    return Finding(
        rule="bad-value",
        severity=Severity.ERROR,
        message=message,
        field_path=".".join(map(str, path)),
        value=value_at(document.value, path),
        primary=document.location(*path),
    )


def _no_knob(catalogue: Catalogue, path: tuple[Any, ...], name: str, at: Location) -> Finding:
    words = name_fault(name, catalogue)
    return Finding(
        rule=words.rule,
        severity=Severity.ERROR,
        message=words.message,
        hint=words.hint,
        field_path=".".join(map(str, path)),
        value=name,
        primary=at,
    )
