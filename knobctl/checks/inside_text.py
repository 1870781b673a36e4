"""Places a fault of a text value at its character in the file, however YAML writes the text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knobctl.checks.places import value_at
from knobctl.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.checks.expressions import ExpressionError
    from knobctl.documents.model import Document
    from knobctl.finding import Location


def policy_error(
    document: Document,
    path: tuple[str | int, ...],
    error: ExpressionError,
    *,
    tenant: str | None = None,
) -> Finding:
    """Say at its place in the policy's file that an expression does not compile, or failed."""
    return Finding(
        rule="policy-error",
        severity=Severity.ERROR,
        message=f"{document.name}: {error.message}",
        hint=_hint(error.message) if tenant else "until it is mended the policy passes nothing",
        tenant=tenant,
        field_path=".".join(map(str, path)),
        primary=place_inside(document, path, error.offset),
    )


def _hint(message: str) -> str | None:
    """What to write where a map lacks a key for some tenants: the failure that most policies have once."""
    missing = _MISSING(message)
    if missing is None:
        return None
    return f"ask first whether it is there: '{missing[1]}' in labels && ..., and the like for other maps"


_MISSING: Final = re.compile(r'Key not found in map : "([\w.-]+)"').match


@lru_cache(maxsize=64)  # a condition that fails for each tenant asks it each time
def place_inside(document: Document, path: tuple[str | int, ...], offset: int) -> Location:
    """The place of one character of a text value; the value's own where the file spells it otherwise.

    Blanks are not counted: a folded text has other ones in the file than in the value.
    """
    whole = document.location(*path)
    spot = document.spot(*path)
    value = value_at(document.value, path)
    if spot is None or not isinstance(value, str):
        return whole
    written = document.literal(*path)
    signs = list(_signs(written))
    if [sign for *_, sign in signs] != [sign for sign in value if not sign.isspace()]:
        return whole
    before = sum(not sign.isspace() for sign in value[:offset])
    if offset < len(value) and not value[offset].isspace():
        start, end, _ = signs[before]
    elif before:  # at a blank, or at the end: what matters is what stands before it
        start = end = signs[before - 1][1]
    else:
        return whole
    return document.text.location(spot.start + start, spot.start + max(end, start))


def _signs(written: str) -> Iterator[tuple[int, int, str]]:
    """The characters of a scalar that are no blanks: where each begins and ends in the file, and what it means."""
    start = _PROPERTIES.match(written).end()  # type: ignore[union-attr]  # matches the empty text too
    style = written[start : start + 1]
    pattern, end = _PLAIN, len(written)
    if style in {"|", ">"}:
        start = _BLOCK_HEADER.match(written, start).end()  # type: ignore[union-attr]  # as above
    elif style in {'"', "'"}:
        start, end = start + 1, len(written) - 1
        pattern = _DOUBLE if style == '"' else _SINGLE
    for found in pattern.finditer(written, start, end):
        sign = _meaning(found[0]) if len(found[0]) > 1 else found[0]
        if not sign.isspace():
            yield found.start(), found.end(), sign


def _meaning(escape: str) -> str:
    """What an escape of a quoted scalar stands for; a blank where it is one, or breaks a line."""
    if escape == "''":
        return "'"
    if len(escape) == _PAIR:
        return bytes.fromhex(escape[2:6] + escape[8:]).decode("utf-16-be")
    if escape[1] in "xuU":
        code = escape[2:]
        return chr(int(code, 16))
    return _ESCAPES.get(escape[1], escape[1])


_PROPERTIES: Final = re.compile(r"(?:[&!]\S*\s+)*")
"""An anchor and a tag may stand before a scalar."""
_BLOCK_HEADER: Final = re.compile(r"[^\r\n]*")
_PLAIN: Final = re.compile(r"\S")
_SINGLE: Final = re.compile(r"''|\S")
_PAIR: Final = len(r"\ud83d\ude00")
_DOUBLE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|\S",
    re.DOTALL,
)
_ESCAPES: Final = {
    **dict.fromkeys("fnrtvNLP_ \t\r\n", " "),
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
}
