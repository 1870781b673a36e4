"""What ingest takes: every field of a text is looked at, and every fault is named."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

from knobctl.server.audit import rfc3339
from knobctl.server.refusal import Violation, invalid
from knobctl.text import INVISIBLE, count, has_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knobctl.server.retrieval.model import Text

MOST_TEXTS: Final = 1000
"""In one upsert."""
LONGEST_ID: Final = 500
"""In UTF-8 bytes; with the number of a piece behind it, an id stays within 512."""
LARGEST_TEXT: Final = 16 << 20
"""In UTF-8 bytes."""
MOST_METADATA: Final = 16_000
"""Names and values of one text together, in UTF-8 bytes."""
DEFAULT_SOURCE: Final = "default"
_MOST_VIOLATIONS: Final = 50

_RFC3339: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def require_acceptable(texts: Sequence[Text]) -> None:
    """See that a request can be taken as a whole.

    Raises:
        ServiceError: `invalid_argument`, with a violation for each field that cannot.
    """
    if len(texts) > MOST_TEXTS:
        raise invalid(
            Violation(
                "chunks", f"{len(texts):,} chunks are too many for one call; at most {MOST_TEXTS:,}"
            )
        )
    seen = TextsSeen("chunks[{}]")
    violations = [
        Violation(f"chunks[{number}].{one.field}", one.description)
        for number, text in enumerate(texts)
        for one in (*violations_of(text), *seen.violations_beside(text, number))
    ]
    if violations:
        raise invalid(*violations[:_MOST_VIOLATIONS])


def violations_of(text: Text) -> Iterator[Violation]:
    """Say what is wrong with one text, by field, in snake_case."""
    yield from _id_violations("document_id", text.document_id, wanted=True)
    yield from _id_violations("chunk_id", text.chunk_id)
    yield from _id_violations("source_id", text.source_id)
    yield from _text_violations(text.text)
    if text.created_at and accepted_time(text.created_at) is None:
        yield Violation(
            "created_at",
            "created_at must be an RFC 3339 time with its zone, such as 2026-11-29T20:00:00Z",
        )
    yield from _metadata_violations(text.metadata)


class TextsSeen:
    """Which chunks and documents came before, so that none replaces another unnoticed."""

    def __init__(self, place: str) -> None:
        """Begin.

        Args:
            place: What to call the text of a number: `line {}`.
        """
        self._place = place
        self._chunks: dict[str, int] = {}
        self._whole: dict[str, int] = {}
        self._in_parts: dict[str, int] = {}

    def violations_beside(self, text: Text, number: int) -> Iterator[Violation]:
        """Say which text before this one it would replace, and remember this one."""
        if not text.document_id:
            return
        name = text.chunk_id or text.document_id
        before = self._chunks.setdefault(name, number)
        other = self._whole if text.chunk_id else self._in_parts
        if before == number:
            before = other.get(text.document_id, number)
        (self._in_parts if text.chunk_id else self._whole).setdefault(text.document_id, number)
        if before != number:
            yield _taken(text, self._place.format(before))


def _taken(text: Text, before: str) -> Violation:
    if text.chunk_id:
        return Violation("chunk_id", f"chunk {text.chunk_id[:80]} came with {before} already")
    return Violation(
        "document_id",
        f"document {text.document_id[:80]} came with {before} already, and a text without chunk_id"
        " is its whole document; give each part a chunk_id",
    )


def require_ids(field: str, ids: Sequence[str]) -> None:
    """See that a request's ids can be some.

    Raises:
        ServiceError: `invalid_argument`, with a violation for each that cannot.
    """
    violations = [
        Violation(f"{field}[{number}]", one.description)
        for number, name in enumerate(ids)
        for one in _id_violations(field, name, wanted=True)
    ]
    if violations:
        raise invalid(*violations[:_MOST_VIOLATIONS])


def accepted_time(text: str) -> str | None:
    """Give a time as the catalogue spells it; None for what is no RFC 3339 time."""
    if not _RFC3339.fullmatch(text):
        return None
    try:
        return rfc3339(datetime.fromisoformat(text.upper()))
    except (ValueError, OverflowError):
        return None


def _id_violations(field: str, value: str, *, wanted: bool = False) -> Iterator[Violation]:
    if not value:
        if wanted:
            yield Violation(field, f"{field} is missing")
    elif trouble := _trouble(value):
        yield Violation(field, f"{field} {trouble}")
    elif INVISIBLE.search(value) or "\t" in value or "\n" in value or value != value.strip():
        yield Violation(field, f"{field} holds characters that cannot be seen, or space at an end")
    elif len(value.encode()) > LONGEST_ID:
        yield Violation(field, f"{field} has {len(value.encode()):,} bytes; at most {LONGEST_ID}")


def _text_violations(text: str) -> Iterator[Violation]:
    if not text.strip():
        yield Violation("text", "text is blank" if text else "text is missing")
    elif trouble := _trouble(text):
        yield Violation("text", f"text {trouble}")
    elif len(text) > LARGEST_TEXT // 4 and len(text.encode()) > LARGEST_TEXT:
        size = len(text.encode()) / (1 << 20)
        yield Violation(
            "text",
            f"text has {size:.1f} MiB; at most {LARGEST_TEXT >> 20}. Split it into documents",
        )


def _metadata_violations(metadata: Mapping[str, str]) -> Iterator[Violation]:
    for name, value in metadata.items():
        if trouble := _trouble(name + value) or (
            "" if name.strip() else "has an entry without name"
        ):
            yield Violation("metadata", f"metadata {trouble}")
            return
    size = sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items())
    if size > MOST_METADATA:
        yield Violation(
            "metadata", f"metadata has {count(size, 'byte')}; at most {MOST_METADATA:,}"
        )


def _trouble(value: str) -> str:
    """What no store can keep."""
    if "\x00" in value:
        return "holds the character NUL"
    if has_surrogates(value):
        return "is no valid Unicode text"
    return ""
