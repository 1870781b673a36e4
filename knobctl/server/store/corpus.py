"""What the retrieval half needs of a store: the catalogue of chunks. Indexes follow it by its version."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from knobctl.server.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

_PIECE: Final = re.compile(r"#[1-9][0-9]*")
"""What splitting adds to the id of a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderIdentity:
    """What made the vectors of a store; vectors of another embedder cannot be compared with them."""

    model: str
    revision: str
    pooling: str
    dimensions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a document, as the catalogue holds it."""

    chunk_id: str
    document_id: str
    source_id: str
    text: str
    created_at: str
    """RFC 3339, UTC, with microseconds, so that texts sort as times do."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    vector: bytes = b""
    """Unit length, float32, little-endian; empty where it was not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What became of a tenant's corpus since a version."""

    version: int
    """The version that this leads to."""
    written: tuple[Chunk, ...]
    """New and replaced chunks, with their vectors, by chunk id."""
    removed: tuple[str, ...]
    """Ids of chunks that are gone."""
    complete: bool
    """Whether this leads to the newest version; False where there is more than one answer holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCount:
    """How much of a corpus comes from one source."""

    source_id: str
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A tenant's corpus, as far as a caller may see it."""

    version: int
    documents: int
    chunks: int
    sources: tuple[SourceCount, ...]
    oldest: str
    newest: str
    """RFC 3339; both empty where there is no chunk."""


def corpus_version(version: int) -> str:
    """Spell a corpus' version as answers do: `c12`, `c0` where nothing was ever taken in."""
    return f"c{version}"


def is_of_text(chunk_id: str, text_id: str) -> bool:
    """Whether a chunk can have come of the text with an id: `a` of `a`, and so can the pieces `a#1`, `a#2`."""
    return chunk_id == text_id or (
        chunk_id.startswith(text_id) and _PIECE.fullmatch(chunk_id, len(text_id)) is not None
    )


def read_metadata(text: str) -> dict[str, str]:
    """Read metadata from the JSON that a store keeps.

    Raises:
        StoreUnavailableError: If it is none.
    """
    if text == "{}":  # what most have; 200,000 are read when an index is built
        return {}
    try:
        found: dict[str, str] = json.loads(text)
    except ValueError as error:
        raise StoreUnavailableError("the store holds metadata that is no JSON") from error
    return found


class CorpusSession(Protocol):
    """The catalogue within one session of a store. `sources` is None for every source."""

    def version(self, tenant: str) -> int:
        """The version of a tenant's corpus: 0 where nothing was ever taken in; every change adds one."""

    def embedder(self) -> EmbedderIdentity | None:
        """What made the vectors of this store; None while there are none."""

    def set_embedder(self, identity: EmbedderIdentity) -> None:
        """Keep what makes the vectors of this store from now on."""

    def digests(self, tenant: str, chunk_ids: Collection[str]) -> dict[str, str]:
        """The content digest of each of these chunks that is there."""

    def pieces(self, tenant: str, *, document_id: str = "", chunk_id: str = "") -> list[str]:
        """Ids of the chunks of a document, or of a chunk and the pieces that its text was split into (`ID#...`)."""

    def created(self, tenant: str, chunk_ids: Collection[str]) -> dict[str, str]:
        """The creation time of each of these chunks that is there."""

    def write(
        self, tenant: str, chunks: Sequence[tuple[Chunk, str]], removed: Collection[str]
    ) -> int:
        """Put chunks with their content digests, remove others, and give the new version."""

    def documents_of(self, tenant: str, document_ids: Collection[str]) -> dict[str, list[str]]:
        """Document id to the ids of its chunks, for the documents that are there."""

    def changes(self, tenant: str, *, after: int, limit: int) -> Changes:
        """What changed behind a version; with `after` 0 the whole corpus.

        An answer ends where a version ends, so that the next one can go on behind it: with `limit`
        chunks or somewhat more, as many as were written at once.
        """

    def chunks(
        self, tenant: str, chunk_ids: Collection[str], *, vectors: bool = False
    ) -> dict[str, Chunk]:
        """These chunks by id; those that are gone are left out."""

    def recent(
        self, tenant: str, sources: frozenset[str] | None, *, since: str, limit: int
    ) -> list[str]:
        """Ids of the most recent chunks created at or after a time, newest first, then by id."""

    def describe(self, tenant: str, sources: frozenset[str] | None) -> Description:
        """Counts and times, of the sources that a caller may see."""

    def tenants(self) -> Iterator[str]:
        """Every tenant with a corpus, by name."""

    def indexed(self, index: str, tenant: str) -> int:
        """The version up to which an index outside the store has been brought; 0 to begin."""

    def set_indexed(self, index: str, tenant: str, version: int) -> None:
        """Keep how far an index outside the store has been brought."""
