-- +goose Up
-- A threshold for all never overrides what is promised to a step: it begins when the
-- last promise ends. Views and functions say why a limit is what it is, and warn of
-- max_duration_minutes too. What is put in error keeps its last error and its attempts.
INSERT INTO tasker_settings (key, value) VALUES ('staleness.turn', 3660000000);

-- Every task that is not settled, with what its template and what the
-- configuration allow it in its state, in microseconds. What counts of its time in
-- the state begins with since: not before its run_at.
CREATE OR REPLACE VIEW tasker_live_tasks AS
SELECT t.id, t.state, t.priority, t.correlation_id, t.created_at, t.state_at, greatest(t.state_at, least(t.run_at, tasker_now())) AS since, d.namespace, d.name, d.version,
    d.waiting_for_dependencies, d.waiting_for_retry, d.steps_in_process, d.duration,
    CASE t.state WHEN 'waiting_for_dependencies' THEN d.waiting_for_dependencies
        WHEN 'waiting_for_retry' THEN d.waiting_for_retry
        WHEN 'steps_in_process' THEN d.steps_in_process END AS own,
    CASE t.state WHEN 'waiting_for_dependencies' THEN (SELECT tasker_setting('staleness.waiting_for_dependencies'))
        WHEN 'waiting_for_retry' THEN (SELECT tasker_setting('staleness.waiting_for_retry'))
        WHEN 'steps_in_process' THEN (SELECT tasker_setting('staleness.steps_in_process')) END AS global,
    t.deadline_at, t.steps_pending + t.steps_active + t.steps_waiting + t.steps_done + t.steps_failed + t.steps_cancelled AS steps
FROM tasker_tasks t JOIN tasker_lifecycles d ON d.def_id = t.def_id
WHERE t.state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually');

-- What is promised to a step that stands in a queue, and until when: that it waits for
-- a time, that a live worker has it, or that it waits for a worker. The last has no end
-- where the order of the queue has no bound.
CREATE VIEW tasker_promises AS
SELECT s.id, s.task_id, s.ordinal, CASE WHEN s.queue = -1 THEN 'time' WHEN s.queue = -2 THEN 'attempt' ELSE 'queue' END AS promise,
    CASE WHEN s.queue = -1 THEN s.key
        WHEN s.queue = -2 THEN CASE WHEN s.lease_until > tasker_now() AND s.state = 'in_progress' AND s.timeout_ms > 0
            THEN s.started_at + s.timeout_ms * 1000 ELSE s.lease_until END
        ELSE CASE WHEN tasker_setting('staleness.turn') > 0 THEN s.ready_at + tasker_setting('staleness.turn') ELSE 9223372036854775807 END END AS until
FROM tasker_workflow_steps s
WHERE s.queue IS NOT NULL;

-- How long each live task may be where it is, in microseconds, where own says what its
-- template allows and global what is allowed to all: a threshold for all begins at the
-- end of the last promise to a step. A bound that is NULL is none.
-- +goose StatementBegin
CREATE FUNCTION tasker_limits(waiting_deps bigint, waiting_retry bigint, steps_process bigint)
RETURNS TABLE (id uuid, in_state bigint, bound bigint, source text, global bigint, promise text, promised_step int, promised_until bigint, used bigint, duration bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT l.id, tasker_now() - l.since,
        CASE WHEN l.own > 0 THEN l.own WHEN g.global <= 0 THEN NULL WHEN p.until = 9223372036854775807 THEN NULL
            ELSE g.global + coalesce(p.until - l.since, 0) END,
        CASE WHEN l.own > 0 THEN 'template' WHEN g.global <= 0 THEN NULL WHEN p.until IS NOT NULL THEN 'promise' WHEN g.global > 0 THEN 'global' END,
        g.global, p.promise, p.ordinal, p.until,
        CASE WHEN l.duration > 0 AND l.deadline_at <> 0 THEN greatest(l.duration - (l.deadline_at - tasker_now()), 0) END,
        CASE WHEN l.duration > 0 AND l.deadline_at <> 0 THEN l.duration END
    FROM tasker_live_tasks l
    CROSS JOIN LATERAL (SELECT coalesce(CASE l.state WHEN 'waiting_for_dependencies' THEN waiting_deps
        WHEN 'waiting_for_retry' THEN waiting_retry WHEN 'steps_in_process' THEN steps_process END, l.global) AS global) g
    LEFT JOIN LATERAL (SELECT q.promise, q.ordinal, q.until FROM tasker_promises q
        WHERE q.id > l.id AND q.id <= tasker_last_step(l.id, l.steps) AND q.task_id = l.id AND q.until > l.since
        ORDER BY q.until DESC, q.ordinal LIMIT 1) p ON NOT coalesce(l.own > 0, false) AND g.global > 0;
END;
-- +goose StatementEnd

-- Every task that is not settled, for people. The threshold is the one that health goes
-- by: that of the state, or of the task as a whole (max_duration), whichever is worse,
-- and then whichever ends first; counted_minutes is what is gone of it.
CREATE OR REPLACE VIEW v_task_state_analysis AS
SELECT k.id AS task_uuid, k.namespace AS namespace_name, k.name AS task_name, k.version AS task_version, k.correlation_id, k.priority,
    k.state AS current_state, tasker_time(k.created_at) AS task_created_at, tasker_time(k.state_at) AS state_entered_at,
    tasker_minutes(k.now - k.created_at) AS task_age_minutes, tasker_minutes(k.in_state) AS time_in_state_minutes,
    tasker_minutes(n.bound) AS threshold_minutes,
    tasker_health(n.used, coalesce(n.bound, 0), k.percent) AS health_status,
    jsonb_strip_nulls(jsonb_build_object('max_waiting_for_dependencies_minutes', nullif(k.waiting_for_dependencies, 0) / 60000000,
        'max_waiting_for_retry_minutes', nullif(k.waiting_for_retry, 0) / 60000000,
        'max_steps_in_process_minutes', nullif(k.steps_in_process, 0) / 60000000,
        'max_duration_minutes', nullif(k.duration, 0) / 60000000)) AS template_config,
    n.source AS threshold_source, n.promise, (SELECT d.body #>> ARRAY['steps', (n.step - 1)::text, 'name'] FROM tasker_templates d WHERE d.def_id = k.def_id) AS promised_step,
    tasker_time(nullif(n.until, 9223372036854775807)) AS promised_until, tasker_minutes(n.used) AS counted_minutes,
    tasker_time(k.now + n.bound - n.used) AS stale_at
FROM (SELECT l.*, t.def_id, tasker_now() AS now, m.in_state, m.bound, m.source, m.promise, m.promised_step, m.promised_until, m.used, m.duration AS whole,
        (SELECT tasker_setting('staleness.warning_percent')) AS percent,
        array_position(ARRAY['stale', 'warning', 'healthy'], tasker_health(m.in_state, coalesce(m.bound, 0), (SELECT tasker_setting('staleness.warning_percent')))) AS of_state,
        array_position(ARRAY['stale', 'warning', 'healthy'], tasker_health(m.used, m.duration, (SELECT tasker_setting('staleness.warning_percent')))) AS of_whole
    FROM tasker_live_tasks l JOIN tasker_limits(NULL, NULL, NULL) m ON m.id = l.id JOIN tasker_tasks t ON t.id = l.id) k
CROSS JOIN LATERAL (SELECT k.whole IS NOT NULL AND (k.bound IS NULL OR k.of_whole < k.of_state
    OR k.of_whole = k.of_state AND k.whole - k.used < k.bound - k.in_state) AS by_whole) w
CROSS JOIN LATERAL (SELECT CASE WHEN w.by_whole THEN k.whole ELSE k.bound END AS bound, CASE WHEN w.by_whole THEN k.used ELSE k.in_state END AS used,
    CASE WHEN w.by_whole THEN 'max_duration' ELSE k.source END AS source, CASE WHEN NOT w.by_whole THEN k.promise END AS promise,
    CASE WHEN NOT w.by_whole THEN k.promised_step END AS step, CASE WHEN NOT w.by_whole THEN k.promised_until END AS until) n;

-- Tasks in a state that has a threshold, or that may only take so long as a whole: stale
-- ones first, then those that soon will be, then the others; those that have been in
-- their state for longest go first.
CREATE OR REPLACE VIEW v_task_staleness_monitoring AS
SELECT task_uuid, namespace_name, task_name, current_state, time_in_state_minutes, threshold_minutes AS staleness_threshold_minutes,
    health_status, priority, threshold_source, promise, promised_step, promised_until, counted_minutes, stale_at
FROM v_task_state_analysis
WHERE threshold_source IS NOT NULL
ORDER BY array_position(ARRAY['stale', 'warning', 'healthy'], health_status), state_entered_at, task_uuid;

-- Tasks that are stale, with what was seen in a sentence. Thresholds that are given,
-- in minutes, go before the configured ones, and not before those of templates; 0 is
-- none. With a lifetime, tasks that are older are stale too. What is promised to steps
-- goes before all but the thresholds of templates.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tasker_stale_tasks(waiting_deps int, waiting_retry int, steps_process int, lifetime_hours int)
RETURNS TABLE (id uuid, namespace text, name text, state text, in_state bigint, threshold bigint, age bigint, seen text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT w.id, w.namespace, w.name, w.state, w.in_state, w.met, w.age, w.state || ' for ' || tasker_duration(w.in_state) || '; the threshold is ' || tasker_duration(w.met)
        || CASE WHEN w.met = w.bound AND w.source = 'promise'
            THEN ', which is ' || tasker_duration(w.global) || ' from the end of a promise (' || w.promise || ')' ELSE '' END
    FROM (
        SELECT k.*, CASE WHEN k.in_state >= k.bound THEN k.bound
            WHEN k.age >= k.lifetime AND coalesce(k.promised_until, 0) <= tasker_now() THEN k.lifetime END AS met
        FROM (
            SELECT l.id, l.namespace, l.name, l.state, m.in_state, m.bound, m.source, m.global, m.promise, tasker_now() - l.created_at AS age,
                lifetime_hours * 3600000000 AS lifetime, -- of a state without a threshold too
                (SELECT max(q.until) FROM tasker_promises q WHERE q.id > l.id AND q.id <= tasker_last_step(l.id, l.steps) AND q.task_id = l.id
                    AND lifetime_hours IS NOT NULL) AS promised_until
            FROM tasker_live_tasks l
            JOIN tasker_limits(waiting_deps * 60000000::bigint, waiting_retry * 60000000::bigint, steps_process * 60000000::bigint) m ON m.id = l.id
        ) k
    ) w
    WHERE w.met IS NOT NULL;
END;
-- +goose StatementEnd

-- Puts a task in error as the engine does: what runs is cut off, and what waits to run
-- or for a time does so no longer; an act tells of each step. False when the task is not in the
-- state given, or not the one that the caller takes it for. p_detail is what was seen.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION transition_stale_task_to_error(p_task_uuid uuid, p_current_state text, p_namespace_name text DEFAULT NULL, p_task_name text DEFAULT NULL,
    p_detail text DEFAULT NULL) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    k    record;
    n    record;
    now  constant bigint := tasker_now();
    seen text := p_detail;
BEGIN
    SELECT t.id, t.state, t.state_at, d.namespace, d.name INTO k FROM tasker_tasks t JOIN tasker_templates d ON d.def_id = t.def_id
    WHERE t.id = p_task_uuid AND t.state = p_current_state AND t.state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually')
        AND d.namespace = coalesce(p_namespace_name, d.namespace) AND d.name = coalesce(p_task_name, d.name) FOR UPDATE OF t;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    seen := coalesce(p_detail, k.state || ' for ' || tasker_duration(now - k.state_at));
    WITH open AS (
        SELECT s.* FROM tasker_workflow_steps s WHERE s.id IN (SELECT tasker_steps_of(k.id))
            AND s.queue IS NOT NULL ORDER BY s.id FOR UPDATE
    ), ended AS ( -- what nobody had has no attempt; one that is cut off is a failure only where nothing else was one
        INSERT INTO tasker_attempts (task_id, step_id, token, number, worker_no, outcome, ready_at, assigned_at, started_at, finished_at, after_state, failure)
        SELECT o.task_id, o.id, o.token, o.attempts, o.worker_no, CASE o.state WHEN 'assigned' THEN 'not_started' ELSE 'timed_out' END,
            o.ready_at, o.assigned_at, o.started_at, now, 'error', CASE WHEN o.state = 'in_progress' AND o.attempts <= 1 THEN
            json_build_object('error_type', 'staleness_timeout', 'message', 'the task was stale: ' || seen, 'code', 'TASK_STALE', 'retryable', false) END
        FROM open o WHERE o.state IN ('assigned', 'in_progress') ORDER BY o.id
    ), told AS (
        INSERT INTO tasker_acts (task_id, step_id, namespace, template, at, kind, actor, auth, reason, from_state, to_state, data)
        SELECT o.task_id, o.id, k.namespace, k.name, now, 'give_up_step', 'system', 'system', 'stale: ' || seen, o.state, 'error',
            tasker_object(ARRAY['ready_at', 'due_at'], ARRAY[CASE o.state WHEN 'enqueued' THEN tasker_shown_time(o.ready_at) END,
                CASE WHEN o.queue = -1 THEN tasker_shown_time(o.key) END])
        FROM open o ORDER BY o.id
    ), moved AS (
        UPDATE tasker_workflow_steps s SET state = 'error', queue = NULL, key = NULL, lease_until = 0, finished_at = now, result = NULL,
            ready_at = CASE s.state WHEN 'pending' THEN now ELSE s.ready_at END
        FROM open o WHERE s.id = o.id RETURNING o.state
    )
    SELECT count(*) FILTER (WHERE m.state = 'pending') AS pending, count(*) FILTER (WHERE m.state = 'waiting_for_retry') AS waiting,
        count(*) FILTER (WHERE m.state NOT IN ('pending', 'waiting_for_retry')) AS active, count(*) AS failed INTO n FROM moved m;
    UPDATE tasker_tasks SET state = 'error', state_at = now, finished_at = now, deadline_at = 0, steps_pending = steps_pending - n.pending,
        steps_waiting = steps_waiting - n.waiting, steps_active = steps_active - n.active, steps_failed = steps_failed + n.failed WHERE id = k.id;
    INSERT INTO tasker_task_events (task_id, at, from_state, to_state, cause) VALUES (k.id, now, k.state, 'error', 'stale: ' || seen);
    RETURN true;
END $$;
-- +goose StatementEnd

-- It finds our tables whatever the caller's search_path is.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION %I.transition_stale_task_to_error SET search_path = pg_catalog, %I, pg_temp', current_schema(), current_schema());
END $$;
-- +goose StatementEnd
