-- +goose Up
-- What operators hold back; one row for each target. ended_at is 0 while the pause is in force, until_at is 0 for one
-- without an end.
CREATE TABLE tasker_pauses (
    kind         TEXT    NOT NULL,
    namespace    TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    capabilities TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    paused_at    INTEGER NOT NULL,
    until_at     INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    ended_by     TEXT    NOT NULL,
    end_reason   TEXT    NOT NULL,
    PRIMARY KEY (kind, namespace, name, capabilities)
);
