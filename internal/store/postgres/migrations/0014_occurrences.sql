-- +goose Up
-- A case tells the whole story of its task: each time that it was found stuck, of which
-- its row shows the latest; and all notes, of which its row shows one.
ALTER TABLE tasker_tasks_dlq
    ADD COLUMN cause          text,
    ADD COLUMN occurrences    bigint NOT NULL DEFAULT 1,
    ADD COLUMN occurred_at    bigint NOT NULL DEFAULT 0,
    ADD COLUMN failed_step    text,
    ADD COLUMN error_class    text,
    ADD COLUMN error_message  text,
    ADD COLUMN recovery       json,
    ADD COLUMN replays        json,
    ADD COLUMN snapshot_bytes bigint NOT NULL DEFAULT 0,
    ADD COLUMN note_count     bigint NOT NULL DEFAULT 0,
    ADD COLUMN note_bytes     bigint NOT NULL DEFAULT 0;

-- Occurrences before the latest.
CREATE TABLE tasker_case_occurrences (
    dlq_entry_uuid uuid     NOT NULL,
    no             bigint   NOT NULL,
    occurred_at    bigint   NOT NULL,
    original_state text     NOT NULL,
    dlq_reason     text     NOT NULL,
    cause          text,
    error_pattern  text,
    retryable      smallint NOT NULL,
    failed_step    text,
    error_class    text,
    error_message  text,
    recovery       json,
    snapshot_bytes bigint   NOT NULL,
    task_snapshot  json,
    PRIMARY KEY (dlq_entry_uuid, no)
);
CREATE TABLE tasker_case_notes (
    dlq_entry_uuid uuid   NOT NULL,
    no             bigint NOT NULL,
    at             bigint NOT NULL,
    author         text   NOT NULL,
    author_key     text,
    body           text   NOT NULL,
    PRIMARY KEY (dlq_entry_uuid, no)
);

-- What the engine noted stood among what people noted, who could change it.
UPDATE tasker_tasks_dlq c SET occurred_at = dlq_timestamp, snapshot_bytes = coalesce(octet_length(task_snapshot::text), 0),
    cause = CASE dlq_reason WHEN 'dependency_cycle_detected' THEN 'cycle' WHEN 'worker_unavailable' THEN 'no_worker' WHEN 'manual_dlq' THEN 'manual' END,
    note_count = CASE WHEN resolution_notes <> '' THEN 1 ELSE 0 END, note_bytes = coalesce(octet_length(resolution_notes), 0),
    recovery = CASE WHEN json_typeof(metadata -> 'recovered') = 'object' AND json_typeof(metadata #> '{recovered,at}') = 'string'
        AND json_typeof(metadata #> '{recovered,by}') = 'string' AND (metadata #>> '{recovered,state}') <> 'cancelled'
        AND NOT EXISTS (SELECT 1 FROM tasker_tasks t WHERE t.id = c.task_uuid AND t.state = 'error') THEN metadata -> 'recovered' END,
    replays = CASE WHEN json_typeof(metadata -> 'replayed') = 'object' AND json_typeof(metadata #> '{replayed,count}') = 'number'
        AND json_typeof(metadata #> '{replayed,at}') = 'string' THEN metadata -> 'replayed' END,
    metadata = CASE WHEN metadata -> 'recovered' IS NULL AND metadata -> 'replayed' IS NULL THEN metadata
        ELSE (SELECT json_object_agg(e.key, e.value) FROM json_each(metadata) e WHERE e.key NOT IN ('recovered', 'replayed')) END;
INSERT INTO tasker_case_notes (dlq_entry_uuid, no, at, author, author_key, body)
SELECT dlq_entry_uuid, 1, CASE WHEN resolved_at <> 0 THEN resolved_at ELSE updated_at END, coalesce(resolved_by, ''), resolved_key, resolution_notes
FROM tasker_tasks_dlq WHERE resolution_notes <> '';

-- What happened last goes before what happened first: reason, state and error are those
-- of the latest occurrence. The task of a case that has recovered goes on, or is complete.
CREATE OR REPLACE VIEW v_dlq_investigation_queue AS
SELECT c.dlq_entry_uuid, c.task_uuid, d.namespace AS namespace_name, d.name AS task_name, c.original_state, t.state AS current_state,
    c.dlq_reason, tasker_time(c.dlq_timestamp) AS dlq_timestamp, tasker_minutes(n.now - c.dlq_timestamp) AS minutes_in_dlq,
    coalesce(b.value, 0) + tasker_minutes(n.now - c.dlq_timestamp) AS priority_score,
    t.priority, t.correlation_id, t.state <> 'error' AND c.recovery IS NOT NULL AS recovered,
    c.cause, c.occurrences AS occurrence_count, tasker_time(c.occurred_at) AS last_occurred_at
FROM (SELECT tasker_now() AS now) n, tasker_tasks_dlq c
JOIN tasker_templates d ON d.def_id = c.def_id
JOIN tasker_tasks t ON t.id = c.task_uuid
LEFT JOIN tasker_settings b ON b.key = 'priority_base.' || c.dlq_reason
WHERE c.resolution_status = 'pending'
ORDER BY coalesce(b.value, 0) * 60000000 - c.dlq_timestamp DESC, c.dlq_entry_uuid;

-- The beginning of a text, up to the end of its line, without what cannot be seen.
CREATE FUNCTION tasker_one_line(body text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(regexp_replace(split_part(btrim(coalesce(body, ''), E' \t\n\r\f\v'), E'\n', 1), '[[:cntrl:]]', ' ', 'g'));

-- What kind of failure it is: the code, else the type, else the message without what
-- differs from one to the next. The engine says the same.
-- +goose StatementBegin
CREATE FUNCTION tasker_pattern(failure json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT tasker_cut(CASE WHEN l.code <> '' THEN l.code
        WHEN l.type = 'panic' THEN 'panic: ' || regexp_replace(l.message, '[[:alnum:]_-]*[0-9][[:alnum:]_-]*', '#', 'g')
        WHEN l.type NOT IN ('', 'error') THEN l.type
        ELSE regexp_replace(l.message, '[[:alnum:]_-]*[0-9][[:alnum:]_-]*', '#', 'g') END, 120)
    FROM (SELECT tasker_one_line(f.c ->> 'code') AS code, tasker_one_line(f.c ->> 'error_type') AS type, tasker_one_line(f.c ->> 'message') AS message
        FROM (SELECT replace(failure::text, '\u0000', ' ')::json AS c) f) l;
END;
-- +goose StatementEnd

-- The failure that keeps a task from going on: the last one of its steps in error or
-- waiting for a retry. Without one it stood still: nobody took its step (worker), or the
-- step took too long (resource).
-- +goose StatementBegin
CREATE FUNCTION tasker_diagnosis(task uuid, reason text, OUT error_pattern text, OUT retryable smallint, OUT failed_step text, OUT error_class text,
    OUT error_message text) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT nullif(tasker_pattern(f.failure), ''),
        CASE WHEN f.failure IS NULL THEN (reason IN ('staleness_timeout', 'worker_unavailable'))::int
            ELSE ((f.failure ->> 'retryable')::boolean AND f.class <> 'logic')::int END::smallint,
        f.step, CASE WHEN f.failure IS NOT NULL THEN f.class
            WHEN reason IN ('staleness_timeout', 'worker_unavailable') THEN (SELECT CASE WHEN bool_or(s.state IN ('assigned', 'in_progress')) THEN 'resource'
                WHEN bool_or(s.state = 'enqueued') THEN 'worker' END FROM tasker_workflow_steps s WHERE s.id IN (SELECT tasker_steps_of(task))) END,
        nullif(tasker_cut(replace(f.failure::text, '\u0000', ' ')::json ->> 'message', 1024), '')
    FROM (SELECT 1) one LEFT JOIN LATERAL (
        SELECT a.failure, d.body #>> ARRAY['steps', (s.ordinal - 1)::text, 'name'] AS step,
            coalesce(a.failure ->> 'class', CASE WHEN (a.failure ->> 'retryable')::boolean THEN 'transient' ELSE 'logic' END) AS class
        FROM tasker_steps_of(task) i (id) JOIN tasker_workflow_steps s ON s.id = i.id
        JOIN tasker_templates d ON d.def_id = s.def_id
        JOIN LATERAL (SELECT a.finished_at, a.failure FROM tasker_attempts a
            WHERE a.task_id = s.task_id AND a.step_id = s.id AND a.failure IS NOT NULL ORDER BY a.id DESC LIMIT 1) a ON true
        WHERE s.state IN ('error', 'waiting_for_retry') ORDER BY a.finished_at DESC, s.ordinal DESC LIMIT 1) f ON true;
END;
-- +goose StatementEnd

-- A snapshot within its bound of 512 KiB: without its template, and then without its steps.
-- +goose StatementBegin
CREATE FUNCTION tasker_bounded(snapshot json) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN octet_length(snapshot::text) <= 524288 THEN snapshot WHEN octet_length(l.light::text) <= 524288 THEN l.light
        ELSE (SELECT json_object_agg(e.key, e.value) FROM (SELECT j.key, j.value FROM json_each(l.light) j WHERE j.key <> 'steps'
            UNION ALL SELECT 'steps', '[]'::json UNION ALL SELECT 'steps_omitted', to_json(json_array_length(l.light -> 'steps'))) e) END
    FROM (SELECT (SELECT json_object_agg(j.key, j.value) FROM json_each(snapshot) j WHERE j.key <> 'template') AS light) l;
END;
-- +goose StatementEnd

-- Opens a case of a task, with a snapshot of it as it is now, and returns its ID.
-- NULL when there is no such task, or when it is not what the caller takes it for (the
-- name and state given must be its own); and when the task has a pending case, which then
-- shows this as its latest occurrence, unless it is opened by hand or was seen before.
-- Minutes that are not given are those that the task has. One opened by hand
-- (manual_dlq) is an act of the session's user; say why in p_detail.
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
    SELECT t.id, t.def_id, t.state, t.state_at, t.meta INTO k FROM tasker_tasks t JOIN tasker_templates d ON d.def_id = t.def_id
    WHERE t.id = p_task_uuid AND t.state = coalesce(p_current_state, t.state) AND d.namespace = coalesce(p_namespace_name, d.namespace)
        AND d.name = coalesce(p_task_name, d.name) FOR UPDATE OF t;
    IF NOT FOUND THEN
        RETURN NULL;
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

-- Shows another occurrence of the trouble in a case. What was the latest becomes a former
-- one. The first is kept, and of the others the newest: 8 of them, and 1 MiB.
-- +goose StatementBegin
CREATE FUNCTION tasker_recur(entry uuid, state text, reason text, why text, instant bigint, shot json, pattern text, may_help smallint, step text,
    class text, message text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tasker_case_occurrences (dlq_entry_uuid, no, occurred_at, original_state, dlq_reason, cause, error_pattern, retryable, failed_step, error_class,
        error_message, recovery, snapshot_bytes, task_snapshot)
    SELECT c.dlq_entry_uuid, c.occurrences, c.occurred_at, c.original_state, c.dlq_reason, c.cause, c.error_pattern, c.retryable, c.failed_step, c.error_class,
        c.error_message, c.recovery, c.snapshot_bytes, c.task_snapshot FROM tasker_tasks_dlq c WHERE c.dlq_entry_uuid = entry;
    UPDATE tasker_tasks_dlq SET occurrences = occurrences + 1, occurred_at = instant, updated_at = instant, original_state = state, dlq_reason = reason, cause = why,
        error_pattern = pattern, retryable = may_help, failed_step = step, error_class = class, error_message = message, recovery = NULL,
        snapshot_bytes = octet_length(shot::text), task_snapshot = shot WHERE dlq_entry_uuid = entry;
    DELETE FROM tasker_case_occurrences o WHERE o.dlq_entry_uuid = entry AND o.no > 1
        AND (o.no < (SELECT c.occurrences - 8 FROM tasker_tasks_dlq c WHERE c.dlq_entry_uuid = entry)
            OR o.no IN (SELECT q.no FROM (SELECT m.no, sum(m.snapshot_bytes) OVER (ORDER BY m.no DESC) AS bytes
                FROM tasker_case_occurrences m WHERE m.dlq_entry_uuid = entry AND m.no > 1) q WHERE q.bytes > 1048576));
END $$;
-- +goose StatementEnd

-- Puts a task in error as the engine does: what runs is cut off, and so is what
-- waits to run or for a time. False when the task is not in the state given, or
-- not the one that the caller takes it for. p_detail is what was seen. To try again may
-- help: nothing failed, and time ran out.
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
            json_build_object('error_type', 'staleness_timeout', 'message', 'the task was stale: ' || seen, 'code', 'TASK_STALE', 'retryable', true,
                'class', 'resource') END
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

-- Opens a case of each stale task and puts it in error, up to a batch of them,
-- those that have been stale for longest first; the other parameters are those of
-- tasker_stale_tasks. It only tells what it would do unless p_dry_run is false. Where
-- something fails the task is told as moved_to_dlq_only or transition_failed, with
-- the reason as a warning, and the others go on. Tasks that somebody else is
-- changing are left to the next call. A pending case tells of it too, as its latest
-- occurrence.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION detect_and_transition_stale_tasks(p_dry_run boolean DEFAULT true, p_batch_size int DEFAULT NULL,
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
                IF cases OR EXISTS (SELECT 1 FROM tasker_tasks_dlq c WHERE c.task_uuid = stale.id AND c.resolution_status = 'pending') THEN
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
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['create_dlq_entry', 'tasker_recur', 'transition_stale_task_to_error', 'detect_and_transition_stale_tasks'] LOOP
        EXECUTE format('ALTER FUNCTION %I.%I SET search_path = pg_catalog, %I, pg_temp', current_schema(), name, current_schema());
    END LOOP;
END $$;
-- +goose StatementEnd
