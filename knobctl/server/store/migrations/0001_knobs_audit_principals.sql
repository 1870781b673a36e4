-- The table of the knobs themselves derives from the knob schema; see __init__.py.

CREATE TABLE config_audit_events (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id TEXT NOT NULL,
  revision INTEGER NOT NULL CHECK (revision >= 1),
  occurred_at TEXT NOT NULL,
  actor TEXT NOT NULL,
  idempotency_key TEXT,
  request_digest TEXT,
  event TEXT NOT NULL,
  UNIQUE (tenant_id, revision),
  CHECK ((idempotency_key IS NULL) = (request_digest IS NULL))
) STRICT;

CREATE INDEX config_audit_events_by_tenant ON config_audit_events (tenant_id, sequence);

CREATE UNIQUE INDEX config_audit_events_by_key
  ON config_audit_events (tenant_id, actor, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TRIGGER config_audit_events_keep BEFORE UPDATE ON config_audit_events
BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only');
END;

CREATE TRIGGER config_audit_events_stay BEFORE DELETE ON config_audit_events
BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only');
END;

-- INSERT OR REPLACE deletes without asking the trigger above.
CREATE TRIGGER config_audit_events_append BEFORE INSERT ON config_audit_events
WHEN EXISTS (
  SELECT 1 FROM config_audit_events
  WHERE sequence = NEW.sequence OR (tenant_id = NEW.tenant_id AND revision = NEW.revision)
)
BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only');
END;

CREATE TABLE principals (
  token_id TEXT PRIMARY KEY,
  secret_hash TEXT NOT NULL,
  subject TEXT NOT NULL,
  clearance INTEGER NOT NULL CHECK (clearance BETWEEN 0 AND 5),
  tenants TEXT,
  sources TEXT,
  created_at TEXT NOT NULL
) STRICT;
