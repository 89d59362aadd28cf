-- +goose Up
-- A task that compensates is never stale, for SQL as for the engine: no threshold concerns it, and no lifetime. What
-- waits for something outside of workers has that promise. A case of a task that is not there is refused.

CREATE OR REPLACE VIEW tasker_promises AS
SELECT s.id, s.task_id, s.ordinal, CASE WHEN s.queue = -1 THEN 'time' WHEN s.queue = -2 THEN 'attempt'
        WHEN s.queue = -3 THEN 'outside' WHEN s.queue < -2 THEN 'release' ELSE 'queue' END AS promise,
    CASE WHEN s.queue = -1 THEN s.key
        WHEN s.queue = -2 THEN CASE WHEN s.lease_until > tasker_now() AND s.state = 'in_progress' AND s.timeout_ms > 0
            THEN s.started_at + s.timeout_ms * 1000 ELSE s.lease_until END
        WHEN s.queue < -2 THEN 9223372036854775807
        ELSE CASE WHEN tasker_setting('staleness.turn') > 0 THEN s.ready_at + tasker_setting('staleness.turn') ELSE 9223372036854775807 END END AS until
FROM tasker_workflow_steps s
WHERE s.queue IS NOT NULL;

-- compensated: some of its steps run only after a failure.
CREATE OR REPLACE VIEW tasker_lifecycles AS
SELECT def_id, namespace, name, version,
    (body #>> '{lifecycle,MaxWaitingForDependencies}')::bigint / 1000 AS waiting_for_dependencies,
    (body #>> '{lifecycle,MaxWaitingForRetry}')::bigint / 1000 AS waiting_for_retry,
    (body #>> '{lifecycle,MaxStepsInProcess}')::bigint / 1000 AS steps_in_process,
    (body #>> '{lifecycle,MaxDuration}')::bigint / 1000 AS duration,
    EXISTS (SELECT 1 FROM json_array_elements(body -> 'steps') s (spec) WHERE (s.spec ->> 'on_failure')::boolean) AS compensated
FROM tasker_templates OFFSET 0;

-- Every task that is not settled, with what its template and what the configuration allow it in its state, in
-- microseconds: nothing bounds one that compensates. What counts of its time in the state begins with since: not before
-- its run_at.
CREATE OR REPLACE VIEW tasker_live_tasks AS
SELECT t.id, t.state, t.priority, t.correlation_id, t.created_at, t.state_at, greatest(t.state_at, least(t.run_at, tasker_now())) AS since, d.namespace, d.name, d.version,
    d.waiting_for_dependencies, d.waiting_for_retry, d.steps_in_process, d.duration,
    CASE WHEN NOT c.compensating THEN CASE t.state WHEN 'waiting_for_dependencies' THEN d.waiting_for_dependencies
        WHEN 'waiting_for_retry' THEN d.waiting_for_retry
        WHEN 'steps_in_process' THEN d.steps_in_process END END AS own,
    CASE WHEN NOT c.compensating THEN CASE t.state WHEN 'waiting_for_dependencies' THEN (SELECT tasker_setting('staleness.waiting_for_dependencies'))
        WHEN 'waiting_for_retry' THEN (SELECT tasker_setting('staleness.waiting_for_retry'))
        WHEN 'steps_in_process' THEN (SELECT tasker_setting('staleness.steps_in_process')) END END AS global,
    t.deadline_at, t.steps_pending + t.steps_active + t.steps_waiting + t.steps_done + t.steps_failed + t.steps_cancelled AS steps, c.compensating
FROM tasker_tasks t JOIN tasker_lifecycles d ON d.def_id = t.def_id
CROSS JOIN LATERAL (SELECT d.compensated AND EXISTS (SELECT 1 FROM tasker_workflow_steps s WHERE s.id > t.id
    AND s.id <= tasker_last_step(t.id, t.steps_pending + t.steps_active + t.steps_waiting + t.steps_done + t.steps_failed + t.steps_cancelled)
    AND s.task_id = t.id AND s.queue IS NOT NULL AND (SELECT (b.body #>> ARRAY['steps', (s.ordinal - 1)::text, 'on_failure'])::boolean
        FROM tasker_templates b WHERE b.def_id = s.def_id)) AS compensating OFFSET 0) c
WHERE t.state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually');

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tasker_limits(waiting_deps bigint, waiting_retry bigint, steps_process bigint)
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
    CROSS JOIN LATERAL (SELECT CASE WHEN NOT l.compensating THEN coalesce(CASE l.state WHEN 'waiting_for_dependencies' THEN waiting_deps
        WHEN 'waiting_for_retry' THEN waiting_retry WHEN 'steps_in_process' THEN steps_process END, l.global) END AS global) g
    LEFT JOIN LATERAL (SELECT q.promise, q.ordinal, q.until FROM tasker_promises q
        WHERE q.id > l.id AND q.id <= tasker_last_step(l.id, l.steps) AND q.task_id = l.id AND q.until > l.since
        ORDER BY q.until DESC, q.ordinal LIMIT 1) p ON NOT coalesce(l.own > 0, false) AND g.global > 0;
END;
-- +goose StatementEnd

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
                CASE WHEN NOT l.compensating THEN lifetime_hours * 3600000000 END AS lifetime, -- of a state without a threshold too
                (SELECT max(q.until) FROM tasker_promises q WHERE q.id > l.id AND q.id <= tasker_last_step(l.id, l.steps) AND q.task_id = l.id
                    AND lifetime_hours IS NOT NULL) AS promised_until
            FROM tasker_live_tasks l
            JOIN tasker_limits(waiting_deps * 60000000::bigint, waiting_retry * 60000000::bigint, steps_process * 60000000::bigint) m ON m.id = l.id
        ) k
    ) w
    WHERE w.met IS NOT NULL;
END;
-- +goose StatementEnd

-- Opens a case of a task, with a snapshot of it as it is now, and returns its ID. NULL when the task has a pending case,
-- which then shows this as its latest occurrence, unless it is opened by hand or was seen before. An error when there is
-- no such task, or when it is not what the caller takes it for: the name and state given must be its own. Minutes that
-- are not given are those that the task has. One opened by hand (manual_dlq) is an act of the session's user; say why in
-- p_detail.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION create_dlq_entry(p_task_uuid uuid, p_namespace_name text DEFAULT NULL, p_task_name text DEFAULT NULL, p_current_state text DEFAULT NULL,
    p_time_in_state_minutes numeric DEFAULT NULL, p_threshold_minutes numeric DEFAULT NULL, p_dlq_reason text DEFAULT 'staleness_timeout',
    p_detail text DEFAULT NULL) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    k      record;
    g      record;
    now    constant bigint := tasker_now();
    entry  constant uuid := tasker_new_id(now);
    manual constant boolean := p_dlq_reason = 'manual_dlq';
    why    constant text := CASE p_dlq_reason WHEN 'staleness_timeout' THEN 'stale' WHEN 'dependency_cycle_detected' THEN 'cycle'
        WHEN 'worker_unavailable' THEN 'no_worker' WHEN 'manual_dlq' THEN 'manual' END;
    shot   json;
BEGIN
    SELECT t.id, t.def_id, t.state, t.state_at, t.meta, d.namespace, d.name INTO k FROM tasker_tasks t
    JOIN tasker_templates d ON d.def_id = t.def_id WHERE t.id = p_task_uuid FOR UPDATE OF t;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no task %', coalesce(p_task_uuid::text, 'NULL') USING ERRCODE = 'no_data_found';
    ELSIF k.namespace <> coalesce(p_namespace_name, k.namespace) OR k.name <> coalesce(p_task_name, k.name) THEN
        RAISE EXCEPTION 'the task % is one of %/%, not of %/%', k.id, k.namespace, k.name, coalesce(p_namespace_name, k.namespace),
            coalesce(p_task_name, k.name) USING ERRCODE = 'object_not_in_prerequisite_state';
    ELSIF k.state <> coalesce(p_current_state, k.state) THEN
        RAISE EXCEPTION 'the task % is in the state %, not %', k.id, k.state, p_current_state
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    SELECT * INTO g FROM tasker_diagnosis(k.id, p_dlq_reason);
    shot := tasker_bounded(tasker_snapshot(k.id, p_dlq_reason, p_time_in_state_minutes, p_threshold_minutes, p_detail));
    INSERT INTO tasker_tasks_dlq (dlq_entry_uuid, task_uuid, def_id, original_state, dlq_reason, dlq_timestamp, task_snapshot, metadata, created_at, updated_at,
        error_pattern, retryable, cause, occurred_at, failed_step, error_class, error_message, snapshot_bytes)
    VALUES (entry, k.id, k.def_id, k.state, p_dlq_reason, now, shot,
        CASE WHEN manual THEN tasker_object(ARRAY['opened_because', 'opened_by'], ARRAY[to_json(p_detail), to_json(session_user::text)]) END, now, now,
        g.error_pattern, g.retryable, why, now, g.failed_step, g.error_class, g.error_message, octet_length(shot::text))
    ON CONFLICT (task_uuid) WHERE resolution_status = 'pending' DO NOTHING;
    IF NOT FOUND THEN
        IF NOT manual THEN
            PERFORM tasker_recur(c.dlq_entry_uuid, k.state, p_dlq_reason, why, now, shot, g.error_pattern, g.retryable, g.failed_step, g.error_class, g.error_message)
            FROM tasker_tasks_dlq c WHERE c.task_uuid = k.id AND c.resolution_status = 'pending'
                AND NOT (c.cause IS NOT DISTINCT FROM why AND c.recovery IS NULL AND k.state_at <= c.occurred_at);
        END IF;
        RETURN NULL;
    END IF;
    UPDATE tasker_tasks SET meta = (coalesce(meta, '{}')::jsonb || '{"case": "pending"}')::json WHERE id = k.id;
    IF manual THEN
        INSERT INTO tasker_acts (task_id, case_id, at, kind, actor, reason, from_state, to_state)
        VALUES (k.id, entry, now, 'open_case', session_user, coalesce(p_detail, ''), '', 'pending');
    END IF;
    RETURN entry;
END $$;
-- +goose StatementEnd
-- The function finds our tables whatever the search_path of the session is.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION %I.create_dlq_entry SET search_path = pg_catalog, %I, pg_temp', current_schema(),
        current_schema());
END $$;
-- +goose StatementEnd
