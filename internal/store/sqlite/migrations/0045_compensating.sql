-- +goose Up
-- A task that compensates is never stale, for SQL as for the engine: no threshold concerns it. What waits for something
-- outside of workers has that promise.

DROP VIEW tasker_promises;
CREATE VIEW tasker_promises AS
SELECT s.id, s.task_id, s.ordinal, CASE WHEN s.queue = -1 THEN 'time' WHEN s.queue = -2 THEN 'attempt'
        WHEN s.queue = -3 THEN 'outside' WHEN s.queue < -2 THEN 'release' ELSE 'queue' END AS promise,
    CASE WHEN s.queue = -1 THEN s.key
        WHEN s.queue = -2 THEN CASE WHEN s.lease_until > n.now AND s.state = 'in_progress' AND s.timeout_ms > 0
            THEN s.started_at + s.timeout_ms * 1000 ELSE s.lease_until END
        WHEN s.queue < -2 THEN 9223372036854775807
        ELSE (SELECT CASE WHEN value > 0 THEN s.ready_at + value ELSE 9223372036854775807 END FROM tasker_settings WHERE key = 'staleness.turn') END AS until
FROM tasker_now n, tasker_workflow_steps s
WHERE s.queue IS NOT NULL;

-- Every task that is not settled, with what its template and what the configuration
-- allow it in its state, in microseconds, and the step to which something is promised
-- for longest, where only what is allowed to all bounds it. Nothing bounds one that compensates.
DROP VIEW tasker_live_tasks;
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
            AND s.id <= t.id + t.steps_pending + t.steps_active + t.steps_waiting + t.steps_done + t.steps_failed + t.steps_cancelled
            AND s.task_id = t.id AND s.queue IS NOT NULL AND json_extract(d.body, '$.steps[' || (s.ordinal - 1) || '].on_failure')) AS compensating
    FROM tasker_now n, tasker_tasks t JOIN lifecycles d ON d.def_id = t.def_id
    WHERE t.state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually')
), bounded AS (
    SELECT k.*, CASE WHEN NOT k.compensating THEN k.of_template END AS own, CASE WHEN NOT k.compensating THEN k.of_all END AS global
    FROM live k
)
SELECT k.*, CASE WHEN coalesce(k.own, 0) <= 0 AND k.global > 0 THEN (SELECT p.id FROM tasker_promises p
    WHERE p.id > k.id AND p.id <= k.id + k.steps_pending + k.steps_active + k.steps_waiting + k.steps_done + k.steps_failed + k.steps_cancelled
        AND p.task_id = k.id AND p.until > k.since ORDER BY p.until DESC, p.ordinal LIMIT 1) END AS promised
FROM bounded k;
