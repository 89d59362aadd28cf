-- What a case keeps of its task, as the engine writes it. A snapshot is JSON; what is long is cut.

CREATE FUNCTION tasker_cut(body text, bytes int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(body) <= bytes THEN body
    ELSE left(body, bytes * length(body) / octet_length(body) - 14) || '…[truncated]' END;

CREATE FUNCTION tasker_cut_json(document json, bytes int) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(document::text) <= bytes THEN document ELSE to_json(tasker_cut(document::text, bytes))
    END;

CREATE FUNCTION tasker_shown_time(instant bigint) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_json(to_char(tasker_time(instant) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'));

-- An object without the members that are NULL; those inside of members stay.
CREATE FUNCTION tasker_object(names text[], members json[]) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(json_object_agg(m.name, m.member ORDER BY m.place), '{}')
    FROM unnest(names, members) WITH ORDINALITY m (name, member, place) WHERE m.member IS NOT NULL;
END;

-- A failure, with its class.
CREATE FUNCTION tasker_shown_failure(failure json, bytes int) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT tasker_object(ARRAY['error_type', 'message', 'stack_trace', 'code', 'http_status', 'response_body',
        'retryable', 'class', 'retry_after_seconds', 'details'],
        ARRAY[f.c -> 'error_type', to_json(tasker_cut(f.c ->> 'message', greatest(bytes, 255))),
            to_json(tasker_cut(nullif(f.c ->> 'stack_trace', ''), bytes)),
            f.c -> 'code', f.c -> 'http_status', to_json(tasker_cut(f.c ->> 'response_body', bytes)),
                f.c -> 'retryable', f.c -> 'class',
            to_json((f.c ->> 'retry_after_ms')::bigint / 1000.0),
            tasker_cut_json(convert_from(decode(f.c ->> 'details', 'base64'), 'UTF8')::json, bytes)])
    FROM (SELECT replace(failure::text, '\u0000', '\ufffd')::json AS c) f; -- a text cannot hold a NUL
END;

-- A template in the words of the API; NULL for the stand-in of a handler.
CREATE FUNCTION tasker_shown_template(def bigint) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT tasker_object(ARRAY['namespace_name', 'name', 'version', 'description', 'lifecycle', 'steps',
        'input_schema'],
        ARRAY[to_json(d.namespace), to_json(d.name), to_json(d.version), d.body -> 'description',
            tasker_object(ARRAY['max_waiting_for_dependencies_minutes', 'max_waiting_for_retry_minutes',
                'max_steps_in_process_minutes', 'max_duration_minutes'],
                ARRAY[to_json(nullif(l.waiting_for_dependencies, 0) / 60000000),
                    to_json(nullif(l.waiting_for_retry, 0) / 60000000),
                    to_json(nullif(l.steps_in_process, 0) / 60000000), to_json(nullif(l.duration, 0) / 60000000)]),
            (SELECT json_agg(tasker_object(
                ARRAY['name', 'handler', 'initialization', 'dependencies', 'retry', 'timeout_seconds',
                    'required_capabilities'],
                ARRAY[p.spec -> 'name', p.spec -> 'handler', tasker_cut_json(p.spec -> 'initialization', 4096),
                    p.spec -> 'dependencies',
                    tasker_object(ARRAY['retryable', 'max_attempts', 'backoff', 'backoff_base_ms', 'max_backoff_ms',
                        'jitter', 'limits'],
                        ARRAY[p.spec #> '{retry,Retryable}', p.spec #> '{retry,MaxAttempts}',
                            p.spec #> '{retry,Backoff}',
                            to_json((p.spec #>> '{retry,Base}')::bigint / 1000000),
                                to_json((p.spec #>> '{retry,Max}')::bigint / 1000000),
                            p.spec #> '{retry,Jitter}', p.spec #> '{retry,Limits}']),
                    to_json(coalesce((p.spec ->> 'timeout')::bigint, 0) / 1000000000), p.spec -> 'capabilities'])
                        ORDER BY p.place)
                FROM json_array_elements(d.body -> 'steps') WITH ORDINALITY p (spec, place)),
            tasker_cut_json(d.body -> 'input_schema', 16384)])
    FROM tasker_templates d JOIN tasker_lifecycles l ON l.def_id = d.def_id
    WHERE d.def_id = def AND d.adhoc = 0;
END;

-- The steps of a task as its snapshot shows them.
CREATE FUNCTION tasker_shown_steps(task uuid) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT json_agg(tasker_object(
        ARRAY['step_uuid', 'name', 'current_state', 'attempts', 'max_attempts', 'dependencies', 'worker', 'ready_at',
            'started_at', 'next_retry_at',
            'last_failure_at', 'last_error'],
        ARRAY[to_json(q.id), q.spec -> 'name', to_json(q.state), to_json(q.attempts), to_json(q.max_attempts),
            q.spec -> 'dependencies', to_json(q.worker),
            tasker_shown_time(q.ready_at), tasker_shown_time(q.started_at),
                CASE WHEN q.queue = -1 THEN tasker_shown_time(q.key) END,
            tasker_shown_time(q.failed_at),
            CASE WHEN q.failure IS NOT NULL THEN tasker_shown_failure(q.failure, CASE WHEN q.before < 262144 THEN 4096
                ELSE 0 END) END]) ORDER BY q.ordinal)
    FROM (
        SELECT s.*, d.body #> ARRAY['steps', (s.ordinal - 1)::text] AS spec, w.name AS worker,
            f.finished_at AS failed_at, f.failure,
            coalesce(sum(least(octet_length(f.failure::text), 16384)) OVER
                (ORDER BY s.ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
        FROM tasker_steps_of(task) i (id) JOIN tasker_workflow_steps s ON s.id = i.id
        JOIN tasker_templates d ON d.def_id = s.def_id
        LEFT JOIN tasker_workers w ON w.worker_no = s.worker_no
        LEFT JOIN LATERAL (SELECT a.finished_at, a.failure FROM tasker_attempts a
            WHERE a.task_id = s.task_id AND a.step_id = s.id AND a.failure IS NOT NULL ORDER BY a.id DESC LIMIT 1) f
                ON true
    ) q;
END;

-- A task as it is now, for a case: all that somebody needs at 3 a.m. without another query. The engine writes the same.
CREATE FUNCTION tasker_snapshot(task uuid, reason text, minutes_in_state numeric, threshold numeric, detail text)
    RETURNS json LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT tasker_object(
        ARRAY['task_uuid', 'namespace', 'task_name', 'version', 'current_state', 'time_in_state_minutes',
            'threshold_minutes', 'task_age_minutes', 'priority',
            'correlation_id', 'context', 'created_at', 'detection_time', 'dlq_reason', 'detail', 'template', 'steps'],
        ARRAY[to_json(t.id), to_json(d.namespace), to_json(d.name), to_json(d.version), to_json(t.state),
            to_json(coalesce(minutes_in_state, tasker_minutes(tasker_now() - t.state_at))),
                to_json(nullif(threshold, 0)),
            to_json(tasker_minutes(tasker_now() - t.created_at)), to_json(coalesce(p.name, t.priority::text)),
                to_json(nullif(t.correlation_id, '')),
            tasker_cut_json(t.context, 16384), tasker_shown_time(t.created_at), tasker_shown_time(tasker_now()),
                to_json(reason), to_json(nullif(detail, '')),
            tasker_shown_template(t.def_id), tasker_shown_steps(t.id)])
    FROM tasker_tasks t JOIN tasker_templates d ON d.def_id = t.def_id
    LEFT JOIN LATERAL (SELECT substr(key, 16) AS name FROM tasker_settings WHERE key LIKE 'priority_level.%'
        AND value = t.priority ORDER BY key LIMIT 1) p ON true
    WHERE t.id = task;
END;

-- A snapshot within its bound of 512 KiB: without its template, and then without its steps.
CREATE FUNCTION tasker_bounded(snapshot json) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN octet_length(snapshot::text) <= 524288 THEN snapshot WHEN octet_length(l.light::text) <= 524288
        THEN l.light
        ELSE (SELECT json_object_agg(e.key, e.value)
            FROM (SELECT j.key, j.value FROM json_each(l.light) j WHERE j.key <> 'steps'
            UNION ALL SELECT 'steps', '[]'::json UNION ALL SELECT 'steps_omitted',
                to_json(json_array_length(l.light -> 'steps'))) e) END
    FROM (SELECT (SELECT json_object_agg(j.key, j.value) FROM json_each(snapshot) j WHERE j.key <> 'template')
        AS light) l;
END;

-- The beginning of a text, up to the end of its line, without what cannot be seen.
CREATE FUNCTION tasker_one_line(body text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(regexp_replace(split_part(btrim(coalesce(body, ''), E' \t\n\r\f\v'), E'\n', 1), '[[:cntrl:]]', ' ', 'g'));

-- What kind of failure it is: the code, else the type, else the message without what differs from one to the next. The
-- engine says the same.
CREATE FUNCTION tasker_pattern(failure json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT tasker_cut(CASE WHEN l.code <> '' THEN l.code
        WHEN l.type = 'panic' THEN 'panic: ' || regexp_replace(l.message, '[[:alnum:]_-]*[0-9][[:alnum:]_-]*', '#', 'g')
        WHEN l.type NOT IN ('', 'error') THEN l.type
        ELSE regexp_replace(l.message, '[[:alnum:]_-]*[0-9][[:alnum:]_-]*', '#', 'g') END, 120)
    FROM (SELECT tasker_one_line(f.c ->> 'code') AS code, tasker_one_line(f.c ->> 'error_type') AS type,
        tasker_one_line(f.c ->> 'message') AS message
        FROM (SELECT replace(failure::text, '\u0000', ' ')::json AS c) f) l;
END;

-- The failure that keeps a task from going on: the last one of its steps in error or waiting for a retry. Without one
-- it stood still: nobody took its step (worker), or the step took too long (resource).
CREATE FUNCTION tasker_diagnosis(task uuid, reason text, OUT error_pattern text, OUT retryable smallint,
    OUT failed_step text, OUT error_class text,
    OUT error_message text) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT nullif(tasker_pattern(f.failure), ''),
        CASE WHEN f.failure IS NULL THEN (reason IN ('staleness_timeout', 'worker_unavailable'))::int
            ELSE ((f.failure ->> 'retryable')::boolean AND f.class <> 'logic')::int END::smallint,
        f.step, CASE WHEN f.failure IS NOT NULL THEN f.class
            WHEN reason IN ('staleness_timeout', 'worker_unavailable')
                THEN (SELECT CASE WHEN bool_or(s.state IN ('assigned', 'in_progress')) THEN 'resource'
                WHEN bool_or(s.state = 'enqueued') THEN 'worker' END FROM tasker_workflow_steps s WHERE s.id
                    IN (SELECT tasker_steps_of(task))) END,
        nullif(tasker_cut(replace(f.failure::text, '\u0000', ' ')::json ->> 'message', 1024), '')
    FROM (SELECT 1) one LEFT JOIN LATERAL (
        SELECT a.failure, d.body #>> ARRAY['steps', (s.ordinal - 1)::text, 'name'] AS step,
            coalesce(a.failure ->> 'class', CASE WHEN (a.failure ->> 'retryable')::boolean THEN 'transient' ELSE 'logic'
                END) AS class
        FROM tasker_steps_of(task) i (id) JOIN tasker_workflow_steps s ON s.id = i.id
        JOIN tasker_templates d ON d.def_id = s.def_id
        JOIN LATERAL (SELECT a.finished_at, a.failure FROM tasker_attempts a
            WHERE a.task_id = s.task_id AND a.step_id = s.id AND a.failure IS NOT NULL ORDER BY a.id DESC LIMIT 1) a
                ON true
        WHERE s.state IN ('error', 'waiting_for_retry') ORDER BY a.finished_at DESC, s.ordinal DESC LIMIT 1) f ON true;
END;
