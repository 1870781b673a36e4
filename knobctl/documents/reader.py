"""Reads YAML 1.2 (and so JSON) into plain values with a position for every key and value.

One pass over libyaml's events builds values, positions, and what is wrong with them. The measured
alternatives (a loader plus a second, positioned parse) cost twice as much and disagree with each
other about twenty spellings; see `tests/documents/test_reader.py` for the list that is pinned here.
"""

from __future__ import annotations

from typing import Final

from yaml.error import MarkedYAMLError, YAMLError
from yaml.reader import ReaderError

from knobctl.documents.building import MAX_DEPTH, MAX_NODES, Builder
from knobctl.documents.hidden import note_invisible
from knobctl.documents.surrogates import restore, stand_in_base, with_stand_ins
from knobctl.documents.tree import Spot, Text, TextStop, Tree, Trouble, Value

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_NODES",
    "Spot",
    "Text",
    "Tree",
    "Trouble",
    "Value",
    "read_bytes",
    "read_text",
]

MAX_BYTES: Final = 1024 * 1024
_BOM: Final = b"\xef\xbb\xbf"


def read_bytes(raw: bytes, source: str) -> Text:
    """Read a file's bytes: UTF-8, with or without a byte-order mark.

    Args:
        raw: The file's content.
        source: The name that findings carry.

    Returns:
        The text with its documents; what is wrong stands in `troubles`. Never raises for bad input.
    """
    if len(raw) > MAX_BYTES:
        message = f"more than {MAX_BYTES:,} bytes, the most that a file may hold"
        return Text(source, "", troubles=[Trouble("yaml-limits", message, 0, 0, "split the file")])
    has_bom = raw.startswith(_BOM)
    try:
        text = raw.decode("utf-8-sig" if has_bom else "utf-8")
    except UnicodeDecodeError as error:
        return _no_utf8(raw, source, error)
    result = read_text(text, source)
    result.has_bom = has_bom
    return result


def _no_utf8(raw: bytes, source: str, error: UnicodeDecodeError) -> Text:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        message = "the file is UTF-16, not UTF-8"
        at, text = 0, ""
    else:
        # The error counts from behind a byte-order mark where there is one.
        skipped = len(_BOM) if raw.startswith(_BOM) else 0
        position = error.start + (skipped if len(error.object) < len(raw) else 0)
        message = f"byte 0x{raw[position]:02x} is no UTF-8"
        text = raw[skipped:position].decode("utf-8", "replace")
        at = len(text)
    trouble = Trouble("yaml-syntax", message, at, at, "save the file as UTF-8")
    return Text(source, text, troubles=[trouble])


def read_text(text: str, source: str) -> Text:
    """Read a text, with or without byte-order mark; see `read_bytes`."""
    has_bom = text.startswith("\ufeff")
    text = text.removeprefix("\ufeff")
    result = Text(source, text, has_bom=has_bom)
    if len(text) > MAX_BYTES:
        message = f"{len(text):,} characters; a text may hold {MAX_BYTES:,}"
        result.troubles.append(Trouble("yaml-limits", message, 0, 0, "split it"))
        return result
    base = stand_in_base(text)
    try:
        for tree in Builder(text if base is None else with_stand_ins(text, base)).trees():
            if base is not None:
                restore(tree, base)
            result.trees.append(tree)
    except TextStop as stop:
        result.troubles.append(stop.trouble)
    except YAMLError as error:
        result.troubles.append(_syntax_trouble(error, text))
    note_invisible(result)
    return result


def _syntax_trouble(error: YAMLError, text: str) -> Trouble:
    if isinstance(error, ReaderError):
        at = min(int(error.position), len(text))
        return Trouble(
            "yaml-syntax", "a control character that YAML forbids", at, at + 1, "remove it"
        )
    if not isinstance(error, MarkedYAMLError):
        return Trouble("yaml-syntax", str(error), 0, 0)
    mark = error.problem_mark or error.context_mark
    at = min(mark.index, len(text)) if mark else 0
    line_start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    if "\t" in text[line_start : at + 1] and not text[line_start:at].strip():
        hint = "indent with spaces"
        return Trouble("yaml-syntax", "a tab indents this line", line_start, at + 1, hint)
    if "nesting depth" in str(error.problem):
        return Trouble(
            "yaml-limits", f"nested deeper than {MAX_DEPTH} levels", at, at, "flatten it"
        )
    context = f" ({error.context})" if error.context else ""
    return Trouble("yaml-syntax", f"{error.problem or 'unreadable'}{context}", at, at)
