-- +goose Up
-- What kind of failure a case was opened upon, so that a thousand of one kind are
-- counted together, and whether trying again may help.
ALTER TABLE tasker_tasks_dlq ADD COLUMN error_pattern TEXT;
ALTER TABLE tasker_tasks_dlq ADD COLUMN retryable INTEGER NOT NULL DEFAULT 0;
-- The analysis of the last day is answered from this alone.
CREATE INDEX tasker_tasks_dlq_patterns ON tasker_tasks_dlq (dlq_timestamp, dlq_reason, def_id, error_pattern, retryable, resolution_status, task_uuid);
-- What retention looks for.
CREATE INDEX tasker_tasks_dlq_resolved ON tasker_tasks_dlq (resolved_at, dlq_entry_uuid) WHERE resolution_status <> 'pending';
