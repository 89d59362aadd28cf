-- +goose Up
-- The task that a unique key is bound to. It guards the key in the phases of guards, until expires_at (0: no bound).
CREATE TABLE tasker_unique_keys (
    namespace  TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    task_id    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    guards     TEXT    NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
CREATE INDEX tasker_unique_keys_by_expiry ON tasker_unique_keys (expires_at) WHERE expires_at > 0;
