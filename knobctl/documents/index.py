"""The index of a repository: what stands in tenants' documents that were read before, by their content.

It holds what was found out of bytes, by the name that Git gives to those bytes. So it can be deleted at
any time, holds for every branch, and tells nothing that reading the files would not tell.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knobctl.documents.files import is_own, write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from knobctl.knobs import KnobValue

_MARK: Final = b"knobctl-index-1"
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_BATCHES: Final = 16
_LONGEST_HEAD: Final = 400
_SPARE: Final = 10_000
"""So many rows more than twice those in use are kept, for other branches and for going back."""


class Head(NamedTuple):
    """What a tenant's document says besides its name and its knobs; many tenants say the same."""

    layers: tuple[str, ...]
    labels: Mapping[str, str]
    owner: str | None
    evidence: tuple[str, ...]


class Row(NamedTuple):
    """What stands in a file that holds one tenant's document and nothing else, with nothing wrong."""

    tenant: str
    head: Head
    knobs: Mapping[str, KnobValue]
    """The knobs that it writes, by canonical name, in the knob's own type."""


class Verdict(NamedTuple):
    """What the policies say of a tenant that is live just as its document wants it."""

    counts: Mapping[str, int]
    """By severity, how many findings count."""
    waivers: tuple[tuple[str, str | None], ...]
    """The waivers that cover one, each with the one that holds it now, if any does."""


class _Batch(NamedTuple):
    """What one run added."""

    heads: list[Head]
    shapes: list[list[str]]
    """Names of knobs that a document writes."""
    rows: dict[str, list[Any]]
    """By content: the tenant, which of the heads, which of the shapes, the values."""
    verdicts: list[Verdict]
    judged: dict[str, dict[str, int]]
    """By what it was judged by, and by content: which of the verdicts."""


class Index:
    """Rows and verdicts by the content of a file. A run reads all of them, and adds its own at the end."""

    def __init__(self, path: Path, key: str) -> None:
        """Read what is kept; what is not whole, or not one's own, is not there.

        Args:
            path: The file.
            key: Stands for all that decides what reading finds: the program, the knobs.
        """
        self._path, self._key = path, key.encode()
        kept = _own_content(path)
        payloads, is_whole = _payloads(kept, self._key)
        self._batches = [_batch(payload) for payload in payloads]
        self._is_broken = not is_whole
        self._rows: dict[str, Row] = {}
        self._judged: dict[str, dict[str, Verdict]] = {}
        self._seen: set[str] = set()
        self._asked: set[str] = set()

    def find(self, content: str) -> Row | None:
        """Give what stands in a file of this content; None where it was never read."""
        self._seen.add(content)
        for batch in reversed(self._batches):
            row = batch.rows.get(content)
            if row is not None:
                tenant, head, shape, *values = row
                return Row(
                    tenant, batch.heads[head], dict(zip(batch.shapes[shape], values, strict=False))
                )
        return self._rows.get(content)

    def note(self, content: str, row: Row) -> None:
        """Keep what stands in a file."""
        self._rows[content] = row

    def verdicts(self, by: str) -> Mapping[str, Verdict]:
        """Give what was said of tenants, by the content of their files.

        Args:
            by: Stands for all that they were judged by.
        """
        self._asked.add(by)
        return {
            content: batch.verdicts[place]
            for batch in self._batches
            for content, place in batch.judged.get(by, {}).items()
        }

    def judge(self, content: str, by: str, verdict: Verdict) -> None:
        """Keep what was said of a tenant."""
        self._judged.setdefault(by, {})[content] = verdict

    def save(self) -> None:
        """Keep what is new, if there is room and leave to; it is lost without harm."""
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._is_overgrown:
                self._rewrite()
            elif self._rows or self._judged:
                self._append(_laid_out(self._rows, self._judged))

    @property
    def _is_overgrown(self) -> bool:
        rows = sum(len(batch.rows) for batch in self._batches)
        judged = sum(len(one) for batch in self._batches for one in batch.judged.values())
        return (
            self._is_broken
            or len(self._batches) > _MOST_BATCHES
            or rows > 2 * len(self._seen) + _SPARE
            or judged > 4 * len(self._seen) + _SPARE
        )

    def _rewrite(self) -> None:
        """Keep only what this run needed."""
        rows = {one: row for one in self._seen if (row := self.find(one)) is not None}
        judged: dict[str, dict[str, Verdict]] = {by: {} for by in self._asked}
        for batch in self._batches:
            for by in self._asked & batch.judged.keys():
                for content, place in batch.judged[by].items():
                    if content in rows:
                        judged[by][content] = batch.verdicts[place]
        for by, verdicts in self._judged.items():
            judged.setdefault(by, {}).update(verdicts)
        payload = _laid_out(rows, judged)
        write_atomically(self._path, _sealed(payload, self._key), mode=0o600)

    def _append(self, payload: bytes) -> None:
        handle = os.open(self._path, _APPEND, 0o600)
        with os.fdopen(handle, "ab") as file:
            if _is_own_file(os.fstat(handle)):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.write(_sealed(payload, self._key))


def _laid_out(rows: Mapping[str, Row], judged: Mapping[str, Mapping[str, Verdict]]) -> bytes:
    heads = {id(row.head): row.head for row in rows.values()}
    at = {one: place for place, one in enumerate(heads)}
    shapes: dict[tuple[str, ...], int] = {}
    for row in rows.values():
        shapes.setdefault(tuple(row.knobs), len(shapes))
    verdicts: dict[str, int] = {}

    def placed(verdict: Verdict) -> int:
        return verdicts.setdefault(json.dumps(verdict), len(verdicts))

    places = {
        by: {content: placed(one) for content, one in found.items()} for by, found in judged.items()
    }
    return json.dumps(
        {
            "heads": list(heads.values()),
            "shapes": list(shapes),
            "rows": {
                content: (
                    row.tenant,
                    at[id(row.head)],
                    shapes[tuple(row.knobs)],
                    *row.knobs.values(),
                )
                for content, row in rows.items()
            },
            "verdicts": list(verdicts),
            "judged": places,
        },
        separators=(",", ":"),
    ).encode()


def _batch(payload: bytes) -> _Batch:
    told: dict[str, Any] = json.loads(payload)
    heads = [
        Head(tuple(layers), labels, owner, tuple(evidence))
        for layers, labels, owner, evidence in told["heads"]
    ]
    verdicts = []
    for text in told["verdicts"]:
        counts, waivers = json.loads(text)
        verdicts.append(Verdict(counts, tuple((name, now) for name, now in waivers)))
    return _Batch(heads, told["shapes"], told["rows"], verdicts, told["judged"])


def _sealed(payload: bytes, key: bytes) -> bytes:
    seal = _seal(payload, key)
    return b"%b %b %b %d\n%b\n" % (_MARK, key, seal, len(payload), payload)


def _seal(payload: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16, key=key[:64]).hexdigest().encode()


def _payloads(kept: bytes, key: bytes) -> tuple[list[bytes], bool]:
    """What was written whole under a key, in its order, and whether that is all."""
    found: list[bytes] = []
    start = 0
    while start < len(kept):
        head = kept[start : start + _LONGEST_HEAD].partition(b"\n")[0]
        told = head.split(b" ")
        if len(told) != 4 or told[:2] != [_MARK, key] or not told[3].isdigit():
            return found, False
        seal, size = told[2], int(told[3])
        start += len(head) + 1
        payload = kept[start : start + size]
        if _seal(payload, key) != seal:
            return found, False
        found.append(payload)
        start += size + 1
    return found, True


def _own_content(path: Path) -> bytes:
    """A file's bytes; none where it cannot be read, or others may write it: they could put words into our mouth."""
    try:
        with os.fdopen(os.open(path, _READ), "rb") as file:
            return file.read() if _is_own_file(os.fstat(file.fileno())) else b""
    except OSError:
        return b""


def _is_own_file(about: os.stat_result) -> bool:
    return stat.S_ISREG(about.st_mode) and is_own(about)
