-- +goose Up
-- Ranges of topics that are read again. What was asked for and how far it is are JSON.
CREATE TABLE tasker_replays (
    replay_id  uuid   PRIMARY KEY,
    namespace  text   NOT NULL,
    source     text   NOT NULL,
    state      text   NOT NULL,
    spec       text   NOT NULL,
    progress   text   NOT NULL,
    actor      text   NOT NULL,
    key_name   text   NOT NULL,
    reason     text   NOT NULL,
    created_at bigint NOT NULL,
    version    bigint NOT NULL
);
CREATE INDEX tasker_replays_by_namespace ON tasker_replays (namespace, replay_id);
CREATE INDEX tasker_replays_open ON tasker_replays (state, replay_id) WHERE state NOT IN ('done', 'cancelled');
