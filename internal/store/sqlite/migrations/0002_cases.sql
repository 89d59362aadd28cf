-- +goose Up
-- Since when a task is in its state, or made progress in it. In no index: it
-- changes on the happy path.
ALTER TABLE tasker_tasks ADD COLUMN state_at INTEGER NOT NULL DEFAULT 0;
UPDATE tasker_tasks SET state_at = CASE WHEN finished_at <> 0 THEN finished_at ELSE created_at END;

-- Cases: the investigations of tasks that are stuck.
CREATE TABLE tasker_tasks_dlq (
    dlq_entry_uuid    INTEGER PRIMARY KEY,
    task_uuid         INTEGER NOT NULL,
    def_id            INTEGER NOT NULL,
    original_state    TEXT    NOT NULL,
    dlq_reason        TEXT    NOT NULL,
    dlq_timestamp     INTEGER NOT NULL,
    resolution_status TEXT    NOT NULL DEFAULT 'pending',
    resolution_notes  TEXT,
    resolved_at       INTEGER NOT NULL DEFAULT 0,
    resolved_by       TEXT,
    metadata          TEXT,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    task_snapshot     TEXT, -- large, hence last: what is before it is read without it
    CONSTRAINT case_reason CHECK (
        dlq_reason = 'staleness_timeout' OR dlq_reason = 'max_retries_exceeded' OR dlq_reason = 'dependency_cycle_detected'
        OR dlq_reason = 'worker_unavailable' OR dlq_reason = 'manual_dlq'),
    CONSTRAINT case_resolution CHECK (
        resolution_status = 'pending' OR resolution_status = 'manually_resolved'
        OR resolution_status = 'permanently_failed' OR resolution_status = 'cancelled')
);
-- One pending case per task; the ones before it are kept.
CREATE UNIQUE INDEX tasker_tasks_dlq_pending ON tasker_tasks_dlq (task_uuid) WHERE resolution_status = 'pending';
CREATE INDEX tasker_tasks_dlq_by_task ON tasker_tasks_dlq (task_uuid, dlq_entry_uuid);
-- Pages and statistics are answered from these alone, but for the rows shown.
CREATE INDEX tasker_tasks_dlq_pages ON tasker_tasks_dlq (dlq_entry_uuid, resolution_status, dlq_reason, def_id, dlq_timestamp);
CREATE INDEX tasker_tasks_dlq_by_status ON tasker_tasks_dlq (resolution_status, dlq_entry_uuid, dlq_reason, def_id, dlq_timestamp);
CREATE INDEX tasker_tasks_dlq_urgent ON tasker_tasks_dlq (dlq_reason, dlq_timestamp, dlq_entry_uuid, def_id) WHERE resolution_status = 'pending';
CREATE INDEX tasker_tasks_dlq_counted ON tasker_tasks_dlq (dlq_reason, resolution_status, def_id, dlq_timestamp, resolved_at);

-- When a live task has to be looked at, because it may be stale by then. Only
-- tasks that have lived for long are in here.
CREATE TABLE tasker_task_watches (
    task_id  INTEGER PRIMARY KEY,
    stale_at INTEGER NOT NULL
);
CREATE INDEX tasker_task_watches_due ON tasker_task_watches (stale_at, task_id);

-- The number of an act is never given out again, though old acts are deleted.
CREATE TABLE tasker_acts_numbered (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id    INTEGER NOT NULL,
    step_id    INTEGER,
    case_id    INTEGER,
    at         INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    from_state TEXT    NOT NULL,
    to_state   TEXT    NOT NULL,
    data       TEXT
);
INSERT INTO tasker_acts_numbered (id, task_id, step_id, at, kind, actor, reason, from_state, to_state, data)
 SELECT id, task_id, step_id, at, kind, actor, reason, from_state, to_state, data FROM tasker_acts;
DROP TABLE tasker_acts;
ALTER TABLE tasker_acts_numbered RENAME TO tasker_acts;
CREATE INDEX tasker_acts_by_task ON tasker_acts (task_id);
CREATE INDEX tasker_acts_by_case ON tasker_acts (case_id, id) WHERE case_id IS NOT NULL;
CREATE INDEX tasker_acts_by_actor ON tasker_acts (actor, id);
CREATE INDEX tasker_acts_by_kind ON tasker_acts (kind, id);
