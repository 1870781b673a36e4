"""Changes knobs in a file's text: the bytes that it means to change, and no others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from knobctl.documents.insertion import inserted
from knobctl.documents.knob_places import (
    EditRefusedError,
    is_json,
    knob_spots,
    knobs_spot,
    refuse_shared,
    too_odd,
)
from knobctl.documents.layout import entries, is_merged
from knobctl.documents.model import Document, exact_number
from knobctl.documents.reader import read_text
from knobctl.documents.removal import removed
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from knobctl.documents.tree import Text, Value
    from knobctl.knobs import Catalogue

__all__ = ["EditRefusedError", "edit_knobs", "set_knobs", "unset_knobs"]


def set_knobs(document: Document, literals: Mapping[str, str], catalogue: Catalogue) -> bytes:
    """Write knobs into the document's own mapping.

    Args:
        document: A tenant or layer as it stands in its file.
        literals: By canonical name, the characters to write, as the user typed them.
        catalogue: The knobs.

    Returns:
        The whole file. A knob that has the value already stays as it is spelled.

    Raises:
        EditRefusedError: If other values would change with it.
    """
    return edit_knobs(document, catalogue, write=literals)


def unset_knobs(document: Document, names: Iterable[str], catalogue: Catalogue) -> bytes:
    """Take knobs out of the document's own mapping, with the comments that stand above and beside them.

    Args:
        document: A tenant or layer as it stands in its file.
        names: Canonical names; one that is not written there is passed over.
        catalogue: The knobs.

    Returns:
        The whole file.

    Raises:
        EditRefusedError: If a knob arrives by an alias or merge key, or other values would change with it.
    """
    return edit_knobs(document, catalogue, remove=names)


def edit_knobs(
    document: Document,
    catalogue: Catalogue,
    *,
    write: Mapping[str, str] | None = None,
    remove: Iterable[str] = (),
) -> bytes:
    """Write and take out knobs of one document in one go; see `set_knobs` and `unset_knobs`."""
    text = document.text
    if (
        text.troubles
        or document.index >= len(text.trees)
        or text.trees[document.index] is not document.tree
    ):
        raise EditRefusedError(
            "unknown-document", f"{document.source} is no document of a repository"
        )
    for name, literal in (write or {}).items():
        document = _write(document, name, literal, catalogue)
    for name in remove:
        document = _remove(document, name, catalogue)
    return document.text.encoded(document.text.text)


def _write(document: Document, name: str, literal: str, catalogue: Catalogue) -> Document:
    text = document.text.text
    value = _value_of(literal)
    key = _key_of(document, name, catalogue)
    wanted = {**document.knobs, key or name: value}
    if key is None or is_merged(text, knob_spots(document)[key]):
        edited = inserted(document, name, _literal_for(document, literal, value), catalogue)
        return _verified(document, edited, wanted)
    spot = knob_spots(document)[key]
    old = document.knobs[key]
    if _same_number(old, document.literal("knobs", key), value, literal) or (
        old == value and isinstance(old, str)
    ):
        return document
    refuse_shared(document)
    entry = next(entry for entry in entries(text, knobs_spot(document)) if entry.name == key)
    start, end = (spot.via, entry.end) if spot.via >= 0 else (spot.start, spot.end)
    new = _literal_for(document, literal, value)
    quote = text[start : start + 1]
    if quote in {"'", '"'} and isinstance(value, str) and isinstance(old, str):
        new = f"{quote}{value}{quote}"
    if start == end:
        new = f" {new}"
    return _verified(document, text[:start] + new + text[end:], wanted)


def _remove(document: Document, name: str, catalogue: Catalogue) -> Document:
    key = _key_of(document, name, catalogue)
    if key is None:
        return document
    text = document.text.text
    refuse_shared(document)
    spot = knob_spots(document)[key]
    if is_merged(text, spot):
        line = document.text.location(spot.via).line
        raise EditRefusedError(
            "edit-through-alias",
            f"{name} of {document.name} arrives by the merge key in line {line} of {document.source}",
            hint="take it out where it is written, or write it here with its own value",
        )
    edited = removed(document, key)
    return _verified(
        document, edited, {other: value for other, value in document.knobs.items() if other != key}
    )


def _verified(before: Document, edited: str, wanted: Mapping[str, Value]) -> Document:
    """Read the edited text again; give the document if it says what was meant, and all else what it said.

    Raises:
        EditRefusedError: If it does not.
    """
    text = read_text(edited, before.source)
    text.has_bom = before.text.has_bom
    if _others(text, before.index) == _others(before.text, before.index) and not text.troubles:
        tree = text.trees[before.index]
        value = tree.value
        knobs = value.get("knobs") if isinstance(value, dict) else None
        if isinstance(value, dict) and isinstance(knobs, dict) and _equal(knobs, wanted):
            return Document(before.kind, before.name, value, text, tree, before.index)
    if any(
        spot.via >= 0
        for read in (before.text, text)
        for tree in read.trees
        for _, spot in tree.spot.walk()
    ):
        raise EditRefusedError(
            "edit-through-alias",
            f"the edit of {before.name} would change what an alias or merge key in {before.source} refers to",
            hint="write the values out, or edit the file by hand",
        )
    raise too_odd(before)


def _others(text: Text, index: int) -> list[str]:
    """Everything that an edit of one document's knobs leaves alone, in a form that compares NaN too."""
    said = []
    for number, tree in enumerate(text.trees):
        value = tree.value
        if number == index and isinstance(value, dict):
            value = {key: part for key, part in value.items() if key != "knobs"}
        said.append(repr(value))
    return said


def _equal(knobs: Mapping[str, Value], wanted: Mapping[str, Value]) -> bool:
    return sorted(map(repr, knobs.items())) == sorted(map(repr, wanted.items()))


def _key_of(document: Document, name: str, catalogue: Catalogue) -> str | None:
    """The spelling under which a document writes a knob."""
    spellings = [key for key in (name, catalogue[name].json_name) if key in document.knobs]
    if len(set(spellings)) > 1:
        raise EditRefusedError("unknown-knob", f"{document.name} writes {name} in both spellings")
    return spellings[0] if spellings else None


def _value_of(literal: str) -> Value:
    """What a literal reads as."""
    text = read_text(literal, "")
    if len(text.trees) == 1 and not text.troubles and not text.trees[0].troubles:
        tree = text.trees[0]
        whole = (tree.spot.start, tree.spot.end) == (0, len(literal))
        if whole and isinstance(tree.value, (int, float, str)) and not isinstance(tree.value, bool):
            return tree.value
    raise EditRefusedError("wrong-type", f"{literal} is no knob's value")


def _literal_for(document: Document, literal: str, value: Value) -> str:
    """The literal as the document can hold it: JSON has fewer spellings."""
    if not is_json(document):
        return literal
    try:
        json.loads(literal)
    except ValueError:
        return json.dumps(value) if isinstance(value, str) else spelled(value)
    return literal


def _same_number(old: Value, old_literal: str, new: Value, literal: str) -> bool:
    numbers = (int, float)
    if isinstance(old, bool) or not isinstance(old, numbers) or not isinstance(new, numbers):
        return False
    return old == new and exact_number(old_literal, old) == exact_number(literal, new)
