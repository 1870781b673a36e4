"""Changes knobs in a file's text: the bytes that it means to change, and no others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from knobctl.documents.layout import (
    Entry,
    after_colon,
    after_value,
    comment_block,
    entries,
    indentation,
    is_flow,
    is_merged,
    line_end,
    line_start,
    newline_of,
    next_line,
)
from knobctl.documents.model import Document, exact_number
from knobctl.documents.reader import read_text
from knobctl.errors import RefusedError
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from knobctl.documents.tree import Spot, Text, Value
    from knobctl.knobs import Catalogue


class EditRefusedError(RefusedError):
    """An edit that cannot be made without changing something else. Nothing was written."""

    def __init__(self, rule: str, message: str, *, hint: str | None = None) -> None:
        self.rule = rule
        super().__init__(f"{message} ({rule})", hint=hint)


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
    if key is None or is_merged(text, _children(document)[key]):
        edited = _inserted(document, name, _literal_for(document, literal, value), catalogue)
        return _verified(document, edited, wanted)
    spot = _children(document)[key]
    old = document.knobs[key]
    if _same_number(old, document.literal("knobs", key), value, literal) or (
        old == value and isinstance(old, str)
    ):
        return document
    _refuse_shared(document)
    entry = next(entry for entry in entries(text, _knobs_spot(document)) if entry.name == key)
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
    text, around = document.text.text, _knobs_spot(document)
    _refuse_shared(document)
    spot = _children(document)[key]
    if is_merged(text, spot):
        line = document.text.location(spot.via).line
        raise EditRefusedError(
            "edit-through-alias",
            f"{name} of {document.name} arrives by the merge key in line {line} of {document.source}",
            hint="take it out where it is written, or write it here with its own value",
        )
    own = entries(text, around)
    number = [entry.name for entry in own].index(key)
    edited = (_cut_flow if is_flow(text, around) else _cut_block)(document, own, number)
    return _verified(
        document, edited, {other: value for other, value in document.knobs.items() if other != key}
    )


def _cut_block(document: Document, own: list[Entry], number: int) -> str:
    text, entry = document.text.text, own[number]
    indent = indentation(text, entry.key)
    if indent is None:
        raise _too_odd(document)
    start = comment_block(text, line_start(text, entry.key), indent)
    edited = text[:start] + text[after_value(text, entry.end) :]
    if len(own) > 1 or _knobs_spot(document).merge >= 0:
        return edited
    at = after_colon(text, _knobs_entry(document))
    return edited[:at] + " {}" + edited[at:]


def _cut_flow(document: Document, own: list[Entry], number: int) -> str:
    text, entry = document.text.text, own[number]
    if number + 1 < len(own):
        comma = _comma(text, entry.end, own[number + 1].key)
        return _cut_stretch(text, entry.key, comma + 1)
    if number == 0:
        return text[: entry.key] + text[entry.end :]
    comma = _comma(text, own[number - 1].end, entry.key)
    if not text[comma + 1 : entry.key].strip():
        rest = text[entry.end : line_end(text, entry.end)].lstrip(" \t")
        end = line_end(text, entry.end) if rest.startswith("#") else entry.end
        return text[:comma] + text[end:]
    edited = _cut_stretch(text, entry.key, entry.end)
    return edited[:comma] + edited[comma + 1 :]


def _cut_stretch(text: str, start: int, end: int) -> str:
    """Cut an entry of a flow mapping: its line, if it has one to itself, else its characters."""
    rest = text[end : line_end(text, end)].lstrip(" \t")
    indent = indentation(text, start)
    if indent is not None and (not rest or rest.startswith("#")):
        return (
            text[: comment_block(text, line_start(text, start), indent)]
            + text[next_line(text, end) :]
        )
    if rest.startswith("#"):
        end = line_end(text, end)
    while text[end : end + 1] in {" ", "\t"}:
        end += 1
    return text[:start] + text[end:]


def _comma(text: str, start: int, stop: int) -> int:
    """The comma between two entries of a flow mapping, past comments."""
    at = start
    while at < stop and text[at] != ",":
        at = line_end(text, at) if text[at] == "#" else at + 1
    return at


def _inserted(document: Document, name: str, literal: str, catalogue: Catalogue) -> str:
    text = document.text.text
    around = document.spot("knobs")
    if around is None:
        return _with_knobs(document, name, literal)
    _refuse_shared(document)
    if not isinstance(around.children, dict):
        if document.value.get("knobs") is not None:
            raise EditRefusedError("wrong-type", f"knobs of {document.name} is no mapping")
        entry = _knobs_entry(document)
        at = after_colon(text, entry) if around.start == around.end else around.start
        blank = " " if around.start == around.end else ""
        return (
            text[:at]
            + f"{blank}{{{_pair(document, name, literal)}}}"
            + text[around.end if not blank else at :]
        )
    own = entries(text, around)
    before = _predecessor(own, name, catalogue)
    if is_flow(text, around):
        return _inserted_flow(document, own, before, _pair(document, name, literal))
    return _inserted_block(document, own, before, f"{name}: {literal}")


def _predecessor(own: list[Entry], name: str, catalogue: Catalogue) -> Entry | None:
    """After which entry a knob belongs: the last one that the schema puts before it."""
    order = {knob.name: number for number, knob in enumerate(catalogue.knobs)}
    known = catalogue.by_any_name
    return next(
        (
            entry
            for entry in reversed(own)
            if entry.name in known and order[known[entry.name].name] < order[name]
        ),
        None,
    )


def _inserted_block(document: Document, own: list[Entry], before: Entry | None, line: str) -> str:
    text, around = document.text.text, _knobs_spot(document)
    merge = around.merge if around.merge >= 0 else None
    first = own[0].key if own else merge
    indent = indentation(text, first) if first is not None else None
    if first is None or indent is None:
        raise _too_odd(document)
    newline = newline_of(text)
    if before is not None:
        at = after_value(text, before.end)
    elif merge is not None and merge < first:
        at = next_line(text, merge)
    elif own:
        at = comment_block(text, line_start(text, first), indent)
    else:
        at = after_value(text, around.end)
    if at == len(text) and text[-1:] not in {"\n", "\r"}:
        return f"{text}{newline}{indent}{line}"
    return f"{text[:at]}{indent}{line}{newline}{text[at:]}"


def _inserted_flow(document: Document, own: list[Entry], before: Entry | None, pair: str) -> str:
    text, around = document.text.text, _knobs_spot(document)
    if not own:
        at = around.start + 1
        return f"{text[:at]}{pair}{', ' if around.merge >= 0 else ''}{text[at:]}"
    neighbour = before or own[0]
    indent = indentation(text, neighbour.key)
    newline = newline_of(text)
    following = own[own.index(before) + 1 :][:1] if before else own[:1]
    if following:
        # Between lines if there are any: a comment beside a knob must stay beside it.
        at = following[0].key
        if (depth := indentation(text, at)) is None:
            return f"{text[:at]}{pair}, {text[at:]}"
        at = comment_block(text, line_start(text, at), depth)
        return f"{text[:at]}{depth}{pair},{newline}{text[at:]}"
    end = neighbour.end
    rest = text[end : line_end(text, end)]
    if rest.lstrip(" \t").startswith("#"):
        at = end + len(rest)
        return f"{text[:end]},{rest}{newline}{indent or '  '}{pair}{text[at:]}"
    gap = " " if indent is None else newline + indent
    return f"{text[:end]},{gap}{pair}{text[end:]}"


def _with_knobs(document: Document, name: str, literal: str) -> str:
    """Add `knobs` to a document that has none: after its last key."""
    text, root = document.text.text, document.tree.spot
    own = entries(text, root)
    last = own[-1]
    if is_flow(text, root):
        indent = indentation(text, last.key)
        gap = " " if indent is None else newline_of(text) + indent
        key = '"knobs"' if _is_json(document) else "knobs"
        return (
            f"{text[: last.end]},{gap}{key}: {{{_pair(document, name, literal)}}}{text[last.end :]}"
        )
    indent = indentation(text, last.key) or ""
    newline = newline_of(text)
    lines = f"{indent}knobs:{newline}{indent}  {name}: {literal}"
    at = after_value(text, last.end)
    if at == len(text) and text[-1:] not in {"\n", "\r"}:
        return f"{text}{newline}{lines}"
    return f"{text[:at]}{lines}{newline}{text[at:]}"


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
    raise _too_odd(before)


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
    if not _is_json(document):
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


def _refuse_shared(document: Document) -> None:
    spot = _knobs_spot(document)
    if spot.via >= 0:
        line = document.text.location(spot.via).line
        raise EditRefusedError(
            "edit-through-alias",
            f"the knobs of {document.name} are an alias in line {line} of {document.source}: the edit would change both",
            hint="write the knobs out for this tenant, or share them by a layer",
        )


def _too_odd(document: Document) -> EditRefusedError:
    return EditRefusedError(
        "unsupported-yaml",
        f"{document.source} is written in a way in which one knob of {document.name} cannot be edited alone",
        hint="run knobctl fmt on it, or edit it by hand",
    )


def _knobs_spot(document: Document) -> Spot:
    spot = document.spot("knobs")
    assert spot is not None
    return spot


def _children(document: Document) -> dict[str, Spot]:
    children = _knobs_spot(document).children
    assert isinstance(children, dict)
    return children


def _knobs_entry(document: Document) -> Entry:
    return next(
        entry for entry in entries(document.text.text, document.tree.spot) if entry.name == "knobs"
    )


def _is_json(document: Document) -> bool:
    return document.text.text[document.tree.spot.key :].startswith(
        "{"
    ) and document.text.text.lstrip()[1:].lstrip().startswith('"')


def _pair(document: Document, name: str, literal: str) -> str:
    return f'"{name}": {literal}' if _is_json(document) else f"{name}: {literal}"
