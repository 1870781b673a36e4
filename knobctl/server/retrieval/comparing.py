"""Compares texts with the catalogue: what is new, what has changed, what is left over."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knobctl.server.refusal import Code, ServiceError
from knobctl.server.retrieval.pieces import split
from knobctl.server.retrieval.texts import DEFAULT_SOURCE, accepted_time
from knobctl.server.store.corpus import Chunk

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from knobctl.server.auth import Caller
    from knobctl.server.retrieval.model import Text
    from knobctl.server.store.corpus import CorpusSession

_PIECE: Final = "#"
"""Begins the digest of a piece of a longer text."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A text and the chunks that it becomes."""

    text: Text
    pieces: dict[str, str]
    """Chunk id to text, in order."""

    @property
    def is_split(self) -> bool:
        """Whether it is more than one."""
        return len(self.pieces) > 1


@dataclass(slots=True)
class Difference:
    """What the catalogue lacks of the texts, and what it has too much."""

    written: list[tuple[Chunk, str]] = field(default_factory=list)
    unchanged: int = 0
    removed: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)


def cut_of(text: Text, longest: int) -> Cut:
    """Cut a text into the chunks that it becomes, none longer than so many tokens."""
    pieces = split(text.text, longest)
    name = text.chunk_id or text.document_id
    if len(pieces) == 1:
        return Cut(text, {name: pieces[0]})
    return Cut(text, {f"{name}#{number}": piece for number, piece in enumerate(pieces, 1)})


def compare(
    corpus: CorpusSession, tenant: str, caller: Caller, cuts: Sequence[Cut], now: str
) -> Difference:
    """Compare texts with the catalogue.

    Args:
        corpus: The catalogue.
        tenant: Whose.
        caller: Who writes; chunks of sources that it may not search stay.
        cuts: The texts.
        now: RFC 3339, for what comes without a time and was not there.

    Raises:
        ServiceError: `permission_denied`, where a chunk of a source that the caller may not search would change.
    """
    before = [_pieces_before(corpus, tenant, cut) for cut in cuts]
    new = {one for cut in cuts for one in cut.pieces}
    known = new.union(*before)
    digests, created = corpus.digests(tenant, known), corpus.created(tenant, known)
    found = Difference()
    for cut, earlier in zip(cuts, before, strict=True):
        first = min((created[one] for one in earlier if one in created), default=now)
        for chunk_id, piece in cut.pieces.items():
            chunk = _chunk(cut.text, chunk_id, piece, created.get(chunk_id, first))
            digest = _digest(chunk, is_piece=cut.is_split)
            if digests.get(chunk_id) == digest:
                found.unchanged += 1
            else:
                found.written.append((chunk, digest))
        found.removed.update(
            one
            for one in earlier
            if one not in new and _belongs(one, digests.get(one, ""), cut.text)
        )
    hidden = hidden_from(
        corpus, tenant, caller, {one.chunk_id for one, _ in found.written} | found.removed
    )
    found.removed -= hidden
    if any(chunk.chunk_id in hidden for chunk, _ in found.written):
        raise ServiceError(
            Code.PERMISSION_DENIED,
            "a chunk of this id belongs to a source that the caller may not change",
        )
    return found


def _pieces_before(corpus: CorpusSession, tenant: str, cut: Cut) -> list[str]:
    """Ids of what the text may have left in the catalogue before."""
    if cut.text.chunk_id:
        return corpus.pieces(tenant, chunk_id=cut.text.chunk_id)
    return corpus.pieces(tenant, document_id=cut.text.document_id)


def _belongs(chunk_id: str, digest: str, text: Text) -> bool:
    """Whether an earlier chunk was made from the text of this id.

    `a#1` is a piece of the text `a`, or a chunk that somebody named so: the digest tells.
    """
    return not text.chunk_id or chunk_id == text.chunk_id or digest.startswith(_PIECE)


def _chunk(text: Text, chunk_id: str, piece: str, created_at: str) -> Chunk:
    given = accepted_time(text.created_at) if text.created_at else None
    return Chunk(
        chunk_id=chunk_id,
        document_id=text.document_id,
        source_id=text.source_id or DEFAULT_SOURCE,
        text=piece,
        created_at=given or created_at,
        metadata=dict(text.metadata),
    )


def _digest(chunk: Chunk, *, is_piece: bool) -> str:
    """The content of a chunk as a SHA-256; that of a piece of a longer text is marked."""
    content = [
        chunk.document_id,
        chunk.source_id,
        chunk.text,
        chunk.created_at,
        sorted(chunk.metadata.items()),
    ]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return _PIECE + digest if is_piece else digest


def hidden_from(
    corpus: CorpusSession, tenant: str, caller: Caller, chunk_ids: Collection[str]
) -> set[str]:
    """Those of the chunks whose source the caller may not search."""
    if caller.sources is None or not chunk_ids:
        return set()
    found = corpus.chunks(tenant, chunk_ids)
    return {one.chunk_id for one in found.values() if one.source_id not in caller.sources}
