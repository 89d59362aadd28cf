-- Cases: the investigations of tasks that are stuck. A case tells the whole story of its task: its row shows the
-- latest time that the task was found stuck, and the last note; the tables below have the others.
CREATE TABLE tasker_tasks_dlq (
    dlq_entry_uuid    INTEGER PRIMARY KEY,
    task_uuid         INTEGER NOT NULL,
    def_id            INTEGER NOT NULL,
    original_state    TEXT    NOT NULL,
    dlq_reason        TEXT    NOT NULL,
    dlq_timestamp     INTEGER NOT NULL, -- when it was opened
    resolution_status TEXT    NOT NULL DEFAULT 'pending',
    resolution_notes  TEXT, -- the last note
    resolved_at       INTEGER NOT NULL DEFAULT 0,
    resolved_by       TEXT,
    metadata          TEXT, -- JSON of operators
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    -- What kind of failure it is, so that a thousand of one kind are counted together, and whether trying again may
    -- help.
    error_pattern     TEXT,
    retryable         INTEGER NOT NULL DEFAULT 0,
    resolved_key      TEXT,                       -- name of the API key of resolved_by
    cause             TEXT,                       -- a finer reason
    occurrences       INTEGER NOT NULL DEFAULT 1, -- times that the task was found stuck
    occurred_at       INTEGER NOT NULL DEFAULT 0,
    failed_step       TEXT,
    error_class       TEXT,
    error_message     TEXT,
    recovery          TEXT, -- JSON: how the task came out of it, before a person decided
    replays           TEXT, -- JSON: how often it was replayed, and by whom
    snapshot_bytes    INTEGER NOT NULL DEFAULT 0,
    note_count        INTEGER NOT NULL DEFAULT 0,
    note_bytes        INTEGER NOT NULL DEFAULT 0,
    task_snapshot     TEXT,    -- JSON: the task as it was then
    group_id          INTEGER, -- in the inbox; NULL until it has one
    CONSTRAINT case_reason CHECK (
        dlq_reason = 'staleness_timeout' OR dlq_reason = 'max_retries_exceeded'
            OR dlq_reason = 'dependency_cycle_detected'
        OR dlq_reason = 'worker_unavailable' OR dlq_reason = 'manual_dlq'),
    CONSTRAINT case_resolution CHECK (
        resolution_status = 'pending' OR resolution_status = 'manually_resolved'
        OR resolution_status = 'permanently_failed' OR resolution_status = 'cancelled')
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
    dlq_entry_uuid INTEGER NOT NULL,
    no             INTEGER NOT NULL,
    occurred_at    INTEGER NOT NULL,
    original_state TEXT    NOT NULL,
    dlq_reason     TEXT    NOT NULL,
    cause          TEXT,
    error_pattern  TEXT,
    retryable      INTEGER NOT NULL,
    failed_step    TEXT,
    error_class    TEXT,
    error_message  TEXT,
    recovery       TEXT,
    snapshot_bytes INTEGER NOT NULL,
    task_snapshot  TEXT,
    PRIMARY KEY (dlq_entry_uuid, no)
);

-- Notes of people. They never change.
CREATE TABLE tasker_case_notes (
    dlq_entry_uuid INTEGER NOT NULL,
    no             INTEGER NOT NULL,
    at             INTEGER NOT NULL,
    author         TEXT    NOT NULL,
    author_key     TEXT, -- name of the API key
    body           TEXT    NOT NULL,
    PRIMARY KEY (dlq_entry_uuid, no)
);

-- When a live task has to be looked at, because it may be stale by then. Only tasks that have lived for long are in
-- here.
CREATE TABLE tasker_task_watches (
    task_id  INTEGER PRIMARY KEY,
    stale_at INTEGER NOT NULL
);
CREATE INDEX tasker_task_watches_due ON tasker_task_watches (stale_at, task_id);
