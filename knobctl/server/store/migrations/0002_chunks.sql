-- The catalogue of chunks. A corpus has a version that every change adds one to; a chunk carries the version that
-- wrote it and a chunk that is gone leaves the one that removed it, so that indexes can be brought forward from
-- any version, or built again from the beginning.

CREATE TABLE corpora (
  tenant_id TEXT PRIMARY KEY,
  version INTEGER NOT NULL CHECK (version >= 1)
) STRICT;

CREATE TABLE chunks (
  tenant_id TEXT NOT NULL,
  chunk_id TEXT NOT NULL,
  document_id TEXT NOT NULL,
  source_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  digest TEXT NOT NULL,
  metadata TEXT NOT NULL,
  text TEXT NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (tenant_id, chunk_id)
) STRICT;

-- The indexes hold all that their questions need: a row of the table is some kilobytes long.
CREATE INDEX chunks_by_time ON chunks (tenant_id, created_at DESC, chunk_id, source_id);

CREATE INDEX chunks_by_document ON chunks (tenant_id, document_id, chunk_id, source_id, created_at);

CREATE INDEX chunks_by_version ON chunks (tenant_id, version, chunk_id);

CREATE TABLE removed_chunks (
  tenant_id TEXT NOT NULL,
  chunk_id TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  PRIMARY KEY (tenant_id, chunk_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX removed_chunks_by_version ON removed_chunks (tenant_id, version, chunk_id);

-- How far an index outside the store has been brought.
CREATE TABLE indexed_corpora (
  index_name TEXT NOT NULL,
  tenant_id TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 0),
  PRIMARY KEY (index_name, tenant_id)
) STRICT, WITHOUT ROWID;

-- What made the vectors: one row, because vectors of two embedders cannot be compared.
CREATE TABLE embedder (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  model TEXT NOT NULL,
  revision TEXT NOT NULL,
  pooling TEXT NOT NULL,
  dimensions INTEGER NOT NULL CHECK (dimensions >= 1)
) STRICT;
