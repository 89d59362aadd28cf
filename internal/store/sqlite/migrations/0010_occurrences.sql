-- +goose Up
-- A case tells the whole story of its task: each time that it was found stuck, of which
-- its row shows the latest; and all notes, of which its row shows one.
ALTER TABLE tasker_tasks_dlq RENAME COLUMN task_snapshot TO former_snapshot;
ALTER TABLE tasker_tasks_dlq ADD COLUMN cause TEXT;
ALTER TABLE tasker_tasks_dlq ADD COLUMN occurrences INTEGER NOT NULL DEFAULT 1;
ALTER TABLE tasker_tasks_dlq ADD COLUMN occurred_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasker_tasks_dlq ADD COLUMN failed_step TEXT;
ALTER TABLE tasker_tasks_dlq ADD COLUMN error_class TEXT;
ALTER TABLE tasker_tasks_dlq ADD COLUMN error_message TEXT;
ALTER TABLE tasker_tasks_dlq ADD COLUMN recovery TEXT;
ALTER TABLE tasker_tasks_dlq ADD COLUMN replays TEXT;
ALTER TABLE tasker_tasks_dlq ADD COLUMN snapshot_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasker_tasks_dlq ADD COLUMN note_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasker_tasks_dlq ADD COLUMN note_bytes INTEGER NOT NULL DEFAULT 0;
-- Large, hence last: what is before it is read without it.
ALTER TABLE tasker_tasks_dlq ADD COLUMN task_snapshot TEXT;
UPDATE tasker_tasks_dlq SET occurred_at = dlq_timestamp, snapshot_bytes = coalesce(length(CAST(former_snapshot AS BLOB)), 0), task_snapshot = former_snapshot,
    cause = CASE dlq_reason WHEN 'dependency_cycle_detected' THEN 'cycle' WHEN 'worker_unavailable' THEN 'no_worker' WHEN 'manual_dlq' THEN 'manual' END;
ALTER TABLE tasker_tasks_dlq DROP COLUMN former_snapshot;

-- Occurrences before the latest.
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
CREATE TABLE tasker_case_notes (
    dlq_entry_uuid INTEGER NOT NULL,
    no             INTEGER NOT NULL,
    at             INTEGER NOT NULL,
    author         TEXT    NOT NULL,
    author_key     TEXT,
    body           TEXT    NOT NULL,
    PRIMARY KEY (dlq_entry_uuid, no)
);

INSERT INTO tasker_case_notes (dlq_entry_uuid, no, at, author, author_key, body)
 SELECT dlq_entry_uuid, 1, CASE WHEN resolved_at <> 0 THEN resolved_at ELSE updated_at END, coalesce(resolved_by, ''), resolved_key, resolution_notes
 FROM tasker_tasks_dlq WHERE resolution_notes <> '';
UPDATE tasker_tasks_dlq SET note_count = 1, note_bytes = length(CAST(resolution_notes AS BLOB)) WHERE resolution_notes <> '';
-- What the engine noted stood among what people noted, who could change it.
UPDATE tasker_tasks_dlq SET recovery = json_extract(metadata, '$.recovered')
 WHERE json_type(metadata, '$.recovered') = 'object' AND json_type(metadata, '$.recovered.at') = 'text' AND json_type(metadata, '$.recovered.by') = 'text'
 AND json_extract(metadata, '$.recovered.state') <> 'cancelled'
 AND NOT EXISTS (SELECT 1 FROM tasker_tasks t WHERE t.id = tasker_tasks_dlq.task_uuid AND t.state = 'error');
UPDATE tasker_tasks_dlq SET replays = json_extract(metadata, '$.replayed')
 WHERE json_type(metadata, '$.replayed') = 'object' AND json_type(metadata, '$.replayed.count') = 'integer' AND json_type(metadata, '$.replayed.at') = 'text';
UPDATE tasker_tasks_dlq SET metadata = nullif(json_remove(metadata, '$.recovered', '$.replayed'), '{}')
 WHERE json_type(metadata, '$.recovered') IS NOT NULL OR json_type(metadata, '$.replayed') IS NOT NULL;

-- What happened last goes before what happened first: reason, state and error are those
-- of the latest occurrence. The task of a case that has recovered goes on, or is complete.
DROP VIEW v_dlq_investigation_queue;
CREATE VIEW v_dlq_investigation_queue AS
SELECT (SELECT u.uuid FROM tasker_uuids u WHERE u.id = c.dlq_entry_uuid) AS dlq_entry_uuid,
    (SELECT u.uuid FROM tasker_uuids u WHERE u.id = c.task_uuid) AS task_uuid,
    d.namespace AS namespace_name, d.name AS task_name, c.original_state, t.state AS current_state, c.dlq_reason,
    strftime('%Y-%m-%dT%H:%M:%S', c.dlq_timestamp / 1000000, 'unixepoch') || printf('.%06dZ', c.dlq_timestamp % 1000000) AS dlq_timestamp,
    round(round((n.now - c.dlq_timestamp) / 1000000.0) / 60, 2) AS minutes_in_dlq,
    round(coalesce(b.value, 0) + round((n.now - c.dlq_timestamp) / 1000000.0) / 60, 2) AS priority_score,
    t.priority, t.correlation_id, t.state <> 'error' AND c.recovery IS NOT NULL AS recovered,
    c.cause, c.occurrences AS occurrence_count,
    strftime('%Y-%m-%dT%H:%M:%S', c.occurred_at / 1000000, 'unixepoch') || printf('.%06dZ', c.occurred_at % 1000000) AS last_occurred_at
FROM tasker_now n, tasker_tasks_dlq c
JOIN tasker_templates d ON d.def_id = c.def_id
JOIN tasker_tasks t ON t.id = c.task_uuid
LEFT JOIN tasker_settings b ON b.key = 'priority_base.' || c.dlq_reason
WHERE c.resolution_status = 'pending'
ORDER BY coalesce(b.value, 0) * 60000000 - c.dlq_timestamp DESC, c.dlq_entry_uuid;
