"""Speaks to a Milvus: one collection, two kinds of search, and its troubles in our words."""

from __future__ import annotations

import hashlib
import logging
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import grpc
from pymilvus import DataType, Function, FunctionType, MilvusClient, MilvusException

from knobctl.server.candidates.interface import CandidatesUnavailableError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from knobctl.server.candidates.interface import Vector

LONGEST_TEXT: Final = 65_535
"""In UTF-8 bytes."""
SEARCH_TIMEOUT_S: Final = 10.0
WRITE_TIMEOUT_S: Final = 60.0
ROWS_AT_ONCE: Final = 500
"""At their longest some 30 MB; a message may have 64."""
_SMALLEST_EF: Final = 64
_GONE: Final = 100
"""Milvus' code for a collection that is not there."""
_NOT_LOADED: Final = 101
"""Its code for one that was not loaded since the server started."""
_GRPC: Final = {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
}
"""Without these a server that comes back is not looked at again for up to two minutes."""

# What fails is raised, and logged where it is caught; pymilvus would log each with its stack as well.
logging.getLogger("pymilvus").setLevel(logging.CRITICAL)


class CollectionGoneError(CandidatesUnavailableError):
    """The collection is not on the server: dropped, or the server is another one now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedChunk:
    """What the index keeps of a chunk."""

    chunk_id: str
    source_id: str
    words: str
    """As they are indexed, with spaces between them."""
    vector: NDArray[np.float32]


class MilvusServer:
    """One server. Safe to use from several threads; connects when it is first asked."""

    def __init__(self, address: str) -> None:
        """Take the place; nothing is asked yet.

        Args:
            address: `http://HOST:PORT`, with USER:PASSWORD@ where the server wants them.
        """
        self._address = address
        self._client: MilvusClient | None = None
        self._connecting = threading.Lock()

    def has(self, collection: str) -> bool:
        """Whether a collection is there."""
        with self._asked() as client:
            return bool(client.has_collection(collection, timeout=SEARCH_TIMEOUT_S))

    def make(self, collection: str, *, dimensions: int) -> None:
        """Make a collection anew, in the place of one of this name."""
        with self._asked() as client:
            if client.has_collection(collection, timeout=SEARCH_TIMEOUT_S):
                client.drop_collection(collection, timeout=WRITE_TIMEOUT_S)
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            # Digests, so that no text of a caller's is ever part of a filter.
            schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=64)
            schema.add_field("tenant", DataType.VARCHAR, max_length=64)
            schema.add_field("source", DataType.VARCHAR, max_length=64)
            schema.add_field("chunk_id", DataType.VARCHAR, max_length=LONGEST_TEXT)
            schema.add_field(
                "words",
                DataType.VARCHAR,
                max_length=LONGEST_TEXT,
                enable_analyzer=True,
                analyzer_params={"tokenizer": "standard"},
            )
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)
            schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
            schema.add_function(
                Function(
                    name="bm25",
                    function_type=FunctionType.BM25,
                    input_field_names=["words"],
                    output_field_names=["sparse"],
                )
            )
            indexes = client.prepare_index_params()
            indexes.add_index(
                "vector",
                index_type="HNSW",
                metric_type="COSINE",
                params={"M": 16, "efConstruction": 128},
            )
            indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
            client.create_collection(
                collection,
                schema=schema,
                index_params=indexes,
                consistency_level="Strong",
                timeout=WRITE_TIMEOUT_S,
            )

    def put(self, collection: str, tenant: str, chunks: Sequence[IndexedChunk]) -> None:
        """Put chunks in the place of those with their ids."""
        for start in range(0, len(chunks), ROWS_AT_ONCE):
            rows = [_row(tenant, chunk) for chunk in chunks[start : start + ROWS_AT_ONCE]]
            with self._asked() as client:
                client.upsert(collection, rows, timeout=WRITE_TIMEOUT_S)

    def remove(self, collection: str, tenant: str, chunk_ids: Sequence[str]) -> None:
        """Take chunks away, those that are not there too."""
        for start in range(0, len(chunk_ids), ROWS_AT_ONCE):
            keys = [_key(tenant, name) for name in chunk_ids[start : start + ROWS_AT_ONCE]]
            with self._asked() as client:
                client.delete(collection, filter=f"key in {_array(keys)}", timeout=WRITE_TIMEOUT_S)

    def clear(self, collection: str, tenant: str) -> None:
        """Take all of a tenant's chunks away."""
        with self._asked() as client:
            client.delete(
                collection, filter=f'tenant == "{_digest(tenant)}"', timeout=WRITE_TIMEOUT_S
            )

    def nearest(
        self,
        collection: str,
        tenant: str,
        vector: Vector,
        *,
        limit: int,
        sources: Collection[str] | None,
    ) -> list[str]:
        """Ids of about the nearest chunks, best first."""
        found = self._search(
            collection,
            vector.tolist(),
            "vector",
            limit=limit,
            wanted=_filter(tenant, sources),
            parameters={"params": {"ef": max(limit, _SMALLEST_EF)}},
        )
        return [name for name, _ in found]

    def lexical(
        self,
        collection: str,
        tenant: str,
        words: str,
        *,
        limit: int,
        sources: Collection[str] | None,
    ) -> list[tuple[str, float]]:
        """Ids of the best matches of any of these words, best first, each with what falls as matches get worse."""
        found = self._search(
            collection,
            words,
            "sparse",
            limit=limit,
            wanted=_filter(tenant, sources),
            parameters={},
        )
        # The sign differs between kinds of servers; how far from zero, does not.
        return [(name, abs(distance)) for name, distance in found]

    def close(self) -> None:
        """Close the connection."""
        with self._connecting:
            client, self._client = self._client, None
        if client:
            client.close()

    def _search(
        self,
        collection: str,
        asked: object,
        field: str,
        *,
        limit: int,
        wanted: str,
        parameters: dict[str, Any],
    ) -> list[tuple[str, float]]:
        def search(client: MilvusClient) -> Any:  # noqa: ANN401  it has no types
            return client.search(
                collection,
                data=[asked],
                anns_field=field,
                limit=limit,
                filter=wanted,
                output_fields=["chunk_id"],
                search_params=parameters,
                consistency_level="Strong",
                timeout=SEARCH_TIMEOUT_S,
            )

        with self._asked() as client:
            try:
                found = search(client)
            except MilvusException as error:
                if error.code != _NOT_LOADED:
                    raise
                client.load_collection(collection, timeout=WRITE_TIMEOUT_S)
                found = search(client)
        return [(hit["entity"]["chunk_id"], float(hit["distance"])) for hit in found[0]]

    @contextmanager
    def _asked(self) -> Iterator[MilvusClient]:
        try:
            yield self._connected()
        except MilvusException as error:
            kind = CollectionGoneError if error.code == _GONE else CandidatesUnavailableError
            raise kind(f"Milvus: {error.message}") from error
        except grpc.RpcError as error:
            raise CandidatesUnavailableError(f"Milvus: {error}") from error

    def _connected(self) -> MilvusClient:
        with self._connecting:
            if self._client is None:
                self._client = MilvusClient(
                    uri=self._address,
                    timeout=SEARCH_TIMEOUT_S,
                    dedicated=True,
                    grpc_options=_GRPC,
                )
            return self._client


def _cut(text: str) -> str:
    """As much of a text as a field takes."""
    coded = text.encode()
    return text if len(coded) <= LONGEST_TEXT else coded[:LONGEST_TEXT].decode(errors="ignore")


def _row(tenant: str, chunk: IndexedChunk) -> dict[str, Any]:
    return {
        "key": _key(tenant, chunk.chunk_id),
        "tenant": _digest(tenant),
        "source": _digest(chunk.source_id),
        "chunk_id": chunk.chunk_id,
        "words": _cut(chunk.words),
        "vector": chunk.vector.tolist(),
    }


def _key(tenant: str, chunk_id: str) -> str:
    return _digest(f"{tenant}/{chunk_id}")  # a tenant's name has no slash


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _filter(tenant: str, sources: Collection[str] | None) -> str:
    own = f'tenant == "{_digest(tenant)}"'
    if sources is None:
        return own
    return f"{own} and source in {_array(sorted(map(_digest, sources)))}"


def _array(digests: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{digest}"' for digest in digests) + "]"
