-- +goose Up
-- What people ask the database itself, with sqlite3. The engine asks the tables.
-- Both take the numbers that can be configured from tasker_settings, and a test
-- holds their answers together.

-- Numbers of the configuration, as the process that had the file last has them.
-- Times are microseconds; a threshold of 0 is none.
CREATE TABLE tasker_settings (
    key   TEXT    PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO tasker_settings (key, value) VALUES
    ('staleness.waiting_for_dependencies', 3600000000),
    ('staleness.waiting_for_retry', 1800000000),
    ('staleness.steps_in_process', 1800000000),
    ('staleness.warning_percent', 80),
    ('staleness.batch_size', 100),
    ('cases.enabled', 1),
    ('priority_base.dependency_cycle_detected', 1000),
    ('priority_base.max_retries_exceeded', 500),
    ('priority_base.staleness_timeout', 100),
    ('priority_base.worker_unavailable', 50),
    ('priority_base.manual_dlq', 10),
    ('priority_level.high', 75),
    ('priority_level.medium', 50),
    ('priority_level.low', 25);

-- The number from which this file's IDs are rebuilt: it is kept in hexadecimal.
CREATE VIEW tasker_seed AS
WITH RECURSIVE digits (n, seed) AS (
    SELECT 0, 0
    UNION ALL
    SELECT n + 1, seed << 4 | (instr('0123456789abcdef', substr(value, n + 1, 1)) - 1)
    FROM digits, tasker_meta WHERE key = 'id_seed' AND n < length(value)
)
SELECT seed FROM digits ORDER BY n DESC LIMIT 1;

-- The UUIDs of tasks and cases. The file keeps the 60 bits that grow; the others are
-- a mix of them and of the seed (mix in package task). SQLite has neither XOR nor
-- arithmetic that wraps, so it is done in parts of 16 bits.
CREATE VIEW tasker_uuids AS
SELECT k.id AS id, (
    WITH
    x0 (x) AS MATERIALIZED (SELECT ~(k.id & seed) & (k.id | seed) FROM tasker_seed),
    -- x += 9e3779b97f4a7c15
    p0 (a, b, c, d) AS MATERIALIZED (SELECT (x & 65535) + 31765, (x >> 16 & 65535) + 32586, (x >> 32 & 65535) + 31161, (x >> 48 & 65535) + 40503 FROM x0),
    l0 (lo, c, d) AS MATERIALIZED (SELECT a + (b << 16), c, d FROM p0),
    x1 (x) AS MATERIALIZED (SELECT (lo & 4294967295) | ((c + (d << 16) + (lo >> 32) & 4294967295) << 32) FROM l0),
    -- x = (x ^ x>>30) * bf58476d1ce4e5b9
    s1 (x, y) AS MATERIALIZED (SELECT x, x >> 30 & 17179869183 FROM x1),
    t1 (x) AS MATERIALIZED (SELECT ~(x & y) & (x | y) FROM s1),
    f1 (a, b, c, d) AS MATERIALIZED (SELECT x & 65535, x >> 16 & 65535, x >> 32 & 65535, x >> 48 & 65535 FROM t1),
    p1 (a, b, c, d) AS MATERIALIZED (SELECT a * 58809, a * 7396 + b * 58809, a * 18285 + b * 7396 + c * 58809,
        a * 48984 + b * 18285 + c * 7396 + d * 58809 FROM f1),
    l1 (lo, b, c, d) AS MATERIALIZED (SELECT a + ((b & 65535) << 16), b, c, d FROM p1),
    x2 (x) AS MATERIALIZED (SELECT (lo & 4294967295) | ((c + (b >> 16) + ((d & 65535) << 16) + (lo >> 32) & 4294967295) << 32) FROM l1),
    -- x = (x ^ x>>27) * 94d049bb133111eb
    s2 (x, y) AS MATERIALIZED (SELECT x, x >> 27 & 137438953471 FROM x2),
    t2 (x) AS MATERIALIZED (SELECT ~(x & y) & (x | y) FROM s2),
    f2 (a, b, c, d) AS MATERIALIZED (SELECT x & 65535, x >> 16 & 65535, x >> 32 & 65535, x >> 48 & 65535 FROM t2),
    p2 (a, b, c, d) AS MATERIALIZED (SELECT a * 4587, a * 4913 + b * 4587, a * 18875 + b * 4913 + c * 4587,
        a * 38096 + b * 18875 + c * 4913 + d * 4587 FROM f2),
    l2 (lo, b, c, d) AS MATERIALIZED (SELECT a + ((b & 65535) << 16), b, c, d FROM p2),
    x3 (x) AS MATERIALIZED (SELECT (lo & 4294967295) | ((c + (b >> 16) + ((d & 65535) << 16) + (lo >> 32) & 4294967295) << 32) FROM l2),
    -- x ^= x>>31
    s3 (x, y) AS MATERIALIZED (SELECT x, x >> 31 & 8589934591 FROM x3),
    low (x) AS MATERIALIZED (SELECT ~(x & y) & (x | y) FROM s3)
    SELECT printf('%08x-%04x-7%03x-%04x-%012x', k.id >> 28, k.id >> 12 & 65535, k.id & 4095, x >> 48 & 16383 | 32768, x & 281474976710655) FROM low
) AS uuid
FROM (SELECT id FROM tasker_tasks UNION ALL SELECT dlq_entry_uuid FROM tasker_tasks_dlq) k;

-- The time that views go by, in microseconds.
CREATE VIEW tasker_now AS SELECT CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER) AS now;

-- Every task that is not settled, with the threshold of its state in microseconds:
-- the template's own, else that for all; 0 is none.
CREATE VIEW tasker_live_tasks AS
WITH lifecycles AS MATERIALIZED ( -- a template is taken apart once, and not for each task
    SELECT def_id, namespace, name, version, json_extract(body, '$.lifecycle') AS lifecycle,
        json_extract(body, '$.lifecycle.MaxWaitingForDependencies') / 1000 AS waiting_for_dependencies,
        json_extract(body, '$.lifecycle.MaxWaitingForRetry') / 1000 AS waiting_for_retry,
        json_extract(body, '$.lifecycle.MaxStepsInProcess') / 1000 AS steps_in_process,
        json_extract(body, '$.lifecycle.MaxDuration') / 1000 AS duration
    FROM tasker_templates
)
SELECT t.id, t.state, t.priority, t.correlation_id, t.created_at, t.state_at, max(t.state_at, min(t.run_at, n.now)) AS since, n.now, d.namespace, d.name, d.version,
    d.waiting_for_dependencies, d.waiting_for_retry, d.steps_in_process, d.duration,
    coalesce(CASE t.state WHEN 'waiting_for_dependencies' THEN nullif(max(d.waiting_for_dependencies, 0), 0)
        WHEN 'waiting_for_retry' THEN nullif(max(d.waiting_for_retry, 0), 0)
        WHEN 'steps_in_process' THEN nullif(max(d.steps_in_process, 0), 0) END,
        (SELECT value FROM tasker_settings WHERE key = 'staleness.' || t.state), 0) AS threshold
FROM tasker_now n, tasker_tasks t JOIN lifecycles d ON d.def_id = t.def_id
WHERE t.state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually');

-- Every task that is not settled, for people. Minutes are rounded to the second.
CREATE VIEW v_task_state_analysis AS
SELECT (SELECT u.uuid FROM tasker_uuids u WHERE u.id = k.id) AS task_uuid, k.namespace AS namespace_name, k.name AS task_name, k.version AS task_version,
    k.correlation_id, k.priority, k.state AS current_state,
    strftime('%Y-%m-%dT%H:%M:%S', k.created_at / 1000000, 'unixepoch') || printf('.%06dZ', k.created_at % 1000000) AS task_created_at,
    strftime('%Y-%m-%dT%H:%M:%S', k.state_at / 1000000, 'unixepoch') || printf('.%06dZ', k.state_at % 1000000) AS state_entered_at,
    round(round((k.now - k.created_at) / 1000000.0) / 60, 2) AS task_age_minutes,
    round(round((k.now - k.since) / 1000000.0) / 60, 2) AS time_in_state_minutes,
    CASE WHEN k.threshold > 0 THEN round(round(k.threshold / 1000000.0) / 60, 2) END AS threshold_minutes,
    CASE WHEN k.threshold <= 0 THEN 'healthy'
        WHEN (k.now - k.since) * 100 < k.threshold * (SELECT value FROM tasker_settings WHERE key = 'staleness.warning_percent') THEN 'healthy'
        WHEN k.now - k.since < k.threshold THEN 'warning' ELSE 'stale' END AS health_status,
    json_patch('{}', json_object('max_waiting_for_dependencies_minutes', nullif(k.waiting_for_dependencies, 0) / 60000000,
        'max_waiting_for_retry_minutes', nullif(k.waiting_for_retry, 0) / 60000000,
        'max_steps_in_process_minutes', nullif(k.steps_in_process, 0) / 60000000,
        'max_duration_minutes', nullif(k.duration, 0) / 60000000)) AS template_config
FROM tasker_live_tasks k;

-- Tasks in a state that has a threshold: stale ones first, then those that soon
-- will be, then the others; those that have been there for longest go first.
CREATE VIEW v_task_staleness_monitoring AS
SELECT task_uuid, namespace_name, task_name, current_state, time_in_state_minutes, threshold_minutes AS staleness_threshold_minutes,
    health_status, priority
FROM v_task_state_analysis
WHERE threshold_minutes IS NOT NULL
ORDER BY instr('stale warning healthy', health_status), state_entered_at, task_uuid;

-- Cases by reason, the most urgent reason first. The average is that of the
-- resolved ones.
CREATE VIEW v_dlq_dashboard AS
SELECT c.dlq_reason, count(*) AS total_entries,
    count(*) FILTER (WHERE c.resolution_status = 'pending') AS pending,
    count(*) FILTER (WHERE c.resolution_status = 'manually_resolved') AS manually_resolved,
    count(*) FILTER (WHERE c.resolution_status = 'permanently_failed') AS permanent_failures,
    count(*) FILTER (WHERE c.resolution_status = 'cancelled') AS cancelled,
    strftime('%Y-%m-%dT%H:%M:%S', min(c.dlq_timestamp) / 1000000, 'unixepoch') || printf('.%06dZ', min(c.dlq_timestamp) % 1000000) AS oldest_entry,
    strftime('%Y-%m-%dT%H:%M:%S', max(c.dlq_timestamp) / 1000000, 'unixepoch') || printf('.%06dZ', max(c.dlq_timestamp) % 1000000) AS newest_entry,
    round(round(avg(c.resolved_at - c.dlq_timestamp) FILTER (WHERE c.resolved_at <> 0) / 1000000.0) / 60, 2) AS avg_resolution_time_minutes
FROM tasker_tasks_dlq c
GROUP BY c.dlq_reason
ORDER BY (SELECT value FROM tasker_settings WHERE key = 'priority_base.' || c.dlq_reason) DESC, c.dlq_reason;

-- Pending cases, the most urgent first. The task of one that has recovered goes
-- on, or is over: what is left is to resolve the case.
CREATE VIEW v_dlq_investigation_queue AS
SELECT (SELECT u.uuid FROM tasker_uuids u WHERE u.id = c.dlq_entry_uuid) AS dlq_entry_uuid,
    (SELECT u.uuid FROM tasker_uuids u WHERE u.id = c.task_uuid) AS task_uuid,
    d.namespace AS namespace_name, d.name AS task_name, c.original_state, t.state AS current_state, c.dlq_reason,
    strftime('%Y-%m-%dT%H:%M:%S', c.dlq_timestamp / 1000000, 'unixepoch') || printf('.%06dZ', c.dlq_timestamp % 1000000) AS dlq_timestamp,
    round(round((n.now - c.dlq_timestamp) / 1000000.0) / 60, 2) AS minutes_in_dlq,
    round(coalesce(b.value, 0) + round((n.now - c.dlq_timestamp) / 1000000.0) / 60, 2) AS priority_score,
    t.priority, t.correlation_id, t.state <> 'error' AND json_type(c.metadata, '$.recovered') IS 'object' AS recovered
FROM tasker_now n, tasker_tasks_dlq c
JOIN tasker_templates d ON d.def_id = c.def_id
JOIN tasker_tasks t ON t.id = c.task_uuid
LEFT JOIN tasker_settings b ON b.key = 'priority_base.' || c.dlq_reason
WHERE c.resolution_status = 'pending'
ORDER BY coalesce(b.value, 0) * 60000000 - c.dlq_timestamp DESC, c.dlq_entry_uuid;
