"""Turns what the reader stumbled over into findings: who is concerned, and how grave it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.documents.model import Kind
from knobctl.finding import Finding, Related, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knobctl.documents.model import Document
    from knobctl.documents.tree import Path, Spot, Text, Trouble

_OF_NUMBERS: Final = frozenset({"not-finite", "underflow-to-zero", "negative-zero"})
_WARNINGS: Final = frozenset({"ambiguous-scalar", "invisible-characters"})


def findings_of(
    text: Text, troubles: Iterable[Trouble], *, document: Document | None = None, named: bool = True
) -> list[Finding]:
    """Make findings of troubles.

    Args:
        text: Where they were found.
        troubles: What the reader noted.
        document: The document in which they stand; None where the text became none.
        named: Whether the user named the file; if not, it may be somebody else's and the hint says so.
    """
    places = _places(document.tree.spot) if document else {}
    return [
        _finding(text, trouble, document, places.get(trouble.start, ()), named=named)
        for trouble in troubles
    ]


def _finding(
    text: Text, trouble: Trouble, document: Document | None, path: Path, *, named: bool
) -> Finding:
    is_knob = len(path) > 1 and path[0] == "knobs"
    grave = trouble.rule not in _WARNINGS or (is_knob and trouble.rule == "ambiguous-scalar")
    hint = trouble.hint
    value = _scalar(document, path, trouble.start) if document else None
    if is_knob and trouble.rule == "ambiguous-scalar" and isinstance(value, str):
        hint = f"no knob takes it, quoted or not; what this one takes: knobctl explain {path[1]}"
    if document is None and not named:
        remark = "if the file is not knobctl's, name it under skip in knobctl.toml"
        hint = f"{hint}; {remark}" if hint else remark
    return Finding(
        rule=trouble.rule,
        severity=Severity.ERROR if grave else Severity.WARNING,
        message=_named(path, trouble) if is_knob else trouble.message,
        hint=hint,
        tenant=document.name if document and document.kind is Kind.TENANT else None,
        field_path=".".join(str(step) for step in (path[1:] if is_knob else path)) or None,
        value=value,
        primary=text.location(trouble.start, trouble.end),
        related=tuple(Related(message, text.location(at)) for message, at in trouble.related),
    )


def _named(path: Path, trouble: Trouble) -> str:
    """Name the knob whose number is none: the text of the value alone does not say which gate it opens."""
    return f"{path[1]} {trouble.message}" if trouble.rule in _OF_NUMBERS else trouble.message


def _scalar(document: Document, path: Path, start: int) -> object:
    """The plain value at a path, unless the trouble is with its key."""
    value: object = document.value
    for step in path:
        value = value[step]  # type: ignore[index]  # the spots mirror the value
    spot = document.spot(*path)
    return None if isinstance(value, (dict, list)) or (spot and spot.start != start) else value


def _places(root: Spot) -> dict[int, Path]:
    """The paths of all keys and values by the offset at which they start."""
    places: dict[int, Path] = {}
    for path, spot in root.walk():
        # A value that a knob shares through an alias is the knob's.
        if path[:1] == ("knobs",):
            places[spot.key] = places[spot.start] = path
        else:
            places.setdefault(spot.key, path)
            places.setdefault(spot.start, path)
    return places
