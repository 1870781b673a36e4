"""The canonical form of a document: names, order, spelling. Comments, layout and values stay."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

from knobctl.documents.kinds import sort_documents
from knobctl.documents.layout import (
    Entry,
    after_value,
    comment_block,
    entries,
    indentation,
    is_flow,
    line_end,
    line_start,
    newline_of,
    next_line,
)
from knobctl.documents.model import Document, Kind, exact_number
from knobctl.documents.order import key_rank, knob_rank
from knobctl.documents.reader import read_text
from knobctl.knobs import KnobType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knobctl.documents.tree import Spot, Text, Value
    from knobctl.knobs import Catalogue, Knob

_LONGEST: Final = 40
_BLANK: Final = re.compile(r"(?:[ \t]*(?:\r\n|\n|\r))+")


def canonical_text(text: Text, catalogue: Catalogue) -> str:
    """Give a text in its canonical form.

    What would change a value, or cannot be moved safely (aliases, merge keys, comments between the
    braces of a flow mapping), stays where and as it is. Applying it twice is applying it once.

    Args:
        text: A text without troubles.
        catalogue: The knobs.
    """
    spelled = _spliced(text.text, _respelled(text, catalogue))
    read = text
    if spelled != text.text:
        read = read_text(spelled, text.source)
        if _meaning(read, catalogue) != _meaning(text, catalogue):
            return text.text
    ordered = _ordered(read, catalogue)
    if ordered != spelled and _meaning(read_text(ordered, text.source), catalogue) != _meaning(
        text, catalogue
    ):
        return spelled
    return ordered


def _meaning(text: Text, catalogue: Catalogue) -> object:
    """What a text says: knobs by canonical name with their exact values, all else as it reads."""
    documents = {document.index: document for document in _knob_documents(text)}
    said: list[object] = [trouble.rule for trouble in text.troubles]
    for index, tree in enumerate(text.trees):
        value = tree.value
        if index in documents and isinstance(value, dict):
            said.append(sorted(_knobs_said(documents[index], catalogue)))
            value = {key: item for key, item in value.items() if key != "knobs"}
        said.append(_plain(value))
    return said


def _knobs_said(document: Document, catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    for key, value in document.knobs.items():
        knob = catalogue.by_any_name.get(key)
        if knob is None:
            yield key, repr(value)
        elif not knob.accepts(value) or isinstance(value, str):
            yield knob.name, repr(value)
        else:
            assert isinstance(value, (int, float))
            yield knob.name, str(exact_number(document.literal("knobs", key), value))


def _plain(value: Value) -> object:
    """A value in a form that compares NaN, and tells 1 from 1.0 and true."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return repr(value)


def _documents(text: Text) -> list[Document]:
    return sort_documents(text, named=False).documents


def _knob_documents(text: Text) -> list[Document]:
    """Tenants and layers, where their knobs are a mapping."""
    return [
        document
        for document in _documents(text)
        if document.kind in {Kind.TENANT, Kind.LAYER}
        and isinstance(document.value.get("knobs"), dict)
    ]


# Spelling


def _respelled(text: Text, catalogue: Catalogue) -> Iterator[tuple[int, int, str]]:
    for document in _knob_documents(text):
        around = document.spot("knobs")
        if around and around.via < 0:
            yield from _respelled_knobs(document, around, catalogue)
    for document in _documents(text):
        for trouble in document.tree.troubles:
            scalar = text.text[trouble.start : trouble.end]
            if trouble.rule == "ambiguous-scalar" and _is_text(scalar):
                yield trouble.start, trouble.end, f"'{scalar}'"


def _is_text(scalar: str) -> bool:
    read = read_text(scalar, "")
    return len(read.trees) == 1 and isinstance(read.trees[0].value, str)


def _respelled_knobs(
    document: Document, around: Spot, catalogue: Catalogue
) -> Iterator[tuple[int, int, str]]:
    text = document.text.text
    own = entries(text, around)
    names = [
        catalogue.by_any_name[entry.name].name
        for entry in own
        if entry.name in catalogue.by_any_name
    ]
    for entry in own:
        knob = catalogue.by_any_name.get(entry.name)
        if knob is None or names.count(knob.name) > 1:
            continue
        if entry.name != knob.name:
            key = text[entry.key : entry.key_end]
            yield (
                entry.key,
                entry.key_end,
                key.replace(entry.name, knob.name) if entry.name in key else knob.name,
            )
        if entry.spot.via < 0:
            literal = text[entry.spot.start : entry.spot.end]
            number = canonical_number(literal, document.knobs[entry.name], knob)
            if number != literal:
                yield entry.spot.start, entry.spot.end, number


def canonical_number(literal: str, value: object, knob: Knob) -> str:
    """Spell a number in plain decimals, digit for digit what it was: `0.30` is 0.3, `1e-3` is 0.001.

    Args:
        literal: As it stands in the file.
        value: What it reads as.
        knob: Whose value it is; what it does not accept stays as it is.
    """
    if knob.type is KnobType.MODE or not knob.accepts(value) or literal[:1] in {"'", '"'}:
        return literal
    try:
        number = Decimal(literal)
    except InvalidOperation:
        return (
            str(int(value)) if isinstance(value, (int, float)) and value == int(value) else literal
        )
    if not -_LONGEST < number.adjusted() < _LONGEST:
        return literal
    plain = format(number, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return plain if len(plain) <= max(_LONGEST, len(literal)) else literal


def _spliced(text: str, splices: Iterator[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(set(splices), reverse=True):
        text = text[:start] + new + text[end:]
    return text


# Order


def _ordered(text: Text, catalogue: Catalogue) -> str:
    raw = text.text
    # From the last document to the first, from the inside outwards: the spots before stay right.
    for document in reversed(_documents(text)):
        if any(spot.via >= 0 for _, spot in document.tree.spot.walk()):
            continue  # an alias must stay behind its anchor
        around = document.spot("knobs")
        root = document.tree.spot
        if (
            document.kind in {Kind.TENANT, Kind.LAYER}
            and around
            and isinstance(around.children, dict)
        ):
            raw = _reordered(raw, around, knob_rank(catalogue), header=False)
            root = read_text(raw, text.source).trees[document.index].spot
        raw = _reordered(raw, root, key_rank(document.kind), header=True)
    return raw


def _reordered(text: str, mapping: Spot, rank: Callable[[str], int], *, header: bool) -> str:
    """Put the entries of one mapping in order, each with the comments above and beside it."""
    own = entries(text, mapping)
    order = sorted(own, key=lambda entry: rank(entry.name))
    if order == own or mapping.merge >= 0:
        return text
    if is_flow(text, mapping):
        return _reordered_flow(text, own, order)
    return _reordered_block(text, own, order, header=header)


def _reordered_flow(text: str, own: Sequence[Entry], order: Sequence[Entry]) -> str:
    inside = text[own[0].key : own[-1].end]
    if "#" in inside:
        return text  # comments between the braces belong to lines, and lines would mix
    pieces = []
    at = own[0].key
    for slot, entry in zip(own, order, strict=True):
        pieces += [text[at : slot.key], text[entry.key : entry.end]]
        at = slot.end
    return text[: own[0].key] + "".join(pieces) + text[at:]


def _reordered_block(
    text: str, own: Sequence[Entry], order: Sequence[Entry], *, header: bool
) -> str:
    indent = indentation(text, own[0].key)
    if indent is None or any(indentation(text, entry.key) != indent for entry in own):
        return text
    stops = [_stretch_end(text, entry, len(indent)) for entry in own]
    first = line_start(text, own[0].key)
    if not header:
        first = comment_block(text, first, indent)
    starts = [first, *stops[:-1]]
    stretches = {
        entry.key: _ended(text, text[start:stop])
        for entry, start, stop in zip(own, starts, stops, strict=True)
    }
    pieces = [stretches[entry.key] for entry in order]
    # Blank lines between groups stay between groups: the new first entry gives its own to the old first.
    blank = _BLANK.match(pieces[0])
    if blank:
        old_first = order.index(own[0])
        pieces[0] = pieces[0][blank.end() :]
        pieces[old_first] = blank[0] + pieces[old_first]
    moved = "".join(pieces)
    if not text[first : stops[-1]].endswith(("\n", "\r")):
        moved = moved.removesuffix(newline_of(text))
    return text[:first] + moved + text[stops[-1] :]


def _stretch_end(text: str, entry: Entry, indent: int) -> int:
    """Where an entry's lines end: with its value, or with comments below that are indented deeper."""
    at = after_value(text, entry.end)
    while at < len(text):
        line = text[at : line_end(text, at)]
        depth = len(line) - len(line.lstrip(" "))
        if not line.lstrip(" ").startswith("#") or depth <= indent:
            return at
        at = next_line(text, at)
    return at


def _ended(text: str, stretch: str) -> str:
    return stretch if stretch.endswith(("\n", "\r")) else stretch + newline_of(text)
