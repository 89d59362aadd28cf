-- +goose Up
-- Schedules. What is submitted and when is JSON; wake_at is when to decide about it next, 0 for not before a change.
CREATE TABLE tasker_schedules (
    schedule_id INTEGER PRIMARY KEY,
    namespace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    spec        TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    decided_at  INTEGER NOT NULL,
    wake_at     INTEGER NOT NULL,
    pause       TEXT    NOT NULL,
    trouble     TEXT    NOT NULL,
    trouble_at  INTEGER NOT NULL
);
CREATE UNIQUE INDEX tasker_schedules_by_name ON tasker_schedules (namespace, name);
CREATE INDEX tasker_schedules_by_wake ON tasker_schedules (wake_at) WHERE wake_at > 0;

-- Their firings: one for each time. A row is written with its task.
CREATE TABLE tasker_firings (
    schedule_id  INTEGER NOT NULL,
    fired_for    INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    task_id      INTEGER,
    decided_at   INTEGER NOT NULL,
    submitted_at INTEGER NOT NULL,
    outcome      TEXT    NOT NULL,
    error        TEXT    NOT NULL,
    PRIMARY KEY (schedule_id, fired_for)
);
CREATE INDEX tasker_firings_open ON tasker_firings (schedule_id, fired_for) WHERE state = 'waiting' OR state = 'running';

-- Times that did not fire.
CREATE TABLE tasker_firing_skips (
    schedule_id INTEGER NOT NULL,
    last_for    INTEGER NOT NULL,
    decided_at  INTEGER NOT NULL,
    reason      TEXT    NOT NULL,
    first_for   INTEGER NOT NULL,
    times       INTEGER NOT NULL,
    capped      INTEGER NOT NULL,
    PRIMARY KEY (schedule_id, last_for, decided_at, reason)
);
