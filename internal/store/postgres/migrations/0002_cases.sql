-- +goose Up
-- Since when a task is in its state, or made progress in it. In no index: it
-- changes on the happy path.
ALTER TABLE tasker_tasks ADD COLUMN state_at bigint NOT NULL DEFAULT 0;
UPDATE tasker_tasks SET state_at = CASE WHEN finished_at <> 0 THEN finished_at ELSE created_at END;

-- Cases: the investigations of tasks that are stuck.
CREATE TABLE tasker_tasks_dlq (
    dlq_entry_uuid    uuid   PRIMARY KEY,
    task_uuid         uuid   NOT NULL,
    def_id            bigint NOT NULL,
    original_state    text   NOT NULL,
    dlq_reason        text   NOT NULL,
    dlq_timestamp     bigint NOT NULL,
    task_snapshot     json,
    resolution_status text   NOT NULL DEFAULT 'pending',
    resolution_notes  text,
    resolved_at       bigint NOT NULL DEFAULT 0,
    resolved_by       text,
    metadata          json,
    created_at        bigint NOT NULL,
    updated_at        bigint NOT NULL,
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
    task_id  uuid   PRIMARY KEY,
    stale_at bigint NOT NULL
);
CREATE INDEX tasker_task_watches_due ON tasker_task_watches (stale_at, task_id);

ALTER TABLE tasker_acts ADD COLUMN case_id uuid;
CREATE INDEX tasker_acts_by_case ON tasker_acts (case_id, id) WHERE case_id IS NOT NULL;
CREATE INDEX tasker_acts_by_actor ON tasker_acts (actor, id);
CREATE INDEX tasker_acts_by_kind ON tasker_acts (kind, id);
