-- Cases: the investigations of tasks that are stuck. A case tells the whole story of its task: its row shows the
-- latest time that the task was found stuck, and the last note; the tables below have the others.
CREATE TABLE tasker_tasks_dlq (
    dlq_entry_uuid    uuid     PRIMARY KEY,
    task_uuid         uuid     NOT NULL,
    def_id            bigint   NOT NULL,
    original_state    text     NOT NULL,
    dlq_reason        text     NOT NULL,
    dlq_timestamp     bigint   NOT NULL, -- when it was opened
    task_snapshot     json,              -- JSON: the task as it was then
    resolution_status text     NOT NULL DEFAULT 'pending',
    resolution_notes  text, -- the last note
    resolved_at       bigint   NOT NULL DEFAULT 0,
    resolved_by       text,
    metadata          json, -- JSON of operators
    created_at        bigint   NOT NULL,
    updated_at        bigint   NOT NULL,
    -- What kind of failure it is, so that a thousand of one kind are counted together, and whether trying again may
    -- help.
    error_pattern     text,
    retryable         smallint NOT NULL DEFAULT 0,
    resolved_key      text,                        -- name of the API key of resolved_by
    cause             text,                        -- a finer reason
    occurrences       bigint   NOT NULL DEFAULT 1, -- times that the task was found stuck
    occurred_at       bigint   NOT NULL DEFAULT 0,
    failed_step       text,
    error_class       text,
    error_message     text,
    recovery          json, -- JSON: how the task came out of it, before a person decided
    replays           json, -- JSON: how often it was replayed, and by whom
    snapshot_bytes    bigint   NOT NULL DEFAULT 0,
    note_count        bigint   NOT NULL DEFAULT 0,
    note_bytes        bigint   NOT NULL DEFAULT 0,
    group_id          bigint, -- in the inbox; NULL until it has one
    CONSTRAINT case_reason CHECK (
        dlq_reason = 'staleness_timeout' OR dlq_reason = 'max_retries_exceeded'
            OR dlq_reason = 'dependency_cycle_detected'
        OR dlq_reason = 'worker_unavailable' OR dlq_reason = 'manual_dlq'),
    CONSTRAINT case_resolution CHECK (
        resolution_status = 'pending' OR resolution_status = 'manually_resolved'
        OR resolution_status = 'permanently_failed' OR resolution_status = 'cancelled')
) WITH (
    toast_tuple_target = 256, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1, autovacuum_vacuum_cost_limit = 2000
);
-- One pending case per task; the ones before it are kept.
CREATE UNIQUE INDEX tasker_tasks_dlq_pending ON tasker_tasks_dlq (task_uuid) WHERE resolution_status = 'pending';
CREATE INDEX tasker_tasks_dlq_by_task ON tasker_tasks_dlq (task_uuid, dlq_entry_uuid);
-- Pages and statistics are answered from these alone, but for the rows shown.
CREATE INDEX tasker_tasks_dlq_pages
    ON tasker_tasks_dlq (dlq_entry_uuid, resolution_status, dlq_reason, def_id, dlq_timestamp);
CREATE INDEX tasker_tasks_dlq_by_status
    ON tasker_tasks_dlq (resolution_status, dlq_entry_uuid, dlq_reason, def_id, dlq_timestamp);
CREATE INDEX tasker_tasks_dlq_urgent ON tasker_tasks_dlq (dlq_reason, dlq_timestamp, dlq_entry_uuid, def_id)
    WHERE resolution_status = 'pending';
CREATE INDEX tasker_tasks_dlq_counted
    ON tasker_tasks_dlq (dlq_reason, resolution_status, def_id, dlq_timestamp, resolved_at);
-- The analysis of the last day is answered from this alone.
CREATE INDEX tasker_tasks_dlq_patterns
    ON tasker_tasks_dlq (dlq_timestamp, dlq_reason, def_id, error_pattern, retryable, resolution_status, task_uuid);
-- What retention looks for.
CREATE INDEX tasker_tasks_dlq_resolved ON tasker_tasks_dlq (resolved_at, dlq_entry_uuid)
    WHERE resolution_status <> 'pending';
CREATE INDEX tasker_tasks_dlq_ungrouped ON tasker_tasks_dlq (dlq_entry_uuid) WHERE group_id IS NULL;
CREATE INDEX tasker_tasks_dlq_by_group ON tasker_tasks_dlq (group_id, dlq_entry_uuid) WHERE group_id IS NOT NULL;

-- Occurrences before the latest: the first, and the newest of the others.
CREATE TABLE tasker_case_occurrences (
    dlq_entry_uuid uuid     NOT NULL,
    no             bigint   NOT NULL,
    occurred_at    bigint   NOT NULL,
    original_state text     NOT NULL,
    dlq_reason     text     NOT NULL,
    cause          text,
    error_pattern  text,
    retryable      smallint NOT NULL,
    failed_step    text,
    error_class    text,
    error_message  text,
    recovery       json,
    snapshot_bytes bigint   NOT NULL,
    task_snapshot  json,
    PRIMARY KEY (dlq_entry_uuid, no)
);

-- Notes of people. They never change.
CREATE TABLE tasker_case_notes (
    dlq_entry_uuid uuid   NOT NULL,
    no             bigint NOT NULL,
    at             bigint NOT NULL,
    author         text   NOT NULL,
    author_key     text, -- name of the API key
    body           text   NOT NULL,
    PRIMARY KEY (dlq_entry_uuid, no)
);

-- When a live task has to be looked at, because it may be stale by then. Only tasks that have lived for long are in
-- here.
CREATE TABLE tasker_task_watches (
    task_id  uuid   PRIMARY KEY,
    stale_at bigint NOT NULL
);
CREATE INDEX tasker_task_watches_due ON tasker_task_watches (stale_at, task_id);
