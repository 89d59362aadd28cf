-- +goose Up
-- Schedules. What is submitted and when is JSON; wake_at is when to decide about it next, 0 for not before a change.
CREATE TABLE tasker_schedules (
    schedule_id uuid   PRIMARY KEY,
    namespace   text   NOT NULL,
    name        text   NOT NULL,
    spec        text   NOT NULL,
    version     bigint NOT NULL,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    decided_at  bigint NOT NULL,
    wake_at     bigint NOT NULL,
    pause       text   NOT NULL,
    trouble     text   NOT NULL,
    trouble_at  bigint NOT NULL
);
CREATE UNIQUE INDEX tasker_schedules_by_name ON tasker_schedules (namespace, name);
CREATE INDEX tasker_schedules_by_wake ON tasker_schedules (wake_at) WHERE wake_at > 0;

-- Their firings: one for each time. A row is written with its task.
CREATE TABLE tasker_firings (
    schedule_id  uuid   NOT NULL,
    fired_for    bigint NOT NULL,
    kind         text   NOT NULL,
    state        text   NOT NULL,
    task_id      uuid,
    decided_at   bigint NOT NULL,
    submitted_at bigint NOT NULL,
    outcome      text   NOT NULL,
    error        text   NOT NULL,
    PRIMARY KEY (schedule_id, fired_for)
);
CREATE INDEX tasker_firings_open ON tasker_firings (schedule_id, fired_for) WHERE state = 'waiting' OR state = 'running';

-- Times that did not fire.
CREATE TABLE tasker_firing_skips (
    schedule_id uuid   NOT NULL,
    last_for    bigint NOT NULL,
    decided_at  bigint NOT NULL,
    reason      text   NOT NULL,
    first_for   bigint NOT NULL,
    times       bigint NOT NULL,
    capped      bigint NOT NULL,
    PRIMARY KEY (schedule_id, last_for, decided_at, reason)
);
