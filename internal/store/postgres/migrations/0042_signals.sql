-- +goose Up
-- Signals, kept for a while after their arrival; see task.Signal.
CREATE TABLE tasker_signals (
    namespace   text NOT NULL,
    signal_id   text NOT NULL,
    name        text NOT NULL,
    key         text NOT NULL,
    received_at bigint NOT NULL,
    expires_at  bigint NOT NULL,
    taken       bigint NOT NULL,
    fresh       bigint NOT NULL,
    bytes       bigint NOT NULL,
    payload     text,
    PRIMARY KEY (namespace, signal_id)
);
CREATE INDEX tasker_signals_by_key ON tasker_signals (namespace, name, key, received_at, signal_id);
CREATE INDEX tasker_signals_by_expiry ON tasker_signals (expires_at);
CREATE INDEX tasker_signals_fresh ON tasker_signals (received_at, signal_id) WHERE fresh = 1;
-- What waiting steps wait for; see task.StepWait.
CREATE TABLE tasker_step_waits (
    step_id   uuid PRIMARY KEY,
    task_id   uuid NOT NULL,
    namespace text NOT NULL,
    template  text NOT NULL,
    step_name text NOT NULL,
    kind      text NOT NULL,
    name      text NOT NULL,
    key       text NOT NULL,
    at        bigint NOT NULL,
    until_at  bigint NOT NULL,
    fresh     bigint NOT NULL
);
CREATE INDEX tasker_step_waits_by_key ON tasker_step_waits (namespace, name, key, step_id) WHERE kind = 'signal';
CREATE INDEX tasker_step_waits_by_kind ON tasker_step_waits (kind, at, step_id);
CREATE INDEX tasker_step_waits_fresh ON tasker_step_waits (at, step_id) WHERE fresh = 1;
