-- +goose Up
-- Ranges of topics that are read again. What was asked for and how far it is are JSON.
CREATE TABLE tasker_replays (
    replay_id  INTEGER PRIMARY KEY,
    namespace  TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    spec       TEXT    NOT NULL,
    progress   TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    key_name   TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    version    INTEGER NOT NULL
);
CREATE INDEX tasker_replays_by_namespace ON tasker_replays (namespace, replay_id);
CREATE INDEX tasker_replays_open ON tasker_replays (state, replay_id) WHERE state NOT IN ('done', 'cancelled');
