"""The catalogue of chunks in an SQLite file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

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

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Sequence

_AMONG: Final = "IN (SELECT value FROM json_each(?))"
"""Not one place per value: SQLite limits their number."""
_COLUMNS: Final = "chunk_id, document_id, source_id, text, created_at, metadata"


class SqliteCorpus:
    """The catalogue within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def version(self, tenant: str) -> int:
        """The version of a tenant's corpus."""
        found = self._one("SELECT version FROM corpora WHERE tenant_id = ?", tenant)
        return found[0] if found else 0

    def embedder(self) -> EmbedderIdentity | None:
        """What made the vectors of this store."""
        found = self._one("SELECT model, revision, pooling, dimensions FROM embedder")
        if found is None:
            return None
        model, revision, pooling, dimensions = found
        return EmbedderIdentity(
            model=model, revision=revision, pooling=pooling, dimensions=dimensions
        )

    def set_embedder(self, identity: EmbedderIdentity) -> None:
        """Keep what makes the vectors of this store; never another in its place."""
        self._connection.execute(
            "INSERT INTO embedder (only, model, revision, pooling, dimensions) VALUES (1, ?, ?, ?, ?)"
            " ON CONFLICT (only) DO NOTHING",
            (identity.model, identity.revision, identity.pooling, identity.dimensions),
        )
        if self.embedder() != identity:
            raise StoreUnavailableError("the store has the vectors of another embedder")

    def digests(self, tenant: str, chunk_ids: Collection[str]) -> dict[str, str]:
        """The content digest of each of these chunks."""
        return self._by_id("digest", tenant, chunk_ids)

    def created(self, tenant: str, chunk_ids: Collection[str]) -> dict[str, str]:
        """The creation time of each of these chunks."""
        return self._by_id("created_at", tenant, chunk_ids)

    def pieces(self, tenant: str, *, document_id: str = "", chunk_id: str = "") -> list[str]:
        """Ids of the chunks of a document, or of a chunk and its pieces."""
        if document_id:
            return self.documents_of(tenant, [document_id]).get(document_id, [])
        found = self._connection.execute(
            "SELECT chunk_id FROM chunks WHERE tenant_id = ?"
            " AND (chunk_id = ? OR (chunk_id > ? AND chunk_id < ?)) ORDER BY chunk_id",
            (tenant, chunk_id, f"{chunk_id}#", f"{chunk_id}$"),  # $ comes right behind #
        )
        return [name for (name,) in found if is_of_text(name, chunk_id)]

    def documents_of(self, tenant: str, document_ids: Collection[str]) -> dict[str, list[str]]:
        """Document id to the ids of its chunks."""
        chunks: dict[str, list[str]] = {}
        for document, chunk in self._connection.execute(
            f"SELECT document_id, chunk_id FROM chunks WHERE tenant_id = ? AND document_id {_AMONG}"  # noqa: S608  a condition of this module
            " ORDER BY document_id, chunk_id",
            (tenant, _array(document_ids)),
        ):
            chunks.setdefault(document, []).append(chunk)
        return chunks

    def write(
        self, tenant: str, chunks: Sequence[tuple[Chunk, str]], removed: Collection[str]
    ) -> int:
        """Put chunks, remove others, and give the new version; nothing to do leaves the old one."""
        version = self.version(tenant) + 1
        gone = self._remove(tenant, removed, version)
        if not chunks and not gone:
            return version - 1
        self._put(tenant, chunks, version)
        self._connection.execute(
            "INSERT INTO corpora (tenant_id, version) VALUES (?, ?)"
            " ON CONFLICT (tenant_id) DO UPDATE SET version = excluded.version",
            (tenant, version),
        )
        return version

    def changes(self, tenant: str, *, after: int, limit: int) -> Changes:
        """What changed behind a version; an answer ends where a version ends, even when it gets longer."""
        newest = self.version(tenant)
        upto = self._end_of_page(tenant, after, limit, newest)
        written = self._connection.execute(
            f"SELECT {_COLUMNS}, vector FROM chunks"  # noqa: S608  columns of this module
            " WHERE tenant_id = ? AND version > ? AND version <= ? ORDER BY chunk_id",
            (tenant, after, upto),
        )
        removed = self._connection.execute(
            "SELECT chunk_id FROM removed_chunks"
            " WHERE tenant_id = ? AND version > ? AND version <= ? ORDER BY chunk_id",
            (tenant, after, upto),
        )
        return Changes(
            version=upto,
            written=tuple(map(_chunk, written)),
            removed=tuple(name for (name,) in removed) if after else (),
            complete=upto == newest,
        )

    def chunks(
        self, tenant: str, chunk_ids: Collection[str], *, vectors: bool = False
    ) -> dict[str, Chunk]:
        """These chunks by id."""
        columns = f"{_COLUMNS}, vector" if vectors else _COLUMNS
        found = self._connection.execute(
            f"SELECT {columns} FROM chunks WHERE tenant_id = ? AND chunk_id {_AMONG}",  # noqa: S608  columns of this module
            (tenant, _array(chunk_ids)),
        )
        return {chunk.chunk_id: chunk for chunk in map(_chunk, found)}

    def recent(
        self, tenant: str, sources: frozenset[str] | None, *, since: str, limit: int
    ) -> list[str]:
        """Ids of the most recent chunks, newest first, then by id."""
        admitted, values = _admitted(sources)
        found = self._connection.execute(
            f"SELECT chunk_id FROM chunks WHERE tenant_id = ? AND created_at >= ?{admitted}"  # noqa: S608  a condition of this module
            " ORDER BY created_at DESC, chunk_id LIMIT ?",
            (tenant, since, *values, limit),
        )
        return [name for (name,) in found]

    def describe(self, tenant: str, sources: frozenset[str] | None) -> Description:
        """Counts and times."""
        admitted, values = _admitted(sources)
        where = f"FROM chunks INDEXED BY chunks_by_document WHERE tenant_id = ?{admitted}"
        by_source = self._connection.execute(
            f"SELECT source_id, count(DISTINCT document_id), count(*) {where}"
            " GROUP BY source_id ORDER BY source_id",
            (tenant, *values),
        ).fetchall()
        documents, chunks, oldest, newest = self._connection.execute(
            f"SELECT count(DISTINCT document_id), count(*), min(created_at), max(created_at) {where}",
            (tenant, *values),
        ).fetchone()
        return Description(
            version=self.version(tenant),
            documents=documents,
            chunks=chunks,
            sources=tuple(
                SourceCount(source_id=source, documents=count, chunks=parts)
                for source, count, parts in by_source
            ),
            oldest=oldest or "",
            newest=newest or "",
        )

    def tenants(self) -> Iterator[str]:
        """Every tenant with a corpus."""
        for (tenant,) in self._connection.execute("SELECT tenant_id FROM corpora ORDER BY 1"):
            yield tenant

    def indexed(self, index: str, tenant: str) -> int:
        """How far an index outside the store has been brought."""
        found = self._one(
            "SELECT version FROM indexed_corpora WHERE index_name = ? AND tenant_id = ?",
            index,
            tenant,
        )
        return found[0] if found else 0

    def set_indexed(self, index: str, tenant: str, version: int) -> None:
        """Keep how far an index outside the store has been brought."""
        self._connection.execute(
            "INSERT INTO indexed_corpora (index_name, tenant_id, version) VALUES (?, ?, ?)"
            " ON CONFLICT (index_name, tenant_id) DO UPDATE SET version = excluded.version",
            (index, tenant, version),
        )

    def _one(self, question: str, *values: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._connection.execute(question, values).fetchone()
        return row

    def _by_id(self, column: str, tenant: str, chunk_ids: Collection[str]) -> dict[str, str]:
        return dict(
            self._connection.execute(
                f"SELECT chunk_id, {column} FROM chunks WHERE tenant_id = ? AND chunk_id {_AMONG}",  # noqa: S608  columns of this module
                (tenant, _array(chunk_ids)),
            )
        )

    def _remove(self, tenant: str, chunk_ids: Collection[str], version: int) -> bool:
        """Whether any of these was there."""
        there = sorted(self.digests(tenant, chunk_ids))
        self._connection.executemany(
            "DELETE FROM chunks WHERE tenant_id = ? AND chunk_id = ?",
            ((tenant, name) for name in there),
        )
        self._connection.executemany(
            "INSERT INTO removed_chunks (tenant_id, chunk_id, version) VALUES (?, ?, ?)",
            ((tenant, name, version) for name in there),
        )
        return bool(there)

    def _put(self, tenant: str, chunks: Sequence[tuple[Chunk, str]], version: int) -> None:
        self._connection.executemany(
            "DELETE FROM removed_chunks WHERE tenant_id = ? AND chunk_id = ?",
            ((tenant, chunk.chunk_id) for chunk, _ in chunks),
        )
        self._connection.executemany(
            f"INSERT INTO chunks ({_COLUMNS}, vector, digest, tenant_id, version)"  # noqa: S608  columns of this module
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, chunk_id) DO UPDATE SET"
            " document_id = excluded.document_id, source_id = excluded.source_id,"
            " created_at = excluded.created_at, version = excluded.version, digest = excluded.digest,"
            " metadata = excluded.metadata, text = excluded.text, vector = excluded.vector",
            ((*_row(chunk), digest, tenant, version) for chunk, digest in chunks),
        )

    def _end_of_page(self, tenant: str, after: int, limit: int, newest: int) -> int:
        """The version of the chunk that fills a page."""
        last = self._one(
            "SELECT version FROM chunks WHERE tenant_id = ? AND version > ?"
            " ORDER BY version LIMIT 1 OFFSET ?",
            tenant,
            after,
            limit - 1,
        )
        return last[0] if last else newest


def _row(chunk: Chunk) -> tuple[object, ...]:
    return (
        chunk.chunk_id,
        chunk.document_id,
        chunk.source_id,
        chunk.text,
        chunk.created_at,
        json.dumps(dict(chunk.metadata), sort_keys=True),
        chunk.vector,
    )


def _chunk(row: tuple[Any, ...]) -> Chunk:
    chunk_id, document_id, source_id, text, created_at, metadata, *vector = row
    return Chunk(
        chunk_id=chunk_id,
        document_id=document_id,
        source_id=source_id,
        text=text,
        created_at=created_at,
        metadata=read_metadata(metadata),
        vector=vector[0] if vector else b"",
    )


def _array(values: Collection[str]) -> str:
    return json.dumps(list(values))


def _admitted(sources: frozenset[str] | None) -> tuple[str, tuple[str, ...]]:
    if sources is None:
        return "", ()
    return f" AND source_id {_AMONG}", (_array(sorted(sources)),)
