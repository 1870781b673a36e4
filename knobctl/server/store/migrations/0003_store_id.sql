-- What tells this store from every other, so that an index outside of it knows whose it is.

CREATE TABLE store_facts (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

INSERT INTO store_facts VALUES ('store_id', lower(hex(randomblob(16))));
