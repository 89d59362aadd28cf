-- +goose Up
-- What people ask the database itself, with psql. The engine asks the tables. Both
-- take the numbers that can be configured from tasker_settings, and a test holds
-- their answers together.

-- Numbers of the configuration, as the server that was started last has them.
-- Times are microseconds; a threshold of 0 is none.
CREATE TABLE tasker_settings (
    key   text   PRIMARY KEY,
    value bigint NOT NULL
);
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

-- +goose StatementBegin
CREATE FUNCTION tasker_setting(name text) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT value FROM tasker_settings WHERE key = name;
END;
-- +goose StatementEnd

-- The time that views and functions go by: the statement's, unless the session
-- asks what would be at another: SET tasker.now = '2030-01-01 12:00Z'.
CREATE FUNCTION tasker_now() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN (extract(epoch FROM coalesce(nullif(current_setting('tasker.now', true), '')::timestamptz, statement_timestamp())) * 1000000)::bigint;

-- An instant as a time; NULL for 0, which is never.
CREATE FUNCTION tasker_time(instant bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN instant <> 0 THEN to_timestamp(instant / 1000000.0::float8) END;

-- Microseconds as the minutes that people read: rounded to the second.
CREATE FUNCTION tasker_minutes(microseconds bigint) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round(round(microseconds / 1000000.0) / 60, 2);

-- The threshold of a state: the template's own, else that for all; 0 is none.
CREATE FUNCTION tasker_threshold(own bigint, global bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN own > 0 THEN own ELSE greatest(global, 0) END;

-- healthy, warning or stale.
CREATE FUNCTION tasker_health(in_state bigint, threshold bigint, warning_percent bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN threshold <= 0 OR in_state * 100 < threshold * warning_percent THEN 'healthy' WHEN in_state < threshold THEN 'warning' ELSE 'stale' END;

-- What templates say of the time that their tasks may spend, in microseconds; 0
-- where they say nothing. A template is taken apart once, and not for each task.
CREATE VIEW tasker_lifecycles AS
SELECT def_id, namespace, name, version,
    (body #>> '{lifecycle,MaxWaitingForDependencies}')::bigint / 1000 AS waiting_for_dependencies,
    (body #>> '{lifecycle,MaxWaitingForRetry}')::bigint / 1000 AS waiting_for_retry,
    (body #>> '{lifecycle,MaxStepsInProcess}')::bigint / 1000 AS steps_in_process,
    (body #>> '{lifecycle,MaxDuration}')::bigint / 1000 AS duration
FROM tasker_templates OFFSET 0;

-- Every task that is not settled, with what its template and what the
-- configuration allow it in its state, in microseconds. What counts of its time in
-- the state begins with since: not before its run_at.
CREATE VIEW tasker_live_tasks AS
SELECT t.id, t.state, t.priority, t.correlation_id, t.created_at, t.state_at, greatest(t.state_at, least(t.run_at, tasker_now())) AS since, d.namespace, d.name, d.version,
    d.waiting_for_dependencies, d.waiting_for_retry, d.steps_in_process, d.duration,
    CASE t.state WHEN 'waiting_for_dependencies' THEN d.waiting_for_dependencies
        WHEN 'waiting_for_retry' THEN d.waiting_for_retry
        WHEN 'steps_in_process' THEN d.steps_in_process END AS own,
    CASE t.state WHEN 'waiting_for_dependencies' THEN (SELECT tasker_setting('staleness.waiting_for_dependencies'))
        WHEN 'waiting_for_retry' THEN (SELECT tasker_setting('staleness.waiting_for_retry'))
        WHEN 'steps_in_process' THEN (SELECT tasker_setting('staleness.steps_in_process')) END AS global
FROM tasker_tasks t JOIN tasker_lifecycles d ON d.def_id = t.def_id
WHERE t.state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually');

-- Every task that is not settled, for people.
CREATE VIEW v_task_state_analysis AS
SELECT k.id AS task_uuid, k.namespace AS namespace_name, k.name AS task_name, k.version AS task_version, k.correlation_id, k.priority,
    k.state AS current_state, tasker_time(k.created_at) AS task_created_at, tasker_time(k.state_at) AS state_entered_at,
    tasker_minutes(k.now - k.created_at) AS task_age_minutes, tasker_minutes(k.now - k.since) AS time_in_state_minutes,
    CASE WHEN k.threshold > 0 THEN tasker_minutes(k.threshold) END AS threshold_minutes,
    tasker_health(k.now - k.since, k.threshold, (SELECT tasker_setting('staleness.warning_percent'))) AS health_status,
    jsonb_strip_nulls(jsonb_build_object('max_waiting_for_dependencies_minutes', nullif(k.waiting_for_dependencies, 0) / 60000000,
        'max_waiting_for_retry_minutes', nullif(k.waiting_for_retry, 0) / 60000000,
        'max_steps_in_process_minutes', nullif(k.steps_in_process, 0) / 60000000,
        'max_duration_minutes', nullif(k.duration, 0) / 60000000)) AS template_config
FROM (SELECT l.*, tasker_threshold(l.own, l.global) AS threshold, tasker_now() AS now FROM tasker_live_tasks l) k;

-- Tasks in a state that has a threshold: stale ones first, then those that soon
-- will be, then the others; those that have been there for longest go first.
CREATE VIEW v_task_staleness_monitoring AS
SELECT task_uuid, namespace_name, task_name, current_state, time_in_state_minutes, threshold_minutes AS staleness_threshold_minutes,
    health_status, priority
FROM v_task_state_analysis
WHERE threshold_minutes IS NOT NULL
ORDER BY array_position(ARRAY['stale', 'warning', 'healthy'], health_status), state_entered_at, task_uuid;

-- Cases by reason, the most urgent reason first. The average is that of the
-- resolved ones.
CREATE VIEW v_dlq_dashboard AS
SELECT c.dlq_reason, count(*) AS total_entries,
    count(*) FILTER (WHERE c.resolution_status = 'pending') AS pending,
    count(*) FILTER (WHERE c.resolution_status = 'manually_resolved') AS manually_resolved,
    count(*) FILTER (WHERE c.resolution_status = 'permanently_failed') AS permanent_failures,
    count(*) FILTER (WHERE c.resolution_status = 'cancelled') AS cancelled,
    tasker_time(min(c.dlq_timestamp)) AS oldest_entry, tasker_time(max(c.dlq_timestamp)) AS newest_entry,
    tasker_minutes((avg(c.resolved_at - c.dlq_timestamp) FILTER (WHERE c.resolved_at <> 0))::bigint) AS avg_resolution_time_minutes
FROM tasker_tasks_dlq c
GROUP BY c.dlq_reason
ORDER BY tasker_setting('priority_base.' || c.dlq_reason) DESC NULLS LAST, c.dlq_reason;

-- Pending cases, the most urgent first. The task of one that has recovered goes
-- on, or is over: what is left is to resolve the case.
CREATE VIEW v_dlq_investigation_queue AS
SELECT c.dlq_entry_uuid, c.task_uuid, d.namespace AS namespace_name, d.name AS task_name, c.original_state, t.state AS current_state,
    c.dlq_reason, tasker_time(c.dlq_timestamp) AS dlq_timestamp, tasker_minutes(n.now - c.dlq_timestamp) AS minutes_in_dlq,
    coalesce(b.value, 0) + tasker_minutes(n.now - c.dlq_timestamp) AS priority_score,
    t.priority, t.correlation_id, t.state <> 'error' AND coalesce(json_typeof(c.metadata -> 'recovered') = 'object', false) AS recovered
FROM (SELECT tasker_now() AS now) n, tasker_tasks_dlq c
JOIN tasker_templates d ON d.def_id = c.def_id
JOIN tasker_tasks t ON t.id = c.task_uuid
LEFT JOIN tasker_settings b ON b.key = 'priority_base.' || c.dlq_reason
WHERE c.resolution_status = 'pending'
ORDER BY coalesce(b.value, 0) * 60000000 - c.dlq_timestamp DESC, c.dlq_entry_uuid;

-- The last ID that a step of a task of so many steps can have. IDs are made of a
-- sequence of 60 bits and of chance; those of a task's steps follow its own.
-- +goose StatementBegin
CREATE FUNCTION tasker_last_step(task uuid, steps int) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT (lpad(to_hex(q.seq >> 12), 12, '0') || '7' || lpad(to_hex(q.seq & 4095), 3, '0') || 'bfffffffffffffff')::uuid
    FROM (SELECT ((('x' || substr(h.hex, 1, 12))::bit(48)::bigint << 12) | ('x' || substr(h.hex, 14, 3))::bit(12)::bigint) + steps AS seq
        FROM (SELECT replace(task::text, '-', '') AS hex) h) q;
END;
-- +goose StatementEnd

-- A new ID for something that begins at an instant.
-- +goose StatementBegin
CREATE FUNCTION tasker_new_id(instant bigint) RETURNS uuid LANGUAGE sql VOLATILE
BEGIN ATOMIC
    SELECT (lpad(to_hex(instant / 1000), 12, '0') || '7' || lpad(to_hex(instant % 1000 * 4096 / 1000), 3, '0')
        || right(replace(gen_random_uuid()::text, '-', ''), 16))::uuid;
END;
-- +goose StatementEnd

-- The IDs of the steps of a task.
-- +goose StatementBegin
CREATE FUNCTION tasker_steps_of(task uuid) RETURNS SETOF uuid LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.id FROM tasker_tasks t JOIN tasker_workflow_steps s ON s.id > t.id AND s.id <= tasker_last_step(t.id,
        t.steps_pending + t.steps_active + t.steps_waiting + t.steps_done + t.steps_failed + t.steps_cancelled) AND s.task_id = t.id
    WHERE t.id = task;
END;
-- +goose StatementEnd

-- The readiness of the steps of a task, or of some of them. Parents are counted
-- among all steps, whichever are asked for.
-- +goose StatementBegin
CREATE FUNCTION get_step_readiness_status(input_task_uuid uuid, step_uuids uuid[] DEFAULT NULL)
RETURNS TABLE (workflow_step_uuid uuid, task_uuid uuid, name text, current_state text, dependencies_satisfied boolean, retry_eligible boolean,
    ready_for_execution boolean, last_failure_at timestamptz, next_retry_at timestamptz, total_parents int, completed_parents int,
    attempts int, max_attempts int, backoff_request_seconds numeric, last_attempted_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.id, s.task_id, p.spec ->> 'name', s.state, s.open_parents = 0, s.state = 'waiting_for_retry', s.state = 'enqueued',
        tasker_time(f.finished_at), CASE WHEN s.queue = -1 THEN tasker_time(s.key) END, n.parents, n.parents - s.open_parents,
        s.attempts, s.max_attempts, (f.failure #>> '{retry_after_ms}')::bigint / 1000.0, tasker_time(s.started_at)
    FROM tasker_steps_of(input_task_uuid) q (id) JOIN tasker_workflow_steps s ON s.id = q.id
    JOIN tasker_templates d ON d.def_id = s.def_id
    CROSS JOIN LATERAL (SELECT d.body #> ARRAY['steps', (s.ordinal - 1)::text] AS spec) p
    CROSS JOIN LATERAL (SELECT coalesce(json_array_length(p.spec -> 'dependencies'), 0) AS parents) n
    LEFT JOIN LATERAL (SELECT a.finished_at, a.failure FROM tasker_attempts a
        WHERE a.task_id = s.task_id AND a.step_id = s.id AND a.failure IS NOT NULL ORDER BY a.id DESC LIMIT 1) f ON true
    WHERE step_uuids IS NULL OR s.id = ANY (step_uuids)
    ORDER BY s.ordinal;
END;
-- +goose StatementEnd

-- Seconds as the engine writes them: 1h2m3s.
-- +goose StatementBegin
CREATE FUNCTION tasker_duration(microseconds bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN d.s >= 3600 THEN d.s / 3600 || 'h' ELSE '' END || CASE WHEN d.s >= 60 THEN d.s % 3600 / 60 || 'm' ELSE '' END || d.s % 60 || 's'
    FROM (SELECT round(microseconds / 1000000.0)::bigint AS s) d;
END;
-- +goose StatementEnd

-- Tasks that are stale, with what was seen in a sentence. Thresholds that are given,
-- in minutes, go before the configured ones, and not before those of templates; 0 is
-- none. With a lifetime, tasks that are older are stale too.
-- +goose StatementBegin
CREATE FUNCTION tasker_stale_tasks(waiting_deps int, waiting_retry int, steps_process int, lifetime_hours int)
RETURNS TABLE (id uuid, namespace text, name text, state text, in_state bigint, threshold bigint, age bigint, seen text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT w.id, w.namespace, w.name, w.state, w.in_state, w.bound, w.age, w.state || ' for ' || tasker_duration(w.in_state) || '; the threshold is ' || tasker_duration(w.bound)
    FROM (
        SELECT k.*, CASE WHEN k.threshold > 0 AND k.in_state >= k.threshold THEN k.threshold WHEN k.age >= k.lifetime THEN k.lifetime END AS bound
        FROM (
            SELECT l.*, tasker_now() - l.since AS in_state, tasker_now() - l.created_at AS age, lifetime_hours * 3600000000 AS lifetime,
                tasker_threshold(l.own, coalesce(60000000 * CASE l.state WHEN 'waiting_for_dependencies' THEN waiting_deps
                    WHEN 'waiting_for_retry' THEN waiting_retry WHEN 'steps_in_process' THEN steps_process END::bigint, l.global)) AS threshold
            FROM tasker_live_tasks l
        ) k
    ) w
    WHERE w.bound IS NOT NULL;
END;
-- +goose StatementEnd

-- Stale tasks for people, those that have been in their state for longest first;
-- the parameters are those of tasker_stale_tasks.
-- +goose StatementBegin
CREATE FUNCTION get_stale_tasks_for_dlq(p_default_waiting_deps int DEFAULT NULL, p_default_waiting_retry int DEFAULT NULL,
    p_default_steps_process int DEFAULT NULL, p_max_lifetime_hours int DEFAULT NULL, p_batch_size int DEFAULT NULL)
RETURNS TABLE (task_uuid uuid, namespace_name text, task_name text, current_state text, time_in_state_minutes numeric, threshold_minutes numeric,
    task_age_minutes numeric)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.id, s.namespace, s.name, s.state, tasker_minutes(s.in_state), tasker_minutes(s.threshold), tasker_minutes(s.age)
    FROM tasker_stale_tasks(p_default_waiting_deps, p_default_waiting_retry, p_default_steps_process, p_max_lifetime_hours) s
    ORDER BY s.in_state DESC, s.id
    LIMIT coalesce(p_batch_size, tasker_setting('staleness.batch_size'));
END;
-- +goose StatementEnd

-- What a snapshot of a task shows of a document, text, instant or failure: what is
-- long is cut.
-- +goose StatementBegin
CREATE FUNCTION tasker_cut(body text, bytes int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(body) <= bytes THEN body ELSE left(body, bytes * length(body) / octet_length(body) - 14) || '…[truncated]' END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION tasker_cut_json(document json, bytes int) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(document::text) <= bytes THEN document ELSE to_json(tasker_cut(document::text, bytes)) END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION tasker_shown_time(instant bigint) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_json(to_char(tasker_time(instant) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'));
-- +goose StatementEnd
-- An object without the members that are NULL; those inside of members stay.
-- +goose StatementBegin
CREATE FUNCTION tasker_object(names text[], members json[]) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(json_object_agg(m.name, m.member ORDER BY m.place), '{}')
    FROM unnest(names, members) WITH ORDINALITY m (name, member, place) WHERE m.member IS NOT NULL;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION tasker_shown_failure(failure json, bytes int) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT tasker_object(ARRAY['error_type', 'message', 'stack_trace', 'code', 'http_status', 'response_body', 'retryable', 'retry_after_seconds', 'details'],
        ARRAY[f.c -> 'error_type', to_json(tasker_cut(f.c ->> 'message', greatest(bytes, 255))), to_json(tasker_cut(nullif(f.c ->> 'stack_trace', ''), bytes)),
            f.c -> 'code', f.c -> 'http_status', to_json(tasker_cut(f.c ->> 'response_body', bytes)), f.c -> 'retryable',
            to_json((f.c ->> 'retry_after_ms')::bigint / 1000.0),
            tasker_cut_json(convert_from(decode(f.c ->> 'details', 'base64'), 'UTF8')::json, bytes)])
    FROM (SELECT replace(failure::text, '\u0000', '\ufffd')::json AS c) f; -- a text cannot hold a NUL
END;
-- +goose StatementEnd

-- A template as snapshots show it, in the words of the API; NULL for the stand-in
-- of a handler.
-- +goose StatementBegin
CREATE FUNCTION tasker_shown_template(def bigint) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT tasker_object(ARRAY['namespace_name', 'name', 'version', 'description', 'lifecycle', 'steps', 'input_schema'],
        ARRAY[to_json(d.namespace), to_json(d.name), to_json(d.version), d.body -> 'description',
            tasker_object(ARRAY['max_waiting_for_dependencies_minutes', 'max_waiting_for_retry_minutes', 'max_steps_in_process_minutes', 'max_duration_minutes'],
                ARRAY[to_json(nullif(l.waiting_for_dependencies, 0) / 60000000), to_json(nullif(l.waiting_for_retry, 0) / 60000000),
                    to_json(nullif(l.steps_in_process, 0) / 60000000), to_json(nullif(l.duration, 0) / 60000000)]),
            (SELECT json_agg(tasker_object(
                ARRAY['name', 'handler', 'initialization', 'dependencies', 'retry', 'timeout_seconds', 'required_capabilities'],
                ARRAY[p.spec -> 'name', p.spec -> 'handler', tasker_cut_json(p.spec -> 'initialization', 4096), p.spec -> 'dependencies',
                    json_build_object('retryable', p.spec #> '{retry,Retryable}', 'max_attempts', p.spec #> '{retry,MaxAttempts}',
                        'backoff', p.spec #> '{retry,Backoff}', 'backoff_base_ms', (p.spec #>> '{retry,Base}')::bigint / 1000000,
                        'max_backoff_ms', (p.spec #>> '{retry,Max}')::bigint / 1000000, 'jitter', p.spec #> '{retry,Jitter}'),
                    to_json(coalesce((p.spec ->> 'timeout')::bigint, 0) / 1000000000), p.spec -> 'capabilities']) ORDER BY p.place)
                FROM json_array_elements(d.body -> 'steps') WITH ORDINALITY p (spec, place)),
            tasker_cut_json(d.body -> 'input_schema', 16384)])
    FROM tasker_templates d JOIN tasker_lifecycles l ON l.def_id = d.def_id
    WHERE d.def_id = def AND d.adhoc = 0;
END;
-- +goose StatementEnd

-- The steps of a task as its snapshot shows them.
-- +goose StatementBegin
CREATE FUNCTION tasker_shown_steps(task uuid) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT json_agg(tasker_object(
        ARRAY['step_uuid', 'name', 'current_state', 'attempts', 'max_attempts', 'dependencies', 'worker', 'ready_at', 'started_at', 'next_retry_at',
            'last_failure_at', 'last_error'],
        ARRAY[to_json(q.id), q.spec -> 'name', to_json(q.state), to_json(q.attempts), to_json(q.max_attempts), q.spec -> 'dependencies', to_json(q.worker),
            tasker_shown_time(q.ready_at), tasker_shown_time(q.started_at), CASE WHEN q.queue = -1 THEN tasker_shown_time(q.key) END,
            tasker_shown_time(q.failed_at),
            CASE WHEN q.failure IS NOT NULL THEN tasker_shown_failure(q.failure, CASE WHEN q.before < 262144 THEN 4096 ELSE 0 END) END]) ORDER BY q.ordinal)
    FROM (
        SELECT s.*, d.body #> ARRAY['steps', (s.ordinal - 1)::text] AS spec, w.name AS worker, f.finished_at AS failed_at, f.failure,
            coalesce(sum(least(octet_length(f.failure::text), 16384)) OVER (ORDER BY s.ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
        FROM tasker_steps_of(task) i (id) JOIN tasker_workflow_steps s ON s.id = i.id
        JOIN tasker_templates d ON d.def_id = s.def_id
        LEFT JOIN tasker_workers w ON w.worker_no = s.worker_no
        LEFT JOIN LATERAL (SELECT a.finished_at, a.failure FROM tasker_attempts a
            WHERE a.task_id = s.task_id AND a.step_id = s.id AND a.failure IS NOT NULL ORDER BY a.id DESC LIMIT 1) f ON true
    ) q;
END;
-- +goose StatementEnd

-- A task as it is now, for a case: all that somebody needs at 3 a.m. without
-- another query. The engine writes the same.
-- +goose StatementBegin
CREATE FUNCTION tasker_snapshot(task uuid, reason text, minutes_in_state numeric, threshold numeric, detail text) RETURNS json LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT tasker_object(
        ARRAY['task_uuid', 'namespace', 'task_name', 'version', 'current_state', 'time_in_state_minutes', 'threshold_minutes', 'task_age_minutes', 'priority',
            'correlation_id', 'context', 'created_at', 'detection_time', 'dlq_reason', 'detail', 'template', 'steps'],
        ARRAY[to_json(t.id), to_json(d.namespace), to_json(d.name), to_json(d.version), to_json(t.state),
            to_json(coalesce(minutes_in_state, tasker_minutes(tasker_now() - t.state_at))), to_json(nullif(threshold, 0)),
            to_json(tasker_minutes(tasker_now() - t.created_at)), to_json(coalesce(p.name, t.priority::text)), to_json(nullif(t.correlation_id, '')),
            tasker_cut_json(t.context, 16384), tasker_shown_time(t.created_at), tasker_shown_time(tasker_now()), to_json(reason), to_json(nullif(detail, '')),
            tasker_shown_template(t.def_id), tasker_shown_steps(t.id)])
    FROM tasker_tasks t JOIN tasker_templates d ON d.def_id = t.def_id
    LEFT JOIN LATERAL (SELECT substr(key, 16) AS name FROM tasker_settings WHERE key LIKE 'priority_level.%' AND value = t.priority ORDER BY key LIMIT 1) p ON true
    WHERE t.id = task;
END;
-- +goose StatementEnd

-- Opens a case of a task, with a snapshot of it as it is now, and returns its ID.
-- NULL when the task has a pending case, when there is no such task, or when it is
-- not what the caller takes it for: the name and state given must be its own.
-- Minutes that are not given are those that the task has. One opened by hand
-- (manual_dlq) is an act of the session's user; say why in p_detail.
-- +goose StatementBegin
CREATE FUNCTION create_dlq_entry(p_task_uuid uuid, p_namespace_name text DEFAULT NULL, p_task_name text DEFAULT NULL, p_current_state text DEFAULT NULL,
    p_time_in_state_minutes numeric DEFAULT NULL, p_threshold_minutes numeric DEFAULT NULL, p_dlq_reason text DEFAULT 'staleness_timeout',
    p_detail text DEFAULT NULL) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    k      record;
    now    constant bigint := tasker_now();
    entry  constant uuid := tasker_new_id(now);
    manual constant boolean := p_dlq_reason = 'manual_dlq';
BEGIN
    SELECT t.id, t.def_id, t.state, t.meta INTO k FROM tasker_tasks t JOIN tasker_templates d ON d.def_id = t.def_id
    WHERE t.id = p_task_uuid AND t.state = coalesce(p_current_state, t.state) AND d.namespace = coalesce(p_namespace_name, d.namespace)
        AND d.name = coalesce(p_task_name, d.name) FOR UPDATE OF t;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    INSERT INTO tasker_tasks_dlq (dlq_entry_uuid, task_uuid, def_id, original_state, dlq_reason, dlq_timestamp, task_snapshot, metadata, created_at, updated_at)
    VALUES (entry, k.id, k.def_id, k.state, p_dlq_reason, now,
        tasker_snapshot(k.id, p_dlq_reason, p_time_in_state_minutes, p_threshold_minutes, p_detail),
        CASE WHEN manual THEN tasker_object(ARRAY['opened_because', 'opened_by'], ARRAY[to_json(p_detail), to_json(session_user::text)]) END, now, now)
    ON CONFLICT (task_uuid) WHERE resolution_status = 'pending' DO NOTHING;
    IF NOT FOUND THEN
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

-- Puts a task in error as the engine does: what runs is cut off, and so is what
-- waits to run or for a time. False when the task is not in the state given, or
-- not the one that the caller takes it for. p_detail is what was seen.
-- +goose StatementBegin
CREATE FUNCTION transition_stale_task_to_error(p_task_uuid uuid, p_current_state text, p_namespace_name text DEFAULT NULL, p_task_name text DEFAULT NULL,
    p_detail text DEFAULT NULL) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    k    record;
    n    record;
    now  constant bigint := tasker_now();
    seen text := p_detail;
BEGIN
    SELECT t.id, t.state, t.state_at INTO k FROM tasker_tasks t JOIN tasker_templates d ON d.def_id = t.def_id
    WHERE t.id = p_task_uuid AND t.state = p_current_state AND t.state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually')
        AND d.namespace = coalesce(p_namespace_name, d.namespace) AND d.name = coalesce(p_task_name, d.name) FOR UPDATE OF t;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    seen := coalesce(p_detail, k.state || ' for ' || tasker_duration(now - k.state_at));
    WITH open AS (
        SELECT s.* FROM tasker_workflow_steps s WHERE s.id IN (SELECT tasker_steps_of(k.id))
            AND (s.state IN ('enqueued', 'assigned', 'in_progress', 'waiting_for_retry') OR s.queue = -1) ORDER BY s.id FOR UPDATE
    ), ended AS ( -- the record of a step that nobody had is about its wait alone
        INSERT INTO tasker_attempts (task_id, step_id, token, number, worker_no, outcome, ready_at, assigned_at, started_at, finished_at, after_state, failure)
        SELECT o.task_id, o.id, o.token * h.held, o.attempts * h.held, o.worker_no * h.held, 'timed_out',
            CASE o.state WHEN 'pending' THEN now WHEN 'waiting_for_retry' THEN 0 ELSE o.ready_at END, o.assigned_at * h.held, o.started_at * h.held, now, 'error',
            json_build_object('error_type', 'staleness_timeout', 'message', 'the task was stale: ' || seen, 'code', 'TASK_STALE', 'retryable', false)
        FROM open o CROSS JOIN LATERAL (SELECT (o.state IN ('assigned', 'in_progress'))::int AS held) h ORDER BY o.id
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

-- The first cycle in the dependencies of a template, with its path; NULL when there
-- is none. It walks as the engine does, depth first along the parents.
-- +goose StatementBegin
CREATE FUNCTION tasker_cycle(def bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    names   text[];
    parents jsonb; -- of each step, their places
    mark    int[]; -- 1 on the path, 2 done
    path    int[];
    tried   int[]; -- parents of each step on the path
    top     int;
    p       int;
BEGIN
    SELECT array_agg(q.spec ->> 'name' ORDER BY q.place), array_fill(0, ARRAY[count(*)::int]) INTO names, mark
    FROM tasker_templates d, json_array_elements(d.body -> 'steps') WITH ORDINALITY q (spec, place) WHERE d.def_id = def;
    SELECT jsonb_agg(coalesce((SELECT jsonb_agg(array_position(names, e.name) ORDER BY e.place)
        FROM json_array_elements_text(q.spec -> 'dependencies') WITH ORDINALITY e (name, place)), '[]') ORDER BY q.place) INTO parents
    FROM tasker_templates d, json_array_elements(d.body -> 'steps') WITH ORDINALITY q (spec, place) WHERE d.def_id = def;
    FOR root IN 1 .. coalesce(cardinality(names), 0) LOOP
        CONTINUE WHEN mark[root] <> 0;
        mark[root] := 1; path := ARRAY[root]; tried := ARRAY[0];
        WHILE cardinality(path) > 0 LOOP
            top := cardinality(path);
            p := (parents -> (path[top] - 1) ->> tried[top])::int;
            tried[top] := tried[top] + 1;
            IF p IS NULL THEN
                mark[path[top]] := 2; path := trim_array(path, 1); tried := trim_array(tried, 1);
            ELSIF mark[p] = 1 THEN
                RETURN 'the dependencies form a cycle: ' || (SELECT string_agg(names[w.step], ' -> ' ORDER BY w.place)
                    FROM unnest(path[array_position(path, p):] || p) WITH ORDINALITY w (step, place));
            ELSIF mark[p] = 0 THEN
                mark[p] := 1; path := path || p; tried := tried || 0;
            END IF;
        END LOOP;
    END LOOP;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- Opens a case of each stale task and puts it in error, up to a batch of them,
-- those that have been stale for longest first; the other parameters are those of
-- tasker_stale_tasks. It only tells what it would do unless p_dry_run is false. Where
-- something fails the task is told as moved_to_dlq_only or transition_failed, with
-- the reason as a warning, and the others go on. Tasks that somebody else is
-- changing are left to the next call.
-- +goose StatementBegin
CREATE FUNCTION detect_and_transition_stale_tasks(p_dry_run boolean DEFAULT true, p_batch_size int DEFAULT NULL,
    p_default_waiting_deps_threshold int DEFAULT NULL, p_default_waiting_retry_threshold int DEFAULT NULL,
    p_default_steps_in_process_threshold int DEFAULT NULL, p_default_task_max_lifetime_hours int DEFAULT NULL)
RETURNS TABLE (task_uuid uuid, namespace_name text, task_name text, current_state text, time_in_state_minutes numeric, staleness_threshold_minutes numeric,
    action_taken text, moved_to_dlq boolean, transition_success boolean) LANGUAGE plpgsql AS $$
DECLARE
    batch constant bigint := coalesce(p_batch_size, tasker_setting('staleness.batch_size'));
    cases constant boolean := tasker_setting('cases.enabled') <> 0;
    ids   uuid[];
    stale record;
    cycle text;
    try   int;
BEGIN
    SELECT array_agg(s.id) INTO ids FROM (SELECT w.id FROM tasker_stale_tasks(p_default_waiting_deps_threshold, p_default_waiting_retry_threshold,
        p_default_steps_in_process_threshold, p_default_task_max_lifetime_hours) w ORDER BY w.in_state DESC, w.id LIMIT batch) s;
    IF NOT p_dry_run THEN -- all tasks before all steps, each in order, as the engine does: no two lock them crosswise
        SELECT array_agg(l.id) INTO ids FROM (SELECT t.id FROM tasker_tasks t WHERE t.id = ANY (ids) ORDER BY t.id FOR UPDATE SKIP LOCKED) l;
        PERFORM 1 FROM tasker_workflow_steps s WHERE s.id IN (SELECT tasker_steps_of(u.id) FROM unnest(ids) u (id)) ORDER BY s.id FOR UPDATE;
    END IF;
    FOR stale IN -- asked again, now that nobody changes them
        SELECT w.*, t.def_id, t.steps_active + t.steps_waiting = 0 AS idle FROM tasker_stale_tasks(p_default_waiting_deps_threshold,
            p_default_waiting_retry_threshold, p_default_steps_in_process_threshold, p_default_task_max_lifetime_hours) w
        JOIN tasker_tasks t ON t.id = w.id WHERE w.id = ANY (ids) ORDER BY w.in_state DESC, w.id
    LOOP
        task_uuid := stale.id; namespace_name := stale.namespace; task_name := stale.name; current_state := stale.state;
        time_in_state_minutes := tasker_minutes(stale.in_state); staleness_threshold_minutes := tasker_minutes(stale.threshold);
        cycle := CASE WHEN stale.idle THEN tasker_cycle(stale.def_id) END;
        try := CASE WHEN p_dry_run THEN 3 ELSE 1 END;
        action_taken := 'would_transition_to_dlq_and_error'; moved_to_dlq := false; transition_success := false;
        WHILE try <= 2 LOOP -- with the transition, and if that fails without
            BEGIN
                action_taken := 'transition_failed'; moved_to_dlq := false; transition_success := false;
                IF cases THEN
                    moved_to_dlq := create_dlq_entry(stale.id, NULL, NULL, stale.state, time_in_state_minutes, staleness_threshold_minutes,
                        CASE WHEN cycle IS NULL THEN 'staleness_timeout' ELSE 'dependency_cycle_detected' END, coalesce(cycle, stale.seen)) IS NOT NULL;
                END IF;
                IF try = 1 THEN
                    transition_success := transition_stale_task_to_error(stale.id, stale.state, NULL, NULL, stale.seen);
                END IF;
                action_taken := CASE WHEN moved_to_dlq AND transition_success THEN 'transitioned_to_dlq_and_error' WHEN moved_to_dlq THEN 'moved_to_dlq_only'
                    WHEN transition_success THEN 'transitioned_to_error_only' ELSE 'transition_failed' END;
                EXIT;
            EXCEPTION WHEN OTHERS THEN
                RAISE WARNING 'the stale task % cannot be %: %', stale.id, CASE try WHEN 1 THEN 'put in error' ELSE 'given a case' END, SQLERRM;
                moved_to_dlq := false; transition_success := false; action_taken := 'transition_failed'; try := try + 1;
            END;
        END LOOP;
        RETURN NEXT;
    END LOOP;
END $$;
-- +goose StatementEnd

-- Functions of many statements find our tables whatever the caller's search_path is.
-- The others are bound to them already.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['create_dlq_entry', 'transition_stale_task_to_error', 'tasker_cycle', 'detect_and_transition_stale_tasks'] LOOP
        EXECUTE format('ALTER FUNCTION %I.%I SET search_path = pg_catalog, %I, pg_temp', current_schema(), name, current_schema());
    END LOOP;
END $$;
-- +goose StatementEnd
