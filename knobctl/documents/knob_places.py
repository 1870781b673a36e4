"""Where a document's knobs stand in its text, and when they cannot be edited there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.documents.layout import Entry, entries
from knobctl.errors import RefusedError

if TYPE_CHECKING:
    from knobctl.documents.model import Document
    from knobctl.documents.tree import Spot


class EditRefusedError(RefusedError):
    """An edit that cannot be made without changing something else. Nothing was written."""

    def __init__(self, rule: str, message: str, *, hint: str | None = None) -> None:
        self.rule = rule
        super().__init__(f"{message} ({rule})", hint=hint)


def too_odd(document: Document) -> EditRefusedError:
    """Say that a text is written in a way that the edit cannot take apart."""
    return EditRefusedError(
        "unsupported-yaml",
        f"{document.source} is written in a way in which one knob of {document.name} cannot be edited alone",
        hint="run knobctl fmt on it, or edit it by hand",
    )


def refuse_shared(document: Document) -> None:
    """Refuse to touch knobs that are an alias.

    Raises:
        EditRefusedError: If they are.
    """
    spot = knobs_spot(document)
    if spot.via >= 0:
        line = document.text.location(spot.via).line
        raise EditRefusedError(
            "edit-through-alias",
            f"the knobs of {document.name} are an alias in line {line} of {document.source}: the edit would change both",
            hint="write the knobs out for this tenant, or share them by a layer",
        )


def knobs_spot(document: Document) -> Spot:
    """Where the knobs of a document stand."""
    spot = document.spot("knobs")
    assert spot is not None
    return spot


def knob_spots(document: Document) -> dict[str, Spot]:
    """Where each of its knobs stands."""
    children = knobs_spot(document).children
    assert isinstance(children, dict)
    return children


def knobs_entry(document: Document) -> Entry:
    """The entry `knobs` of a document."""
    return next(
        entry for entry in entries(document.text.text, document.tree.spot) if entry.name == "knobs"
    )


def is_json(document: Document) -> bool:
    """Whether a document is written as JSON: braces, and keys in double quotes."""
    text, start = document.text.text, document.tree.spot.start
    return text.startswith("{", start) and text[start + 1 :].lstrip().startswith('"')


def pair_of(document: Document, name: str, literal: str) -> str:
    """A knob and its value as a flow mapping of the document writes them."""
    return f'"{name}": {literal}' if is_json(document) else f"{name}: {literal}"
