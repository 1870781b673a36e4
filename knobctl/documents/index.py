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
from collections import defaultdict
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from knobctl.documents.files import is_own, write_atomically

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from knobctl.knobs import KnobValue

T = TypeVar("T")

_MARK: Final = b"knobctl-index-1"
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_BATCHES: Final = 16
_LONGEST_HEAD: Final = 400
_A_LINE: Final = 1_000
"""So much of a column stands in a line: reading one stops all other threads, such as one that fetches or draws."""
A_PART: Final = 8_192
"""So many files are looked up, or rows added, at once: for the same reason."""
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
    rules: tuple[str, ...]
    """Of the errors and warnings that count, the worst first."""


class _Batch(NamedTuple):
    """What one run added. Columns: of a hundred thousand tenants each takes a few milliseconds to read."""

    heads: list[Head]
    sets: list[dict[str, KnobValue]]
    """The knobs that documents write; many tenants write the same."""
    contents: list[str]
    """Of the files, those with rows first."""
    tenants: list[str]
    """Of each row."""
    heads_of: list[int]
    """Of each row, which of the heads."""
    sets_of: list[int]
    """Of each row, which of the sets."""
    verdicts: list[Verdict]
    judged: dict[str, tuple[list[int], list[int]]]
    """By what they were judged by: which of the contents, and which of the verdicts each has."""

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Give each row by its content."""
        heads = map(self.heads.__getitem__, self.heads_of)
        sets = map(self.sets.__getitem__, self.sets_of)
        # As `Row` makes them, without its code being run for each.
        rows = map(partial(tuple.__new__, Row), zip(self.tenants, heads, sets, strict=True))
        return zip(self.contents, rows, strict=False)

    def judged_by(self, by: str) -> Iterator[tuple[str, Verdict]]:
        """Give each verdict by its content."""
        contents, verdicts = self.judged.get(by, ((), ()))
        return zip(
            map(self.contents.__getitem__, contents),
            map(self.verdicts.__getitem__, verdicts),
            strict=True,
        )


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
        for batch in self._batches:
            _take(self._rows, batch.rows())
        self._noted: set[str] = set()
        self._judged: dict[str, dict[str, Verdict]] = {}
        self._seen: set[str] = set()
        self._asked: set[str] = set()

    def find(self, contents: Collection[str]) -> Iterator[Row | None]:
        """Give what stands in files of these contents; None where it was never read."""
        self._seen.update(contents)
        return map(self._rows.get, contents)

    def note(self, content: str, row: Row) -> None:
        """Keep what stands in a file."""
        self._noted.add(content)
        self._rows[content] = row

    def verdicts(self, by: str) -> Mapping[str, Verdict]:
        """Give what was said of tenants, by the content of their files.

        Args:
            by: Stands for all that they were judged by.
        """
        self._asked.add(by)
        found: dict[str, Verdict] = {}
        for batch in self._batches:
            _take(found, batch.judged_by(by))
        return found

    def judge(self, content: str, by: str, verdict: Verdict) -> None:
        """Keep what was said of a tenant."""
        self._judged.setdefault(by, {})[content] = verdict

    def save(self) -> None:
        """Keep what is new, if there is room and leave to; it is lost without harm."""
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._is_overgrown:
                self._rewrite()
            elif self._noted or self._judged:
                rows = {one: self._rows[one] for one in self._noted}
                self._append(_laid_out(rows, self._judged))

    @property
    def _is_overgrown(self) -> bool:
        rows = sum(len(batch.tenants) for batch in self._batches)
        judged = sum(len(one) for batch in self._batches for one, _ in batch.judged.values())
        return (
            self._is_broken
            or len(self._batches) > _MOST_BATCHES
            or rows > 2 * len(self._seen) + _SPARE
            or judged > 4 * len(self._seen) + _SPARE
        )

    def _rewrite(self) -> None:
        """Keep only what this run needed."""
        needed = self._seen | self._noted
        rows = {one: row for one, row in self._rows.items() if one in needed}
        judged = {
            by: {one: verdict for one, verdict in self.verdicts(by).items() if one in rows}
            for by in self._asked
        }
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


def _take(found: dict[str, T], pairs: Iterator[tuple[str, T]]) -> None:
    """Add pairs in small parts: adding a hundred thousand at once stops all other threads."""
    size = -1
    while size < len(found):
        size = len(found)
        found.update(islice(pairs, A_PART))


def _laid_out(rows: Mapping[str, Row], judged: Mapping[str, Mapping[str, Verdict]]) -> bytes:
    heads, shapes, sets, verdicts = _Table(), _Table(), _Table(), _Table()
    contents = {one: place for place, one in enumerate(rows)}
    for found in judged.values():
        for content in found:
            contents.setdefault(content, len(contents))
    heads_of = [heads.place(row.head) for row in rows.values()]
    sets_of = [
        sets.place((shapes.place(tuple(row.knobs)), *row.knobs.values())) for row in rows.values()
    ]
    places = [
        (by, [*map(contents.__getitem__, found)], [*map(verdicts.place, found.values())])
        for by, found in judged.items()
    ]
    columns: dict[str, Sequence[object]] = {
        "heads": heads.things,
        "shapes": shapes.things,
        "sets": sets.things,
        "contents": list(contents),
        "tenants": [row.tenant for row in rows.values()],
        "heads_of": heads_of,
        "sets_of": sets_of,
        "verdicts": verdicts.things,
        "judged": places,
    }
    return b"\n".join(
        json.dumps((name, column[start : start + _A_LINE]), separators=(",", ":")).encode()
        for name, column in columns.items()
        for start in range(0, len(column), _A_LINE)
    )


class _Table:
    """Things that are told apart by how they are written: 0.0 is not -0.0, and 1 is neither 1.0 nor true."""

    def __init__(self) -> None:
        self.things: list[object] = []
        self._places: dict[str, int] = {}

    def place(self, thing: object) -> int:
        """Give the place of a thing, which has one from now on."""
        place = self._places.setdefault(repr(thing), len(self.things))
        if place == len(self.things):
            self.things.append(thing)
        return place


def _batch(payload: bytes) -> _Batch:
    told: dict[str, list[Any]] = defaultdict(list)
    for name, some in map(json.loads, payload.splitlines()):
        told[name] += some
    heads = [
        Head(tuple(layers), labels, owner, tuple(evidence))
        for layers, labels, owner, evidence in told["heads"]
    ]
    shapes = told["shapes"]
    return _Batch(
        heads=heads,
        sets=[dict(zip(shapes[shape], values, strict=True)) for shape, *values in told["sets"]],
        contents=told["contents"],
        tenants=told["tenants"],
        heads_of=told["heads_of"],
        sets_of=told["sets_of"],
        verdicts=[
            Verdict(counts, tuple((name, now) for name, now in waivers), tuple(rules))
            for counts, waivers, rules in told["verdicts"]
        ],
        judged={by: (contents, verdicts) for by, contents, verdicts in told["judged"]},
    )


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
