-- Schedules.
CREATE TABLE tasker_schedules (
    schedule_id uuid   PRIMARY KEY,
    namespace   text   NOT NULL,
    name        text   NOT NULL,
    spec        text   NOT NULL, -- JSON: what is submitted, and when
    version     bigint NOT NULL,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    decided_at  bigint NOT NULL, -- times up to this one are decided
    wake_at     bigint NOT NULL, -- when to decide next; 0: not before a change
    pause       text   NOT NULL, -- JSON; '': not paused
    trouble     text   NOT NULL, -- why it could not fire
    trouble_at  bigint NOT NULL  -- 0: it has none
);
CREATE UNIQUE INDEX tasker_schedules_by_name ON tasker_schedules (namespace, name);
CREATE INDEX tasker_schedules_by_wake ON tasker_schedules (wake_at) WHERE wake_at > 0;

-- Firings: one for each time of a schedule. A row is written with its task.
CREATE TABLE tasker_firings (
    schedule_id  uuid   NOT NULL,
    fired_for    bigint NOT NULL, -- the time
    kind         text   NOT NULL, -- time, missed, run or backfill
    state        text   NOT NULL,
    task_id      uuid,
    decided_at   bigint NOT NULL,
    submitted_at bigint NOT NULL,
    outcome      text   NOT NULL, -- the state in which the task ended
    error        text   NOT NULL,
    PRIMARY KEY (schedule_id, fired_for)
);
CREATE INDEX tasker_firings_open ON tasker_firings (schedule_id, fired_for)
    WHERE state = 'waiting' OR state = 'running';

-- Times that did not fire, and why.
CREATE TABLE tasker_firing_skips (
    schedule_id uuid   NOT NULL,
    last_for    bigint NOT NULL,
    decided_at  bigint NOT NULL,
    reason      text   NOT NULL,
    first_for   bigint NOT NULL, -- the first of them; last_for is the last
    times       bigint NOT NULL,
    capped      bigint NOT NULL, -- 1: there are more than times
    PRIMARY KEY (schedule_id, last_for, decided_at, reason)
);
