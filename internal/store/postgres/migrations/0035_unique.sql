-- +goose Up
-- The task that a unique key is bound to. It guards the key in the phases of guards, until expires_at (0: no bound).
CREATE TABLE tasker_unique_keys (
    namespace  text   NOT NULL,
    key        text   NOT NULL,
    task_id    uuid   NOT NULL,
    expires_at bigint NOT NULL,
    guards     text   NOT NULL,
    PRIMARY KEY (namespace, key)
);
CREATE INDEX tasker_unique_keys_by_expiry ON tasker_unique_keys (expires_at) WHERE expires_at > 0;
