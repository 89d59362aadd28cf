-- +goose Up
-- Signals, kept for a while after their arrival; see task.Signal.
CREATE TABLE tasker_signals (
    namespace   TEXT NOT NULL,
    signal_id   TEXT NOT NULL,
    name        TEXT NOT NULL,
    key         TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    taken       INTEGER NOT NULL,
    fresh       INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    payload     TEXT,
    PRIMARY KEY (namespace, signal_id)
);
CREATE INDEX tasker_signals_by_key ON tasker_signals (namespace, name, key, received_at, signal_id);
CREATE INDEX tasker_signals_by_expiry ON tasker_signals (expires_at);
CREATE INDEX tasker_signals_fresh ON tasker_signals (received_at, signal_id) WHERE fresh = 1;
-- What waiting steps wait for; see task.StepWait.
CREATE TABLE tasker_step_waits (
    step_id   INTEGER PRIMARY KEY,
    task_id   INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    template  TEXT NOT NULL,
    step_name TEXT NOT NULL,
    kind      TEXT NOT NULL,
    name      TEXT NOT NULL,
    key       TEXT NOT NULL,
    at        INTEGER NOT NULL,
    until_at  INTEGER NOT NULL,
    fresh     INTEGER NOT NULL
);
CREATE INDEX tasker_step_waits_by_key ON tasker_step_waits (namespace, name, key, step_id) WHERE kind = 'signal';
CREATE INDEX tasker_step_waits_by_kind ON tasker_step_waits (kind, at, step_id);
CREATE INDEX tasker_step_waits_fresh ON tasker_step_waits (at, step_id) WHERE fresh = 1;
