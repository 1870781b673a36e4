"""Puts one knob into a text, where the schema's order has it and in the style of what stands there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.documents.knob_places import (
    EditRefusedError,
    is_json,
    knobs_entry,
    knobs_spot,
    pair_of,
    refuse_shared,
    too_odd,
)
from knobctl.documents.layout import (
    Entry,
    after_colon,
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

if TYPE_CHECKING:
    from knobctl.documents.model import Document
    from knobctl.knobs import Catalogue


def inserted(document: Document, name: str, literal: str, catalogue: Catalogue) -> str:
    """Give the text of a document's file with a knob that its own mapping does not write yet.

    Raises:
        EditRefusedError: If there is no place for it that changes nothing else.
    """
    text = document.text.text
    around = document.spot("knobs")
    if around is None:
        return _with_knobs(document, name, literal)
    refuse_shared(document)
    if not isinstance(around.children, dict):
        if document.value.get("knobs") is not None:
            raise EditRefusedError("wrong-type", f"knobs of {document.name} is no mapping")
        entry = knobs_entry(document)
        at = after_colon(text, entry) if around.start == around.end else around.start
        blank = " " if around.start == around.end else ""
        return (
            text[:at]
            + f"{blank}{{{pair_of(document, name, literal)}}}"
            + text[around.end if not blank else at :]
        )
    own = entries(text, around)
    before = _predecessor(own, name, catalogue)
    if is_flow(text, around):
        return _inserted_flow(document, own, before, pair_of(document, name, literal))
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
    text, around = document.text.text, knobs_spot(document)
    merge = around.merge if around.merge >= 0 else None
    first = own[0].key if own else merge
    indent = indentation(text, first) if first is not None else None
    if first is None or indent is None:
        raise too_odd(document)
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
    text, around = document.text.text, knobs_spot(document)
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
        key = '"knobs"' if is_json(document) else "knobs"
        return f"{text[: last.end]},{gap}{key}: {{{pair_of(document, name, literal)}}}{text[last.end :]}"
    indent = indentation(text, last.key) or ""
    newline = newline_of(text)
    lines = f"{indent}knobs:{newline}{indent}  {name}: {literal}"
    at = after_value(text, last.end)
    if at == len(text) and text[-1:] not in {"\n", "\r"}:
        return f"{text}{newline}{lines}"
    return f"{text[:at]}{lines}{newline}{text[at:]}"
