-- Schedules.
CREATE TABLE tasker_schedules (
    schedule_id INTEGER PRIMARY KEY,
    namespace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    spec        TEXT    NOT NULL, -- JSON: what is submitted, and when
    version     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    decided_at  INTEGER NOT NULL, -- times up to this one are decided
    wake_at     INTEGER NOT NULL, -- when to decide next; 0: not before a change
    pause       TEXT    NOT NULL, -- JSON; '': not paused
    trouble     TEXT    NOT NULL, -- why it could not fire
    trouble_at  INTEGER NOT NULL  -- 0: it has none
);
CREATE UNIQUE INDEX tasker_schedules_by_name ON tasker_schedules (namespace, name);
CREATE INDEX tasker_schedules_by_wake ON tasker_schedules (wake_at) WHERE wake_at > 0;

-- Firings: one for each time of a schedule. A row is written with its task.
CREATE TABLE tasker_firings (
    schedule_id  INTEGER NOT NULL,
    fired_for    INTEGER NOT NULL, -- the time
    kind         TEXT    NOT NULL, -- time, missed, run or backfill
    state        TEXT    NOT NULL,
    task_id      INTEGER,
    decided_at   INTEGER NOT NULL,
    submitted_at INTEGER NOT NULL,
    outcome      TEXT    NOT NULL, -- the state in which the task ended
    error        TEXT    NOT NULL,
    PRIMARY KEY (schedule_id, fired_for)
);
CREATE INDEX tasker_firings_open ON tasker_firings (schedule_id, fired_for)
    WHERE state = 'waiting' OR state = 'running';

-- Times that did not fire, and why.
CREATE TABLE tasker_firing_skips (
    schedule_id INTEGER NOT NULL,
    last_for    INTEGER NOT NULL,
    decided_at  INTEGER NOT NULL,
    reason      TEXT    NOT NULL,
    first_for   INTEGER NOT NULL, -- the first of them; last_for is the last
    times       INTEGER NOT NULL,
    capped      INTEGER NOT NULL, -- 1: there are more than times
    PRIMARY KEY (schedule_id, last_for, decided_at, reason)
);
