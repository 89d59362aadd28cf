-- What people ask the database itself, with sqlite3. The engine asks the tables. Both take the numbers that can be
-- configured from tasker_settings, and a test holds their answers together.

-- The number from which this file's IDs are rebuilt: it is kept in hexadecimal.
CREATE VIEW tasker_seed AS
WITH RECURSIVE digits (n, seed) AS (
    SELECT 0, 0
    UNION ALL
    SELECT n + 1, seed << 4 | (instr('0123456789abcdef', substr(value, n + 1, 1)) - 1)
    FROM digits, tasker_meta WHERE key = 'id_seed' AND n < length(value)
)
SELECT seed FROM digits ORDER BY n DESC LIMIT 1;

-- The UUIDs of tasks and cases. The file keeps the 60 bits that grow; the others are a mix of them and of the seed (mix
-- in package task). SQLite has neither XOR nor arithmetic that wraps, so it is done in parts of 16 bits.
CREATE VIEW tasker_uuids AS
SELECT k.id AS id, (
    WITH
    x0 (x) AS MATERIALIZED (SELECT ~(k.id & seed) & (k.id | seed) FROM tasker_seed),
    -- x += 9e3779b97f4a7c15
    p0 (a, b, c, d) AS MATERIALIZED (SELECT (x & 65535) + 31765, (x >> 16 & 65535) + 32586, (x >> 32 & 65535) + 31161,
        (x >> 48 & 65535) + 40503 FROM x0),
    l0 (lo, c, d) AS MATERIALIZED (SELECT a + (b << 16), c, d FROM p0),
    x1 (x) AS MATERIALIZED (SELECT (lo & 4294967295) | ((c + (d << 16) + (lo >> 32) & 4294967295) << 32) FROM l0),
    -- x = (x ^ x>>30) * bf58476d1ce4e5b9
    s1 (x, y) AS MATERIALIZED (SELECT x, x >> 30 & 17179869183 FROM x1),
    t1 (x) AS MATERIALIZED (SELECT ~(x & y) & (x | y) FROM s1),
    f1 (a, b, c, d) AS MATERIALIZED (SELECT x & 65535, x >> 16 & 65535, x >> 32 & 65535, x >> 48 & 65535 FROM t1),
    p1 (a, b, c, d) AS MATERIALIZED (SELECT a * 58809, a * 7396 + b * 58809, a * 18285 + b * 7396 + c * 58809,
        a * 48984 + b * 18285 + c * 7396 + d * 58809 FROM f1),
    l1 (lo, b, c, d) AS MATERIALIZED (SELECT a + ((b & 65535) << 16), b, c, d FROM p1),
    x2 (x) AS MATERIALIZED (SELECT (lo & 4294967295) | ((c + (b >> 16) + ((d & 65535) << 16)
        + (lo >> 32) & 4294967295) << 32) FROM l1),
    -- x = (x ^ x>>27) * 94d049bb133111eb
    s2 (x, y) AS MATERIALIZED (SELECT x, x >> 27 & 137438953471 FROM x2),
    t2 (x) AS MATERIALIZED (SELECT ~(x & y) & (x | y) FROM s2),
    f2 (a, b, c, d) AS MATERIALIZED (SELECT x & 65535, x >> 16 & 65535, x >> 32 & 65535, x >> 48 & 65535 FROM t2),
    p2 (a, b, c, d) AS MATERIALIZED (SELECT a * 4587, a * 4913 + b * 4587, a * 18875 + b * 4913 + c * 4587,
        a * 38096 + b * 18875 + c * 4913 + d * 4587 FROM f2),
    l2 (lo, b, c, d) AS MATERIALIZED (SELECT a + ((b & 65535) << 16), b, c, d FROM p2),
    x3 (x) AS MATERIALIZED (SELECT (lo & 4294967295) | ((c + (b >> 16) + ((d & 65535) << 16)
        + (lo >> 32) & 4294967295) << 32) FROM l2),
    -- x ^= x>>31
    s3 (x, y) AS MATERIALIZED (SELECT x, x >> 31 & 8589934591 FROM x3),
    low (x) AS MATERIALIZED (SELECT ~(x & y) & (x | y) FROM s3)
    SELECT printf('%08x-%04x-7%03x-%04x-%012x', k.id >> 28, k.id >> 12 & 65535, k.id & 4095, x >> 48 & 16383 | 32768,
        x & 281474976710655) FROM low
) AS uuid
FROM (SELECT id FROM tasker_tasks UNION ALL SELECT dlq_entry_uuid FROM tasker_tasks_dlq) k;

-- The time that views go by, in microseconds.
CREATE VIEW tasker_now AS SELECT CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER) AS now;

-- What is promised to a step that stands in a queue, and until when: that it waits for a time or for something outside
-- of workers, that a live worker has it, that a limit or a pause releases it, or that it waits for a worker. The last
-- has no end where the order of the queue has no bound.
CREATE VIEW tasker_promises AS
SELECT s.id, s.task_id, s.ordinal, CASE WHEN s.queue = -1 THEN 'time' WHEN s.queue = -2 THEN 'attempt'
        WHEN s.queue = -3 THEN 'outside' WHEN s.queue < -2 THEN 'release' ELSE 'queue' END AS promise,
    CASE WHEN s.queue = -1 THEN s.key
        WHEN s.queue = -2 THEN CASE WHEN s.lease_until > n.now AND s.state = 'in_progress' AND s.timeout_ms > 0
            THEN s.started_at + s.timeout_ms * 1000 ELSE s.lease_until END
        WHEN s.queue < -2 THEN 9223372036854775807
        ELSE (SELECT CASE WHEN value > 0 THEN s.ready_at + value ELSE 9223372036854775807 END FROM tasker_settings
            WHERE key = 'staleness.turn') END AS until
FROM tasker_now n, tasker_workflow_steps s
WHERE s.queue IS NOT NULL;

-- Every task that is not settled, with what its template and what the configuration allow it in its state, in
-- microseconds, and the step to which something is promised for longest, where only what is allowed to all bounds it.
-- Nothing bounds a task that compensates. What counts of its time in the state begins with since: not before its
-- run_at.
CREATE VIEW tasker_live_tasks AS
WITH lifecycles AS MATERIALIZED ( -- a template is taken apart once, and not for each task
    SELECT def_id, namespace, name, version, body,
        json_extract(body, '$.lifecycle.MaxWaitingForDependencies') / 1000 AS waiting_for_dependencies,
        json_extract(body, '$.lifecycle.MaxWaitingForRetry') / 1000 AS waiting_for_retry,
        json_extract(body, '$.lifecycle.MaxStepsInProcess') / 1000 AS steps_in_process,
        json_extract(body, '$.lifecycle.MaxDuration') / 1000 AS duration,
        EXISTS (SELECT 1 FROM json_each(body, '$.steps') s WHERE json_extract(s.value, '$.on_failure')) AS compensated
    FROM tasker_templates
), live AS (
    SELECT t.*, max(t.state_at, min(t.run_at, n.now)) AS since, n.now, d.namespace, d.name, d.version,
        d.waiting_for_dependencies, d.waiting_for_retry, d.steps_in_process, d.duration,
        CASE t.state WHEN 'waiting_for_dependencies' THEN d.waiting_for_dependencies
            WHEN 'waiting_for_retry' THEN d.waiting_for_retry
            WHEN 'steps_in_process' THEN d.steps_in_process END AS of_template,
        (SELECT value FROM tasker_settings WHERE key = 'staleness.' || t.state
            AND t.state IN ('waiting_for_dependencies', 'waiting_for_retry', 'steps_in_process')) AS of_all,
        d.compensated AND EXISTS (SELECT 1 FROM tasker_workflow_steps s WHERE s.id > t.id
            AND s.id <= t.id + t.steps_pending + t.steps_active + t.steps_waiting + t.steps_done + t.steps_failed
                + t.steps_cancelled
            AND s.task_id = t.id AND s.queue IS NOT NULL
                AND json_extract(d.body, '$.steps[' || (s.ordinal - 1) || '].on_failure')) AS compensating
    FROM tasker_now n, tasker_tasks t JOIN lifecycles d ON d.def_id = t.def_id
    WHERE t.state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually')
), bounded AS (
    SELECT k.*, CASE WHEN NOT k.compensating THEN k.of_template END AS own,
        CASE WHEN NOT k.compensating THEN k.of_all END AS global
    FROM live k
)
SELECT k.*, CASE WHEN coalesce(k.own, 0) <= 0 AND k.global > 0 THEN (SELECT p.id FROM tasker_promises p
    WHERE p.id > k.id AND p.id <= k.id + k.steps_pending + k.steps_active + k.steps_waiting + k.steps_done
        + k.steps_failed + k.steps_cancelled
        AND p.task_id = k.id AND p.until > k.since ORDER BY p.until DESC, p.ordinal LIMIT 1) END AS promised
FROM bounded k;

-- How long each live task may be where it is, in microseconds: a threshold for all begins at the end of the last
-- promise to a step. A bound that is NULL is none. That of the task as a whole (max_duration) counts where it is worse,
-- or ends first.
CREATE VIEW tasker_limits AS
WITH states AS (
    SELECT k.*, k.now - k.since AS in_state, p.promise, p.ordinal AS promised_step, p.until AS promised_until,
        CASE WHEN k.own > 0 THEN k.own WHEN k.global <= 0 OR p.until = 9223372036854775807 THEN NULL
            ELSE k.global + coalesce(p.until - k.since, 0) END AS bound,
        CASE WHEN k.own > 0 THEN 'template' WHEN k.global <= 0 THEN NULL WHEN p.until IS NOT NULL THEN 'promise'
            WHEN k.global > 0 THEN 'global' END AS source,
        CASE WHEN k.duration > 0 AND k.deadline_at <> 0 THEN max(k.duration - (k.deadline_at - k.now), 0) END AS used,
        CASE WHEN k.duration > 0 AND k.deadline_at <> 0 THEN k.duration END AS whole,
        (SELECT value FROM tasker_settings WHERE key = 'staleness.warning_percent') AS percent
    FROM tasker_live_tasks k LEFT JOIN tasker_promises p ON p.id = k.promised
), compared AS (
    SELECT s.*, CASE WHEN bound IS NULL OR in_state * 100 < bound * percent THEN 3 WHEN in_state < bound THEN 2
            ELSE 1 END AS of_state,
        CASE WHEN whole IS NULL OR used * 100 < whole * percent THEN 3 WHEN used < whole THEN 2 ELSE 1 END AS of_whole
    FROM states s
), chosen AS (
    SELECT c.*, whole IS NOT NULL AND (bound IS NULL OR of_whole < of_state OR of_whole = of_state
        AND whole - used < bound - in_state) AS by_whole
    FROM compared c
)
SELECT id, def_id, state, priority, correlation_id, created_at, state_at, since, now, namespace, name, version,
    waiting_for_dependencies, waiting_for_retry, steps_in_process, duration, in_state,
    CASE WHEN by_whole THEN whole ELSE bound END AS threshold,
    CASE WHEN by_whole THEN used ELSE in_state END AS counted,
    CASE WHEN by_whole THEN of_whole ELSE of_state END AS health,
    CASE WHEN by_whole THEN 'max_duration' ELSE source END AS source,
    CASE WHEN NOT by_whole THEN promise END AS promise, CASE WHEN NOT by_whole THEN promised_step END AS promised_step,
    CASE WHEN NOT by_whole THEN nullif(promised_until, 9223372036854775807) END AS promised_until
FROM chosen;

-- Every task that is not settled, for people. Minutes are rounded to the second. The threshold is the one that health
-- goes by; counted_minutes is what is gone of it.
CREATE VIEW v_task_state_analysis AS
SELECT (SELECT u.uuid FROM tasker_uuids u WHERE u.id = k.id) AS task_uuid, k.namespace AS namespace_name,
    k.name AS task_name, k.version AS task_version,
    k.correlation_id, k.priority, k.state AS current_state,
    strftime('%Y-%m-%dT%H:%M:%S', k.created_at / 1000000, 'unixepoch')
        || printf('.%06dZ', k.created_at % 1000000) AS task_created_at,
    strftime('%Y-%m-%dT%H:%M:%S', k.state_at / 1000000, 'unixepoch')
        || printf('.%06dZ', k.state_at % 1000000) AS state_entered_at,
    round(round((k.now - k.created_at) / 1000000.0) / 60, 2) AS task_age_minutes,
    round(round(k.in_state / 1000000.0) / 60, 2) AS time_in_state_minutes,
    round(round(k.threshold / 1000000.0) / 60, 2) AS threshold_minutes,
    CASE k.health WHEN 1 THEN 'stale' WHEN 2 THEN 'warning' ELSE 'healthy' END AS health_status,
    json_patch('{}', json_object('max_waiting_for_dependencies_minutes',
        nullif(k.waiting_for_dependencies, 0) / 60000000,
        'max_waiting_for_retry_minutes', nullif(k.waiting_for_retry, 0) / 60000000,
        'max_steps_in_process_minutes', nullif(k.steps_in_process, 0) / 60000000,
        'max_duration_minutes', nullif(k.duration, 0) / 60000000)) AS template_config,
    k.source AS threshold_source, k.promise,
    (SELECT json_extract(d.body, '$.steps[' || (k.promised_step - 1) || '].name') FROM tasker_templates d
        WHERE d.def_id = k.def_id) AS promised_step,
    strftime('%Y-%m-%dT%H:%M:%S', k.promised_until / 1000000, 'unixepoch')
        || printf('.%06dZ', k.promised_until % 1000000) AS promised_until,
    round(round(k.counted / 1000000.0) / 60, 2) AS counted_minutes,
    strftime('%Y-%m-%dT%H:%M:%S', (k.now + k.threshold - k.counted) / 1000000, 'unixepoch')
        || printf('.%06dZ', (k.now + k.threshold - k.counted) % 1000000) AS stale_at
FROM tasker_limits k;

-- Tasks in a state that has a threshold, or that may only take so long as a whole: stale ones first, then those that
-- soon will be, then the others; those that have been in their state for longest go first.
CREATE VIEW v_task_staleness_monitoring AS
SELECT task_uuid, namespace_name, task_name, current_state, time_in_state_minutes,
    threshold_minutes AS staleness_threshold_minutes,
    health_status, priority, threshold_source, promise, promised_step, promised_until, counted_minutes, stale_at
FROM v_task_state_analysis
WHERE threshold_source IS NOT NULL
ORDER BY instr('stale warning healthy', health_status), state_entered_at, task_uuid;

-- Cases by reason, the most urgent reason first. The average is that of the resolved ones.
CREATE VIEW v_dlq_dashboard AS
SELECT c.dlq_reason, count(*) AS total_entries,
    count(*) FILTER (WHERE c.resolution_status = 'pending') AS pending,
    count(*) FILTER (WHERE c.resolution_status = 'manually_resolved') AS manually_resolved,
    count(*) FILTER (WHERE c.resolution_status = 'permanently_failed') AS permanent_failures,
    count(*) FILTER (WHERE c.resolution_status = 'cancelled') AS cancelled,
    strftime('%Y-%m-%dT%H:%M:%S', min(c.dlq_timestamp) / 1000000, 'unixepoch')
        || printf('.%06dZ', min(c.dlq_timestamp) % 1000000) AS oldest_entry,
    strftime('%Y-%m-%dT%H:%M:%S', max(c.dlq_timestamp) / 1000000, 'unixepoch')
        || printf('.%06dZ', max(c.dlq_timestamp) % 1000000) AS newest_entry,
    round(round(avg(c.resolved_at - c.dlq_timestamp) FILTER (WHERE c.resolved_at <> 0) / 1000000.0) / 60, 2)
        AS avg_resolution_time_minutes
FROM tasker_tasks_dlq c
GROUP BY c.dlq_reason
ORDER BY (SELECT value FROM tasker_settings WHERE key = 'priority_base.' || c.dlq_reason) DESC, c.dlq_reason;

-- Pending cases, the most urgent first. What happened last goes before what happened first: reason, state and error are
-- those of the latest occurrence. The task of a recovered case continues, or is complete.
CREATE VIEW v_dlq_investigation_queue AS
SELECT (SELECT u.uuid FROM tasker_uuids u WHERE u.id = c.dlq_entry_uuid) AS dlq_entry_uuid,
    (SELECT u.uuid FROM tasker_uuids u WHERE u.id = c.task_uuid) AS task_uuid,
    d.namespace AS namespace_name, d.name AS task_name, c.original_state, t.state AS current_state, c.dlq_reason,
    strftime('%Y-%m-%dT%H:%M:%S', c.dlq_timestamp / 1000000, 'unixepoch')
        || printf('.%06dZ', c.dlq_timestamp % 1000000) AS dlq_timestamp,
    round(round((n.now - c.dlq_timestamp) / 1000000.0) / 60, 2) AS minutes_in_dlq,
    round(coalesce(b.value, 0) + round((n.now - c.dlq_timestamp) / 1000000.0) / 60, 2) AS priority_score,
    t.priority, t.correlation_id, t.state <> 'error' AND c.recovery IS NOT NULL AS recovered,
    c.cause, c.occurrences AS occurrence_count,
    strftime('%Y-%m-%dT%H:%M:%S', c.occurred_at / 1000000, 'unixepoch')
        || printf('.%06dZ', c.occurred_at % 1000000) AS last_occurred_at
FROM tasker_now n, tasker_tasks_dlq c
JOIN tasker_templates d ON d.def_id = c.def_id
JOIN tasker_tasks t ON t.id = c.task_uuid
LEFT JOIN tasker_settings b ON b.key = 'priority_base.' || c.dlq_reason
WHERE c.resolution_status = 'pending'
ORDER BY coalesce(b.value, 0) * 60000000 - c.dlq_timestamp DESC, c.dlq_entry_uuid;
