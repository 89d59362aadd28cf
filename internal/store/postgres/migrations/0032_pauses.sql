-- +goose Up
-- What operators hold back; one row for each target. ended_at is 0 while the pause is in force, until_at is 0 for one
-- without an end.
CREATE TABLE tasker_pauses (
    kind         text   NOT NULL,
    namespace    text   NOT NULL,
    name         text   NOT NULL,
    capabilities text   NOT NULL,
    actor        text   NOT NULL,
    reason       text   NOT NULL,
    paused_at    bigint NOT NULL,
    until_at     bigint NOT NULL,
    ended_at     bigint NOT NULL,
    ended_by     text   NOT NULL,
    end_reason   text   NOT NULL,
    PRIMARY KEY (kind, namespace, name, capabilities)
);
