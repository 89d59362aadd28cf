-- +goose Up
-- A threshold for all never overrides what is promised to a step: it begins when the
-- last promise ends. Views say why a limit is what it is, and warn of
-- max_duration_minutes too.
INSERT INTO tasker_settings (key, value) VALUES ('staleness.turn', 3660000000);

DROP VIEW v_task_staleness_monitoring;
DROP VIEW v_task_state_analysis;
DROP VIEW tasker_live_tasks;

-- What is promised to a step that stands in a queue, and until when: that it waits for
-- a time, that a live worker has it, or that it waits for a worker. The last has no end
-- where the order of the queue has no bound.
CREATE VIEW tasker_promises AS
SELECT s.id, s.task_id, s.ordinal, CASE WHEN s.queue = -1 THEN 'time' WHEN s.queue = -2 THEN 'attempt' ELSE 'queue' END AS promise,
    CASE WHEN s.queue = -1 THEN s.key
        WHEN s.queue = -2 THEN CASE WHEN s.lease_until > n.now AND s.state = 'in_progress' AND s.timeout_ms > 0
            THEN s.started_at + s.timeout_ms * 1000 ELSE s.lease_until END
        ELSE (SELECT CASE WHEN value > 0 THEN s.ready_at + value ELSE 9223372036854775807 END FROM tasker_settings WHERE key = 'staleness.turn') END AS until
FROM tasker_now n, tasker_workflow_steps s
WHERE s.queue IS NOT NULL;

-- Every task that is not settled, with what its template and what the configuration
-- allow it in its state, in microseconds, and the step to which something is promised
-- for longest, where only what is allowed to all bounds it.
CREATE VIEW tasker_live_tasks AS
WITH lifecycles AS MATERIALIZED ( -- a template is taken apart once, and not for each task
    SELECT def_id, namespace, name, version, json_extract(body, '$.lifecycle') AS lifecycle,
        json_extract(body, '$.lifecycle.MaxWaitingForDependencies') / 1000 AS waiting_for_dependencies,
        json_extract(body, '$.lifecycle.MaxWaitingForRetry') / 1000 AS waiting_for_retry,
        json_extract(body, '$.lifecycle.MaxStepsInProcess') / 1000 AS steps_in_process,
        json_extract(body, '$.lifecycle.MaxDuration') / 1000 AS duration
    FROM tasker_templates
), live AS (
    SELECT t.*, max(t.state_at, min(t.run_at, n.now)) AS since, n.now, d.namespace, d.name, d.version,
        d.waiting_for_dependencies, d.waiting_for_retry, d.steps_in_process, d.duration,
        CASE t.state WHEN 'waiting_for_dependencies' THEN d.waiting_for_dependencies
            WHEN 'waiting_for_retry' THEN d.waiting_for_retry
            WHEN 'steps_in_process' THEN d.steps_in_process END AS own,
        (SELECT value FROM tasker_settings WHERE key = 'staleness.' || t.state
            AND t.state IN ('waiting_for_dependencies', 'waiting_for_retry', 'steps_in_process')) AS global
    FROM tasker_now n, tasker_tasks t JOIN lifecycles d ON d.def_id = t.def_id
    WHERE t.state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually')
)
SELECT k.*, CASE WHEN coalesce(k.own, 0) <= 0 AND k.global > 0 THEN (SELECT p.id FROM tasker_promises p
    WHERE p.id > k.id AND p.id <= k.id + k.steps_pending + k.steps_active + k.steps_waiting + k.steps_done + k.steps_failed + k.steps_cancelled
        AND p.task_id = k.id AND p.until > k.since ORDER BY p.until DESC, p.ordinal LIMIT 1) END AS promised
FROM live k;

-- How long each live task may be where it is, in microseconds: a threshold for all
-- begins at the end of the last promise to a step. A bound that is NULL is none. That of
-- the task as a whole (max_duration) counts where it is worse, or ends first.
CREATE VIEW tasker_limits AS
WITH states AS (
    SELECT k.*, k.now - k.since AS in_state, p.promise, p.ordinal AS promised_step, p.until AS promised_until,
        CASE WHEN k.own > 0 THEN k.own WHEN k.global <= 0 OR p.until = 9223372036854775807 THEN NULL ELSE k.global + coalesce(p.until - k.since, 0) END AS bound,
        CASE WHEN k.own > 0 THEN 'template' WHEN k.global <= 0 THEN NULL WHEN p.until IS NOT NULL THEN 'promise' WHEN k.global > 0 THEN 'global' END AS source,
        CASE WHEN k.duration > 0 AND k.deadline_at <> 0 THEN max(k.duration - (k.deadline_at - k.now), 0) END AS used,
        CASE WHEN k.duration > 0 AND k.deadline_at <> 0 THEN k.duration END AS whole,
        (SELECT value FROM tasker_settings WHERE key = 'staleness.warning_percent') AS percent
    FROM tasker_live_tasks k LEFT JOIN tasker_promises p ON p.id = k.promised
), compared AS (
    SELECT s.*, CASE WHEN bound IS NULL OR in_state * 100 < bound * percent THEN 3 WHEN in_state < bound THEN 2 ELSE 1 END AS of_state,
        CASE WHEN whole IS NULL OR used * 100 < whole * percent THEN 3 WHEN used < whole THEN 2 ELSE 1 END AS of_whole
    FROM states s
), chosen AS (
    SELECT c.*, whole IS NOT NULL AND (bound IS NULL OR of_whole < of_state OR of_whole = of_state AND whole - used < bound - in_state) AS by_whole
    FROM compared c
)
SELECT id, def_id, state, priority, correlation_id, created_at, state_at, since, now, namespace, name, version,
    waiting_for_dependencies, waiting_for_retry, steps_in_process, duration, in_state,
    CASE WHEN by_whole THEN whole ELSE bound END AS threshold, CASE WHEN by_whole THEN used ELSE in_state END AS counted,
    CASE WHEN by_whole THEN of_whole ELSE of_state END AS health, CASE WHEN by_whole THEN 'max_duration' ELSE source END AS source,
    CASE WHEN NOT by_whole THEN promise END AS promise, CASE WHEN NOT by_whole THEN promised_step END AS promised_step,
    CASE WHEN NOT by_whole THEN nullif(promised_until, 9223372036854775807) END AS promised_until
FROM chosen;

-- Every task that is not settled, for people. Minutes are rounded to the second. The
-- threshold is the one that health goes by; counted_minutes is what is gone of it.
CREATE VIEW v_task_state_analysis AS
SELECT (SELECT u.uuid FROM tasker_uuids u WHERE u.id = k.id) AS task_uuid, k.namespace AS namespace_name, k.name AS task_name, k.version AS task_version,
    k.correlation_id, k.priority, k.state AS current_state,
    strftime('%Y-%m-%dT%H:%M:%S', k.created_at / 1000000, 'unixepoch') || printf('.%06dZ', k.created_at % 1000000) AS task_created_at,
    strftime('%Y-%m-%dT%H:%M:%S', k.state_at / 1000000, 'unixepoch') || printf('.%06dZ', k.state_at % 1000000) AS state_entered_at,
    round(round((k.now - k.created_at) / 1000000.0) / 60, 2) AS task_age_minutes,
    round(round(k.in_state / 1000000.0) / 60, 2) AS time_in_state_minutes,
    round(round(k.threshold / 1000000.0) / 60, 2) AS threshold_minutes,
    CASE k.health WHEN 1 THEN 'stale' WHEN 2 THEN 'warning' ELSE 'healthy' END AS health_status,
    json_patch('{}', json_object('max_waiting_for_dependencies_minutes', nullif(k.waiting_for_dependencies, 0) / 60000000,
        'max_waiting_for_retry_minutes', nullif(k.waiting_for_retry, 0) / 60000000,
        'max_steps_in_process_minutes', nullif(k.steps_in_process, 0) / 60000000,
        'max_duration_minutes', nullif(k.duration, 0) / 60000000)) AS template_config,
    k.source AS threshold_source, k.promise,
    (SELECT json_extract(d.body, '$.steps[' || (k.promised_step - 1) || '].name') FROM tasker_templates d WHERE d.def_id = k.def_id) AS promised_step,
    strftime('%Y-%m-%dT%H:%M:%S', k.promised_until / 1000000, 'unixepoch') || printf('.%06dZ', k.promised_until % 1000000) AS promised_until,
    round(round(k.counted / 1000000.0) / 60, 2) AS counted_minutes,
    strftime('%Y-%m-%dT%H:%M:%S', (k.now + k.threshold - k.counted) / 1000000, 'unixepoch') || printf('.%06dZ', (k.now + k.threshold - k.counted) % 1000000) AS stale_at
FROM tasker_limits k;

-- Tasks in a state that has a threshold, or that may only take so long as a whole: stale
-- ones first, then those that soon will be, then the others; those that have been in
-- their state for longest go first.
CREATE VIEW v_task_staleness_monitoring AS
SELECT task_uuid, namespace_name, task_name, current_state, time_in_state_minutes, threshold_minutes AS staleness_threshold_minutes,
    health_status, priority, threshold_source, promise, promised_step, promised_until, counted_minutes, stale_at
FROM v_task_state_analysis
WHERE threshold_source IS NOT NULL
ORDER BY instr('stale warning healthy', health_status), state_entered_at, task_uuid;
