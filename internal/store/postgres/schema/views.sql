-- What people ask the database itself, with psql. The engine asks the tables. Both take the numbers that can be
-- configured from tasker_settings, and a test holds their answers together.

CREATE FUNCTION tasker_setting(name text) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT value FROM tasker_settings WHERE key = name;
END;

-- The time that views and functions go by: the statement's, unless the session asks what would be at another: SET
-- tasker.now = '2030-01-01 12:00Z'.
CREATE FUNCTION tasker_now() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN (extract(epoch FROM coalesce(nullif(current_setting('tasker.now', true), '')::timestamptz,
    statement_timestamp())) * 1000000)::bigint;

-- An instant as a time; NULL for 0, which is never.
CREATE FUNCTION tasker_time(instant bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN instant <> 0 THEN to_timestamp(instant / 1000000.0::float8) END;

-- Microseconds as the minutes that people read: rounded to the second.
CREATE FUNCTION tasker_minutes(microseconds bigint) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round(round(microseconds / 1000000.0) / 60, 2);

-- healthy, warning or stale.
CREATE FUNCTION tasker_health(in_state bigint, threshold bigint, warning_percent bigint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN threshold <= 0 OR in_state * 100 < threshold * warning_percent THEN 'healthy'
    WHEN in_state < threshold THEN 'warning' ELSE 'stale' END;

-- The last ID that a step of a task of so many steps can have. IDs are made of a sequence of 60 bits and of chance;
-- those of a task's steps follow its own.
CREATE FUNCTION tasker_last_step(task uuid, steps int) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT (lpad(to_hex(q.seq >> 12), 12, '0') || '7' || lpad(to_hex(q.seq & 4095), 3, '0') || 'bfffffffffffffff')::uuid
    FROM (SELECT ((('x' || substr(h.hex, 1, 12))::bit(48)::bigint << 12)
            | ('x' || substr(h.hex, 14, 3))::bit(12)::bigint) + steps AS seq
        FROM (SELECT replace(task::text, '-', '') AS hex) h) q;
END;

-- What templates say of the time that their tasks may spend, in microseconds; 0 where they say nothing. A template is
-- taken apart once, and not for each task. compensated: some of its steps run only after a failure.
CREATE VIEW tasker_lifecycles AS
SELECT def_id, namespace, name, version,
    (body #>> '{lifecycle,MaxWaitingForDependencies}')::bigint / 1000 AS waiting_for_dependencies,
    (body #>> '{lifecycle,MaxWaitingForRetry}')::bigint / 1000 AS waiting_for_retry,
    (body #>> '{lifecycle,MaxStepsInProcess}')::bigint / 1000 AS steps_in_process,
    (body #>> '{lifecycle,MaxDuration}')::bigint / 1000 AS duration,
    EXISTS (SELECT 1 FROM json_array_elements(body -> 'steps') s (spec) WHERE (s.spec ->> 'on_failure')::boolean)
        AS compensated
FROM tasker_templates OFFSET 0;

-- Every task that is not settled, with what its template and what the configuration allow it in its state, in
-- microseconds: nothing bounds one that compensates. What counts of its time in the state begins with since: not before
-- its run_at.
CREATE VIEW tasker_live_tasks AS
SELECT t.id, t.state, t.priority, t.correlation_id, t.created_at, t.state_at,
    greatest(t.state_at, least(t.run_at, tasker_now())) AS since, d.namespace, d.name, d.version,
    d.waiting_for_dependencies, d.waiting_for_retry, d.steps_in_process, d.duration,
    CASE WHEN NOT c.compensating THEN CASE t.state WHEN 'waiting_for_dependencies' THEN d.waiting_for_dependencies
        WHEN 'waiting_for_retry' THEN d.waiting_for_retry
        WHEN 'steps_in_process' THEN d.steps_in_process END END AS own,
    CASE WHEN NOT c.compensating THEN CASE t.state WHEN 'waiting_for_dependencies'
        THEN (SELECT tasker_setting('staleness.waiting_for_dependencies'))
        WHEN 'waiting_for_retry' THEN (SELECT tasker_setting('staleness.waiting_for_retry'))
        WHEN 'steps_in_process' THEN (SELECT tasker_setting('staleness.steps_in_process')) END END AS global,
    t.deadline_at, t.steps_pending + t.steps_active + t.steps_waiting + t.steps_done + t.steps_failed
        + t.steps_cancelled AS steps, c.compensating
FROM tasker_tasks t JOIN tasker_lifecycles d ON d.def_id = t.def_id
CROSS JOIN LATERAL (SELECT d.compensated AND EXISTS (SELECT 1 FROM tasker_workflow_steps s WHERE s.id > t.id
    AND s.id <= tasker_last_step(t.id, t.steps_pending + t.steps_active + t.steps_waiting + t.steps_done
        + t.steps_failed + t.steps_cancelled)
    AND s.task_id = t.id AND s.queue IS NOT NULL
        AND (SELECT (b.body #>> ARRAY['steps', (s.ordinal - 1)::text, 'on_failure'])::boolean
        FROM tasker_templates b WHERE b.def_id = s.def_id)) AS compensating OFFSET 0) c
WHERE t.state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually');

-- What is promised to a step that stands in a queue, and until when: that it waits for a time or for something outside
-- of workers, that a live worker has it, that a limit or a pause releases it, or that it waits for a worker. The last
-- has no end where the order of the queue has no bound.
CREATE VIEW tasker_promises AS
SELECT s.id, s.task_id, s.ordinal, CASE WHEN s.queue = -1 THEN 'time' WHEN s.queue = -2 THEN 'attempt'
        WHEN s.queue = -3 THEN 'outside' WHEN s.queue < -2 THEN 'release' ELSE 'queue' END AS promise,
    CASE WHEN s.queue = -1 THEN s.key
        WHEN s.queue = -2 THEN CASE WHEN s.lease_until > tasker_now() AND s.state = 'in_progress' AND s.timeout_ms > 0
            THEN s.started_at + s.timeout_ms * 1000 ELSE s.lease_until END
        WHEN s.queue < -2 THEN 9223372036854775807
        ELSE CASE WHEN tasker_setting('staleness.turn') > 0 THEN s.ready_at + tasker_setting('staleness.turn')
            ELSE 9223372036854775807 END END AS until
FROM tasker_workflow_steps s
WHERE s.queue IS NOT NULL;

-- How long each live task may be where it is, in microseconds, where own says what its template allows and global what
-- is allowed to all: a threshold for all begins at the end of the last promise to a step. A bound that is NULL is none.
CREATE FUNCTION tasker_limits(waiting_deps bigint, waiting_retry bigint, steps_process bigint)
RETURNS TABLE (id uuid, in_state bigint, bound bigint, source text, global bigint, promise text, promised_step int,
    promised_until bigint, used bigint, duration bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT l.id, tasker_now() - l.since,
        CASE WHEN l.own > 0 THEN l.own WHEN g.global <= 0 THEN NULL WHEN p.until = 9223372036854775807 THEN NULL
            ELSE g.global + coalesce(p.until - l.since, 0) END,
        CASE WHEN l.own > 0 THEN 'template' WHEN g.global <= 0 THEN NULL WHEN p.until IS NOT NULL THEN 'promise'
            WHEN g.global > 0 THEN 'global' END,
        g.global, p.promise, p.ordinal, p.until,
        CASE WHEN l.duration > 0 AND l.deadline_at <> 0 THEN greatest(l.duration - (l.deadline_at - tasker_now()), 0)
            END,
        CASE WHEN l.duration > 0 AND l.deadline_at <> 0 THEN l.duration END
    FROM tasker_live_tasks l
    CROSS JOIN LATERAL (SELECT CASE WHEN NOT l.compensating THEN coalesce(CASE l.state
        WHEN 'waiting_for_dependencies' THEN waiting_deps WHEN 'waiting_for_retry' THEN waiting_retry
        WHEN 'steps_in_process' THEN steps_process END, l.global) END AS global) g
    LEFT JOIN LATERAL (SELECT q.promise, q.ordinal, q.until FROM tasker_promises q
        WHERE q.id > l.id AND q.id <= tasker_last_step(l.id, l.steps) AND q.task_id = l.id AND q.until > l.since
        ORDER BY q.until DESC, q.ordinal LIMIT 1) p ON NOT coalesce(l.own > 0, false) AND g.global > 0;
END;

-- Every task that is not settled, for people. The threshold is the one that health goes by: that of the state, or of
-- the task as a whole (max_duration), whichever is worse, and then whichever ends first; counted_minutes is what is
-- gone of it.
CREATE VIEW v_task_state_analysis AS
SELECT k.id AS task_uuid, k.namespace AS namespace_name, k.name AS task_name, k.version AS task_version,
    k.correlation_id, k.priority,
    k.state AS current_state, tasker_time(k.created_at) AS task_created_at, tasker_time(k.state_at) AS state_entered_at,
    tasker_minutes(k.now - k.created_at) AS task_age_minutes, tasker_minutes(k.in_state) AS time_in_state_minutes,
    tasker_minutes(n.bound) AS threshold_minutes,
    tasker_health(n.used, coalesce(n.bound, 0), k.percent) AS health_status,
    jsonb_strip_nulls(jsonb_build_object('max_waiting_for_dependencies_minutes',
        nullif(k.waiting_for_dependencies, 0) / 60000000,
        'max_waiting_for_retry_minutes', nullif(k.waiting_for_retry, 0) / 60000000,
        'max_steps_in_process_minutes', nullif(k.steps_in_process, 0) / 60000000,
        'max_duration_minutes', nullif(k.duration, 0) / 60000000)) AS template_config,
    n.source AS threshold_source, n.promise,
        (SELECT d.body #>> ARRAY['steps', (n.step - 1)::text, 'name'] FROM tasker_templates d WHERE d.def_id = k.def_id)
        AS promised_step,
    tasker_time(nullif(n.until, 9223372036854775807)) AS promised_until, tasker_minutes(n.used) AS counted_minutes,
    tasker_time(k.now + n.bound - n.used) AS stale_at
FROM (SELECT l.*, t.def_id, tasker_now() AS now, m.in_state, m.bound, m.source, m.promise, m.promised_step,
    m.promised_until, m.used, m.duration AS whole,
        (SELECT tasker_setting('staleness.warning_percent')) AS percent,
        array_position(ARRAY['stale', 'warning', 'healthy'],
            tasker_health(m.in_state, coalesce(m.bound, 0), (SELECT tasker_setting('staleness.warning_percent'))))
            AS of_state,
        array_position(ARRAY['stale', 'warning', 'healthy'],
            tasker_health(m.used, m.duration, (SELECT tasker_setting('staleness.warning_percent')))) AS of_whole
    FROM tasker_live_tasks l JOIN tasker_limits(NULL, NULL, NULL) m ON m.id = l.id JOIN tasker_tasks t ON t.id = l.id) k
CROSS JOIN LATERAL (SELECT k.whole IS NOT NULL AND (k.bound IS NULL OR k.of_whole < k.of_state
    OR k.of_whole = k.of_state AND k.whole - k.used < k.bound - k.in_state) AS by_whole) w
CROSS JOIN LATERAL (SELECT CASE WHEN w.by_whole THEN k.whole ELSE k.bound END AS bound,
    CASE WHEN w.by_whole THEN k.used ELSE k.in_state END AS used,
    CASE WHEN w.by_whole THEN 'max_duration' ELSE k.source END AS source,
    CASE WHEN NOT w.by_whole THEN k.promise END AS promise,
    CASE WHEN NOT w.by_whole THEN k.promised_step END AS step,
    CASE WHEN NOT w.by_whole THEN k.promised_until END AS until) n;

-- Tasks in a state that has a threshold, or that may only take so long as a whole: stale ones first, then those that
-- soon will be, then the others; those that have been in their state for longest go first.
CREATE VIEW v_task_staleness_monitoring AS
SELECT task_uuid, namespace_name, task_name, current_state, time_in_state_minutes,
    threshold_minutes AS staleness_threshold_minutes,
    health_status, priority, threshold_source, promise, promised_step, promised_until, counted_minutes, stale_at
FROM v_task_state_analysis
WHERE threshold_source IS NOT NULL
ORDER BY array_position(ARRAY['stale', 'warning', 'healthy'], health_status), state_entered_at, task_uuid;

-- Cases by reason, the most urgent reason first. The average is that of the resolved ones.
CREATE VIEW v_dlq_dashboard AS
SELECT c.dlq_reason, count(*) AS total_entries,
    count(*) FILTER (WHERE c.resolution_status = 'pending') AS pending,
    count(*) FILTER (WHERE c.resolution_status = 'manually_resolved') AS manually_resolved,
    count(*) FILTER (WHERE c.resolution_status = 'permanently_failed') AS permanent_failures,
    count(*) FILTER (WHERE c.resolution_status = 'cancelled') AS cancelled,
    tasker_time(min(c.dlq_timestamp)) AS oldest_entry, tasker_time(max(c.dlq_timestamp)) AS newest_entry,
    tasker_minutes((avg(c.resolved_at - c.dlq_timestamp) FILTER (WHERE c.resolved_at <> 0))::bigint)
        AS avg_resolution_time_minutes
FROM tasker_tasks_dlq c
GROUP BY c.dlq_reason
ORDER BY tasker_setting('priority_base.' || c.dlq_reason) DESC NULLS LAST, c.dlq_reason;

-- Pending cases, the most urgent first. What happened last goes before what happened first: reason, state and error are
-- those of the latest occurrence. The task of a recovered case continues, or is complete.
CREATE VIEW v_dlq_investigation_queue AS
SELECT c.dlq_entry_uuid, c.task_uuid, d.namespace AS namespace_name, d.name AS task_name, c.original_state,
    t.state AS current_state,
    c.dlq_reason, tasker_time(c.dlq_timestamp) AS dlq_timestamp, tasker_minutes(n.now - c.dlq_timestamp)
        AS minutes_in_dlq,
    coalesce(b.value, 0) + tasker_minutes(n.now - c.dlq_timestamp) AS priority_score,
    t.priority, t.correlation_id, t.state <> 'error' AND c.recovery IS NOT NULL AS recovered,
    c.cause, c.occurrences AS occurrence_count, tasker_time(c.occurred_at) AS last_occurred_at
FROM (SELECT tasker_now() AS now) n, tasker_tasks_dlq c
JOIN tasker_templates d ON d.def_id = c.def_id
JOIN tasker_tasks t ON t.id = c.task_uuid
LEFT JOIN tasker_settings b ON b.key = 'priority_base.' || c.dlq_reason
WHERE c.resolution_status = 'pending'
ORDER BY coalesce(b.value, 0) * 60000000 - c.dlq_timestamp DESC, c.dlq_entry_uuid;

-- The IDs of the steps of a task.
CREATE FUNCTION tasker_steps_of(task uuid) RETURNS SETOF uuid LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.id FROM tasker_tasks t JOIN tasker_workflow_steps s ON s.id > t.id AND s.id <= tasker_last_step(t.id,
        t.steps_pending + t.steps_active + t.steps_waiting + t.steps_done + t.steps_failed + t.steps_cancelled)
            AND s.task_id = t.id
    WHERE t.id = task;
END;

-- The readiness of the steps of a task, or of some of them. Parents are counted among all steps, whichever are asked
-- for.
CREATE FUNCTION get_step_readiness_status(input_task_uuid uuid, step_uuids uuid[] DEFAULT NULL)
RETURNS TABLE (workflow_step_uuid uuid, task_uuid uuid, name text, current_state text, dependencies_satisfied boolean,
    retry_eligible boolean, ready_for_execution boolean, last_failure_at timestamptz, next_retry_at timestamptz,
    total_parents int, completed_parents int, attempts int, max_attempts int, backoff_request_seconds numeric,
    last_attempted_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.id, s.task_id, p.spec ->> 'name', s.state, s.open_parents = 0,
        s.state = 'waiting_for_retry' AND s.key <= tasker_now(), s.state = 'enqueued' AND s.queue > 0,
        tasker_time(f.finished_at), CASE WHEN s.queue = -1 THEN tasker_time(s.key) END,
        n.parents, n.parents - s.open_parents,
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

-- Seconds as the engine writes them: 1h2m3s.
CREATE FUNCTION tasker_duration(microseconds bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN d.s >= 3600 THEN d.s / 3600 || 'h' ELSE '' END || CASE WHEN d.s >= 60 THEN d.s % 3600 / 60 || 'm'
        ELSE '' END || d.s % 60 || 's'
    FROM (SELECT round(microseconds / 1000000.0)::bigint AS s) d;
END;

-- Tasks that are stale, with what was seen in a sentence. Thresholds that are given, in minutes, go before the
-- configured ones, and not before those of templates; 0 is none. With a lifetime, tasks that are older are stale too.
CREATE FUNCTION tasker_stale_tasks(waiting_deps int, waiting_retry int, steps_process int, lifetime_hours int)
RETURNS TABLE (id uuid, namespace text, name text, state text, in_state bigint, threshold bigint, age bigint, seen text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT w.id, w.namespace, w.name, w.state, w.in_state, w.met, w.age,
        w.state || ' for ' || tasker_duration(w.in_state) || '; the threshold is ' || tasker_duration(w.met)
        || CASE WHEN w.met = w.bound AND w.source = 'promise'
            THEN ', which is ' || tasker_duration(w.global) || ' from the end of a promise (' || w.promise || ')'
                ELSE '' END
    FROM (
        SELECT k.*, CASE WHEN k.in_state >= k.bound THEN k.bound
            WHEN k.age >= k.lifetime AND coalesce(k.promised_until, 0) <= tasker_now() THEN k.lifetime END AS met
        FROM (
            SELECT l.id, l.namespace, l.name, l.state, m.in_state, m.bound, m.source, m.global, m.promise,
                tasker_now() - l.created_at AS age,
                -- of a state without a threshold too
                CASE WHEN NOT l.compensating THEN lifetime_hours * 3600000000 END AS lifetime,
                (SELECT max(q.until) FROM tasker_promises q WHERE q.id > l.id AND q.id <= tasker_last_step(l.id,
                    l.steps) AND q.task_id = l.id
                    AND lifetime_hours IS NOT NULL) AS promised_until
            FROM tasker_live_tasks l
            JOIN tasker_limits(waiting_deps * 60000000::bigint, waiting_retry * 60000000::bigint,
                steps_process * 60000000::bigint) m ON m.id = l.id
        ) k
    ) w
    WHERE w.met IS NOT NULL;
END;

-- Stale tasks for people, those that have been in their state for longest first; the parameters are those of
-- tasker_stale_tasks.
CREATE FUNCTION get_stale_tasks_for_dlq(p_default_waiting_deps int DEFAULT NULL,
    p_default_waiting_retry int DEFAULT NULL, p_default_steps_process int DEFAULT NULL,
    p_max_lifetime_hours int DEFAULT NULL, p_batch_size int DEFAULT NULL)
RETURNS TABLE (task_uuid uuid, namespace_name text, task_name text, current_state text, time_in_state_minutes numeric,
    threshold_minutes numeric, task_age_minutes numeric)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.id, s.namespace, s.name, s.state, tasker_minutes(s.in_state), tasker_minutes(s.threshold),
        tasker_minutes(s.age)
    FROM tasker_stale_tasks(p_default_waiting_deps, p_default_waiting_retry, p_default_steps_process,
        p_max_lifetime_hours) s
    ORDER BY s.in_state DESC, s.id
    LIMIT coalesce(p_batch_size, tasker_setting('staleness.batch_size'));
END;
