"""The catalogue of chunks in PostgreSQL, within one transaction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, or_, select
from sqlalchemy.dialects.postgresql import insert

from knobctl.server.store.corpus import (
    Changes,
    Chunk,
    Description,
    EmbedderIdentity,
    SourceCount,
    is_of_text,
    read_metadata,
)
from knobctl.server.store.interface import StoreUnavailableError
from knobctl.server.store.postgres_tables import (
    CHUNKS,
    CORPORA,
    EMBEDDER,
    POSITIONS,
    REMOVED,
    among,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Row

_WITHOUT_VECTOR: Final = [column for column in CHUNKS.c if column.name != "vector"]


class PostgresCorpus:
    """The catalogue; `sources` is None for every source."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def version(self, tenant: str) -> int:
        """The version of a tenant's corpus."""
        found: int | None = self._connection.execute(
            select(CORPORA.c.version).where(CORPORA.c.tenant_id == tenant)
        ).scalar()
        return found or 0

    def embedder(self) -> EmbedderIdentity | None:
        """What made the vectors of this store."""
        row = self._connection.execute(select(EMBEDDER)).first()
        if row is None:
            return None
        return EmbedderIdentity(
            model=row.model,
            revision=row.revision,
            pooling=row.pooling,
            dimensions=row.dimensions,
        )

    def set_embedder(self, identity: EmbedderIdentity) -> None:
        """Keep what makes the vectors of this store, unless a tenant's ingest beside kept another."""
        self._connection.execute(
            insert(EMBEDDER).on_conflict_do_nothing(),
            {
                "id": 1,
                "model": identity.model,
                "revision": identity.revision,
                "pooling": identity.pooling,
                "dimensions": identity.dimensions,
            },
        )
        if self.embedder() != identity:
            raise StoreUnavailableError("the store has the vectors of another embedder by now")

    def digests(self, tenant: str, chunk_ids: Collection[str]) -> dict[str, str]:
        """The content digest of each of these chunks that is there."""
        return self._by_id(CHUNKS.c.digest, tenant, chunk_ids)

    def created(self, tenant: str, chunk_ids: Collection[str]) -> dict[str, str]:
        """The creation time of each of these chunks that is there."""
        return self._by_id(CHUNKS.c.created_at, tenant, chunk_ids)

    def pieces(self, tenant: str, *, document_id: str = "", chunk_id: str = "") -> list[str]:
        """Ids of the chunks of a document, or of a chunk and its pieces."""
        if document_id:
            return self.documents_of(tenant, [document_id]).get(document_id, [])
        named = CHUNKS.c.chunk_id
        # A range of the primary key: `$` comes right behind `#` in the order of its collation.
        behind = (named > f"{chunk_id}#") & (named < f"{chunk_id}$")
        found = self._connection.execute(
            select(named)
            .where(CHUNKS.c.tenant_id == tenant, or_(named == chunk_id, behind))
            .order_by(named)
        ).scalars()
        return [name for name in found if is_of_text(name, chunk_id)]

    def write(
        self, tenant: str, chunks: Sequence[tuple[Chunk, str]], removed: Collection[str]
    ) -> int:
        """Put chunks, remove others, and give the new version; nothing to do leaves the old one."""
        version = self.version(tenant) + 1
        gone = self._remove(tenant, removed, version)
        if not chunks and not gone:
            return version - 1
        if chunks:
            self._put(tenant, chunks, version)
        put = insert(CORPORA)
        self._connection.execute(
            put.on_conflict_do_update(
                index_elements=["tenant_id"], set_={"version": put.excluded.version}
            ),
            {"tenant_id": tenant, "version": version},
        )
        return version

    def documents_of(self, tenant: str, document_ids: Collection[str]) -> dict[str, list[str]]:
        """Document id to the ids of its chunks."""
        found: dict[str, list[str]] = {}
        for document, chunk in self._connection.execute(
            select(CHUNKS.c.document_id, CHUNKS.c.chunk_id)
            .where(CHUNKS.c.tenant_id == tenant, among(CHUNKS.c.document_id, document_ids))
            .order_by(CHUNKS.c.document_id, CHUNKS.c.chunk_id)
        ):
            found.setdefault(document, []).append(chunk)
        return found

    def changes(self, tenant: str, *, after: int, limit: int) -> Changes:
        """What changed behind a version, in whole versions."""
        newest = self.version(tenant)
        up_to = self._end_of_page(tenant, after, limit, newest)
        written = self._connection.execute(
            select(CHUNKS)
            .where(CHUNKS.c.tenant_id == tenant, CHUNKS.c.version.between(after + 1, up_to))
            .order_by(CHUNKS.c.chunk_id)
        )
        removed = self._connection.execute(
            select(REMOVED.c.chunk_id)
            .where(REMOVED.c.tenant_id == tenant, REMOVED.c.version.between(after + 1, up_to))
            .order_by(REMOVED.c.chunk_id)
        ).scalars()
        return Changes(
            version=up_to,
            written=tuple(_chunk(row) for row in written),
            removed=tuple(removed) if after else (),
            complete=up_to == newest,
        )

    def chunks(
        self, tenant: str, chunk_ids: Collection[str], *, vectors: bool = False
    ) -> dict[str, Chunk]:
        """These chunks by id."""
        columns = list(CHUNKS.c) if vectors else _WITHOUT_VECTOR
        found = self._connection.execute(
            select(*columns).where(
                CHUNKS.c.tenant_id == tenant, among(CHUNKS.c.chunk_id, chunk_ids)
            )
        )
        return {row.chunk_id: _chunk(row) for row in found}

    def recent(
        self, tenant: str, sources: frozenset[str] | None, *, since: str, limit: int
    ) -> list[str]:
        """Ids of the most recent chunks, newest first, then by id."""
        return list(
            self._connection.execute(
                select(CHUNKS.c.chunk_id)
                .where(
                    CHUNKS.c.tenant_id == tenant,
                    CHUNKS.c.created_at >= since,
                    among(CHUNKS.c.source_id, sources),
                )
                .order_by(CHUNKS.c.created_at.desc(), CHUNKS.c.chunk_id)
                .limit(limit)
            ).scalars()
        )

    def describe(self, tenant: str, sources: frozenset[str] | None) -> Description:
        """Counts and times."""
        seen = (CHUNKS.c.tenant_id == tenant, among(CHUNKS.c.source_id, sources))
        documents, chunks, oldest, newest = self._connection.execute(
            select(
                func.count(CHUNKS.c.document_id.distinct()),
                func.count(),
                func.min(CHUNKS.c.created_at),
                func.max(CHUNKS.c.created_at),
            ).where(*seen)
        ).one()
        by_source = self._connection.execute(
            select(CHUNKS.c.source_id, func.count(CHUNKS.c.document_id.distinct()), func.count())
            .where(*seen)
            .group_by(CHUNKS.c.source_id)
            .order_by(CHUNKS.c.source_id)
        )
        return Description(
            version=self.version(tenant),
            documents=documents,
            chunks=chunks,
            sources=tuple(
                SourceCount(source_id=source, documents=its_documents, chunks=its_chunks)
                for source, its_documents, its_chunks in by_source
            ),
            oldest=oldest or "",
            newest=newest or "",
        )

    def tenants(self) -> Iterator[str]:
        """Every tenant with a corpus, by name."""
        yield from self._connection.execute(
            select(CORPORA.c.tenant_id).order_by(CORPORA.c.tenant_id)
        ).scalars()

    def indexed(self, index: str, tenant: str) -> int:
        """The version up to which an index outside the store has been brought."""
        found: int | None = self._connection.execute(
            select(POSITIONS.c.version).where(
                POSITIONS.c.index_name == index, POSITIONS.c.tenant_id == tenant
            )
        ).scalar()
        return found or 0

    def set_indexed(self, index: str, tenant: str, version: int) -> None:
        """Keep how far an index outside the store has been brought."""
        put = insert(POSITIONS)
        self._connection.execute(
            put.on_conflict_do_update(
                index_elements=["index_name", "tenant_id"], set_={"version": put.excluded.version}
            ),
            {"index_name": index, "tenant_id": tenant, "version": version},
        )

    def _by_id(
        self, column: ColumnElement[str], tenant: str, chunk_ids: Collection[str]
    ) -> dict[str, str]:
        found = self._connection.execute(
            select(CHUNKS.c.chunk_id, column).where(
                CHUNKS.c.tenant_id == tenant, among(CHUNKS.c.chunk_id, chunk_ids)
            )
        )
        return {chunk: value for chunk, value in found}  # noqa: C416  rows are no pairs to a type checker

    def _remove(self, tenant: str, chunk_ids: Collection[str], version: int) -> bool:
        """Whether any of these was there."""
        if not chunk_ids:
            return False
        gone = self._connection.execute(
            CHUNKS.delete()
            .where(CHUNKS.c.tenant_id == tenant, among(CHUNKS.c.chunk_id, chunk_ids))
            .returning(CHUNKS.c.chunk_id)
        ).scalars()
        rows = [{"tenant_id": tenant, "chunk_id": name, "version": version} for name in gone]
        if rows:
            self._connection.execute(REMOVED.insert(), rows)
        return bool(rows)

    def _put(self, tenant: str, chunks: Sequence[tuple[Chunk, str]], version: int) -> None:
        rows = [_values(tenant, chunk, digest, version) for chunk, digest in chunks]
        self._connection.execute(
            REMOVED.delete().where(
                REMOVED.c.tenant_id == tenant,
                among(REMOVED.c.chunk_id, {chunk.chunk_id for chunk, _ in chunks}),
            )
        )
        put = insert(CHUNKS)
        replaced = {
            column.name: put.excluded[column.name] for column in CHUNKS.c if not column.primary_key
        }
        self._connection.execute(
            put.on_conflict_do_update(index_elements=["tenant_id", "chunk_id"], set_=replaced), rows
        )

    def _end_of_page(self, tenant: str, after: int, limit: int, newest: int) -> int:
        """The version of the chunk that fills a page: an answer ends where a version ends."""
        last: int | None = self._connection.execute(
            select(CHUNKS.c.version)
            .where(CHUNKS.c.tenant_id == tenant, CHUNKS.c.version > after)
            .order_by(CHUNKS.c.version)
            .offset(limit - 1)
            .limit(1)
        ).scalar()
        return newest if last is None else last


def _values(tenant: str, chunk: Chunk, digest: str, version: int) -> dict[str, Any]:
    return {
        "tenant_id": tenant,
        "chunk_id": chunk.chunk_id,
        "document_id": chunk.document_id,
        "source_id": chunk.source_id,
        "created_at": chunk.created_at,
        "text": chunk.text,
        "metadata": json.dumps(dict(chunk.metadata), sort_keys=True),
        "digest": digest,
        "version": version,
        "vector": chunk.vector,
    }


def _chunk(row: Row[Any]) -> Chunk:
    return Chunk(
        chunk_id=row.chunk_id,
        document_id=row.document_id,
        source_id=row.source_id,
        text=row.text,
        created_at=row.created_at,
        metadata=read_metadata(row.metadata),
        vector=getattr(row, "vector", b""),
    )
