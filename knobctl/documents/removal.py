"""Takes one knob out of a text, with the comments above and beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.documents.knob_places import knobs_entry, knobs_spot, too_odd
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
    next_line,
)

if TYPE_CHECKING:
    from knobctl.documents.model import Document


def removed(document: Document, key: str) -> str:
    """Give the text of a document's file without one of the knobs that it writes itself.

    Raises:
        EditRefusedError: If the knob does not stand on lines of its own.
    """
    text, around = document.text.text, knobs_spot(document)
    own = entries(text, around)
    number = [entry.name for entry in own].index(key)
    return (_cut_flow if is_flow(text, around) else _cut_block)(document, own, number)


def _cut_block(document: Document, own: list[Entry], number: int) -> str:
    text, entry = document.text.text, own[number]
    indent = indentation(text, entry.key)
    if indent is None:
        raise too_odd(document)
    start = comment_block(text, line_start(text, entry.key), indent)
    edited = text[:start] + text[after_value(text, entry.end) :]
    if len(own) > 1 or knobs_spot(document).merge >= 0:
        return edited
    at = after_colon(text, knobs_entry(document))
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
