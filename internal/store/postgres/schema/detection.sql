-- How people find stale tasks, open cases and put tasks in error with psql, as the engine does.

-- A new ID for something that begins at an instant.
CREATE FUNCTION tasker_new_id(instant bigint) RETURNS uuid LANGUAGE sql VOLATILE
BEGIN ATOMIC
    SELECT (lpad(to_hex(instant / 1000), 12, '0') || '7' || lpad(to_hex(instant % 1000 * 4096 / 1000), 3, '0')
        || right(replace(gen_random_uuid()::text, '-', ''), 16))::uuid;
END;

-- Opens a case of a task, with a snapshot of it as it is now, and returns its ID. NULL when the task has a pending
-- case, which then shows this as its latest occurrence, unless it is opened by hand or was seen before. An error when
-- there is no such task, or when it is not what the caller takes it for: the name and state given must be its own.
-- Minutes that are not given are those that the task has. One opened by hand (manual_dlq) is an act of the session's
-- user; say why in p_detail.
CREATE FUNCTION create_dlq_entry(p_task_uuid uuid, p_namespace_name text DEFAULT NULL, p_task_name text DEFAULT NULL,
    p_current_state text DEFAULT NULL, p_time_in_state_minutes numeric DEFAULT NULL,
    p_threshold_minutes numeric DEFAULT NULL, p_dlq_reason text DEFAULT 'staleness_timeout',
    p_detail text DEFAULT NULL) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    k      record;
    g      record;
    now    constant bigint := tasker_now();
    entry  constant uuid := tasker_new_id(now);
    manual constant boolean := p_dlq_reason = 'manual_dlq';
    why    constant text := CASE p_dlq_reason WHEN 'staleness_timeout' THEN 'stale'
        WHEN 'dependency_cycle_detected' THEN 'cycle' WHEN 'worker_unavailable' THEN 'no_worker'
        WHEN 'manual_dlq' THEN 'manual' END;
    shot   json;
BEGIN
    SELECT t.id, t.def_id, t.state, t.state_at, t.meta, d.namespace, d.name INTO k FROM tasker_tasks t
    JOIN tasker_templates d ON d.def_id = t.def_id WHERE t.id = p_task_uuid FOR UPDATE OF t;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no task %', coalesce(p_task_uuid::text, 'NULL') USING ERRCODE = 'no_data_found';
    ELSIF k.namespace <> coalesce(p_namespace_name, k.namespace) OR k.name <> coalesce(p_task_name, k.name) THEN
        RAISE EXCEPTION 'the task % is one of %/%, not of %/%', k.id, k.namespace, k.name,
            coalesce(p_namespace_name, k.namespace), coalesce(p_task_name, k.name)
            USING ERRCODE = 'object_not_in_prerequisite_state';
    ELSIF k.state <> coalesce(p_current_state, k.state) THEN
        RAISE EXCEPTION 'the task % is in the state %, not %', k.id, k.state, p_current_state
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    SELECT * INTO g FROM tasker_diagnosis(k.id, p_dlq_reason);
    shot := tasker_bounded(tasker_snapshot(k.id, p_dlq_reason, p_time_in_state_minutes, p_threshold_minutes, p_detail));
    INSERT INTO tasker_tasks_dlq (dlq_entry_uuid, task_uuid, def_id, original_state, dlq_reason, dlq_timestamp,
        task_snapshot, metadata, created_at, updated_at,
        error_pattern, retryable, cause, occurred_at, failed_step, error_class, error_message, snapshot_bytes)
    VALUES (entry, k.id, k.def_id, k.state, p_dlq_reason, now, shot,
        CASE WHEN manual THEN tasker_object(ARRAY['opened_because', 'opened_by'],
            ARRAY[to_json(p_detail), to_json(session_user::text)]) END, now, now,
        g.error_pattern, g.retryable, why, now, g.failed_step, g.error_class, g.error_message, octet_length(shot::text))
    ON CONFLICT (task_uuid) WHERE resolution_status = 'pending' DO NOTHING;
    IF NOT FOUND THEN
        IF NOT manual THEN
            PERFORM tasker_recur(c.dlq_entry_uuid, k.state, p_dlq_reason, why, now, shot, g.error_pattern, g.retryable,
                g.failed_step, g.error_class, g.error_message)
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

-- Shows another occurrence of the trouble in a case. What was the latest becomes a former one. The first is kept, and
-- of the others the newest: 8 of them, and 1 MiB.
CREATE FUNCTION tasker_recur(entry uuid, state text, reason text, why text, instant bigint, shot json, pattern text,
    may_help smallint, step text,
    class text, message text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tasker_case_occurrences (dlq_entry_uuid, no, occurred_at, original_state, dlq_reason, cause,
        error_pattern, retryable, failed_step, error_class,
        error_message, recovery, snapshot_bytes, task_snapshot)
    SELECT c.dlq_entry_uuid, c.occurrences, c.occurred_at, c.original_state, c.dlq_reason, c.cause, c.error_pattern,
        c.retryable, c.failed_step, c.error_class,
        c.error_message, c.recovery, c.snapshot_bytes, c.task_snapshot FROM tasker_tasks_dlq c
            WHERE c.dlq_entry_uuid = entry;
    UPDATE tasker_tasks_dlq SET occurrences = occurrences + 1, occurred_at = instant, updated_at = instant,
        original_state = state, dlq_reason = reason, cause = why,
        error_pattern = pattern, retryable = may_help, failed_step = step, error_class = class, error_message = message,
            recovery = NULL,
        snapshot_bytes = octet_length(shot::text), task_snapshot = shot WHERE dlq_entry_uuid = entry;
    DELETE FROM tasker_case_occurrences o WHERE o.dlq_entry_uuid = entry AND o.no > 1
        AND (o.no < (SELECT c.occurrences - 8 FROM tasker_tasks_dlq c WHERE c.dlq_entry_uuid = entry)
            OR o.no IN (SELECT q.no FROM (SELECT m.no, sum(m.snapshot_bytes) OVER (ORDER BY m.no DESC) AS bytes
                FROM tasker_case_occurrences m WHERE m.dlq_entry_uuid = entry AND m.no > 1) q WHERE q.bytes > 1048576));
END $$;

-- Puts a task in error as the engine does: what runs is cut off, and so is what waits to run or for a time. False when
-- the task is not in the state given, or not the one that the caller takes it for. p_detail is what was seen. To try
-- again may help: nothing failed, and time ran out.
CREATE FUNCTION transition_stale_task_to_error(p_task_uuid uuid, p_current_state text,
    p_namespace_name text DEFAULT NULL, p_task_name text DEFAULT NULL,
    p_detail text DEFAULT NULL) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    k    record;
    n    record;
    now  constant bigint := tasker_now();
    seen text := p_detail;
BEGIN
    SELECT t.id, t.state, t.state_at, d.namespace, d.name INTO k FROM tasker_tasks t JOIN tasker_templates d
        ON d.def_id = t.def_id
    WHERE t.id = p_task_uuid AND t.state = p_current_state AND t.state NOT IN ('complete', 'error', 'cancelled',
        'resolved_manually')
        AND d.namespace = coalesce(p_namespace_name, d.namespace) AND d.name = coalesce(p_task_name,
            d.name) FOR UPDATE OF t;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    seen := coalesce(p_detail, k.state || ' for ' || tasker_duration(now - k.state_at));
    WITH open AS (
        SELECT s.* FROM tasker_workflow_steps s WHERE s.id IN (SELECT tasker_steps_of(k.id))
            AND s.queue IS NOT NULL ORDER BY s.id FOR UPDATE
    ), ended AS ( -- what nobody had has no attempt; one that is cut off is a failure only where nothing else was one
        INSERT INTO tasker_attempts (task_id, step_id, token, number, worker_no, outcome, ready_at, assigned_at,
            started_at, finished_at, after_state, failure)
        SELECT o.task_id, o.id, o.token, o.attempts, o.worker_no, CASE o.state WHEN 'assigned' THEN 'not_started'
            ELSE 'timed_out' END,
            o.ready_at, o.assigned_at, o.started_at, now, 'error', CASE WHEN o.state = 'in_progress' AND o.attempts <= 1
                THEN
            json_build_object('error_type', 'staleness_timeout', 'message', 'the task was stale: ' || seen, 'code',
                'TASK_STALE', 'retryable', true,
                'class', 'resource') END
        FROM open o WHERE o.state IN ('assigned', 'in_progress') ORDER BY o.id
    ), told AS (
        INSERT INTO tasker_acts (task_id, step_id, namespace, template, at, kind, actor, auth, reason, from_state,
            to_state, data)
        SELECT o.task_id, o.id, k.namespace, k.name, now, 'give_up_step', 'system', 'system', 'stale: ' || seen,
            o.state, 'error',
            tasker_object(ARRAY['ready_at', 'due_at'],
                ARRAY[CASE o.state WHEN 'enqueued' THEN tasker_shown_time(o.ready_at) END,
                CASE WHEN o.queue = -1 THEN tasker_shown_time(o.key) END])
        FROM open o ORDER BY o.id
    ), moved AS (
        UPDATE tasker_workflow_steps s SET state = 'error', queue = NULL, key = NULL, lease_until = 0,
            finished_at = now, result = NULL,
            ready_at = CASE s.state WHEN 'pending' THEN now ELSE s.ready_at END
        FROM open o WHERE s.id = o.id RETURNING o.state
    )
    SELECT count(*) FILTER (WHERE m.state = 'pending') AS pending, count(*) FILTER (WHERE m.state = 'waiting_for_retry')
        AS waiting,
        count(*) FILTER (WHERE m.state NOT IN ('pending', 'waiting_for_retry')) AS active, count(*) AS failed INTO n
            FROM moved m;
    UPDATE tasker_tasks SET state = 'error', state_at = now, finished_at = now, deadline_at = 0,
        steps_pending = steps_pending - n.pending,
        steps_waiting = steps_waiting - n.waiting, steps_active = steps_active - n.active,
            steps_failed = steps_failed + n.failed WHERE id = k.id;
    INSERT INTO tasker_task_events (task_id, at, from_state, to_state, cause) VALUES (k.id, now, k.state, 'error',
        'stale: ' || seen);
    RETURN true;
END $$;

-- The first cycle in the dependencies of a template, with its path; NULL when there is none. It walks as the engine
-- does, depth first along the parents.
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
    FROM tasker_templates d, json_array_elements(d.body -> 'steps') WITH ORDINALITY q (spec, place)
        WHERE d.def_id = def;
    SELECT jsonb_agg(coalesce((SELECT jsonb_agg(array_position(names, e.name) ORDER BY e.place)
        FROM json_array_elements_text(q.spec -> 'dependencies') WITH ORDINALITY e (name, place)), '[]')
            ORDER BY q.place) INTO parents
    FROM tasker_templates d, json_array_elements(d.body -> 'steps') WITH ORDINALITY q (spec, place)
        WHERE d.def_id = def;
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

-- Opens a case of each stale task and puts it in error, up to a batch of them, those that have been stale for longest
-- first; the other parameters are those of tasker_stale_tasks. It only tells what it would do unless p_dry_run is
-- false. Where something fails the task is reported as moved_to_dlq_only or transition_failed, with the reason as a
-- warning, and the others go on. Tasks that somebody else is changing are left to the next call. A pending case tells
-- of it too, as its latest occurrence.
CREATE FUNCTION detect_and_transition_stale_tasks(p_dry_run boolean DEFAULT true, p_batch_size int DEFAULT NULL,
    p_default_waiting_deps_threshold int DEFAULT NULL, p_default_waiting_retry_threshold int DEFAULT NULL,
    p_default_steps_in_process_threshold int DEFAULT NULL, p_default_task_max_lifetime_hours int DEFAULT NULL)
RETURNS TABLE (task_uuid uuid, namespace_name text, task_name text, current_state text, time_in_state_minutes numeric,
    staleness_threshold_minutes numeric,
    action_taken text, moved_to_dlq boolean, transition_success boolean) LANGUAGE plpgsql AS $$
DECLARE
    batch constant bigint := coalesce(p_batch_size, tasker_setting('staleness.batch_size'));
    cases constant boolean := tasker_setting('cases.enabled') <> 0;
    ids   uuid[];
    stale record;
    cycle text;
    try   int;
BEGIN
    SELECT array_agg(s.id) INTO ids FROM (SELECT w.id FROM tasker_stale_tasks(p_default_waiting_deps_threshold,
        p_default_waiting_retry_threshold,
        p_default_steps_in_process_threshold, p_default_task_max_lifetime_hours) w ORDER BY w.in_state DESC,
            w.id LIMIT batch) s;
    IF NOT p_dry_run THEN -- all tasks before all steps, each in order, as the engine does: no two lock them crosswise
        SELECT array_agg(l.id) INTO ids FROM (SELECT t.id FROM tasker_tasks t WHERE t.id = ANY (ids)
            ORDER BY t.id FOR UPDATE SKIP LOCKED) l;
        PERFORM 1 FROM tasker_workflow_steps s WHERE s.id IN (SELECT tasker_steps_of(u.id) FROM unnest(ids) u (id))
            ORDER BY s.id FOR UPDATE;
    END IF;
    FOR stale IN -- asked again, now that nobody changes them
        SELECT w.*, t.def_id, t.steps_active + t.steps_waiting = 0 AS idle
            FROM tasker_stale_tasks(p_default_waiting_deps_threshold,
            p_default_waiting_retry_threshold, p_default_steps_in_process_threshold,
                p_default_task_max_lifetime_hours) w
        JOIN tasker_tasks t ON t.id = w.id WHERE w.id = ANY (ids) ORDER BY w.in_state DESC, w.id
    LOOP
        task_uuid := stale.id; namespace_name := stale.namespace; task_name := stale.name; current_state := stale.state;
        time_in_state_minutes := tasker_minutes(stale.in_state); staleness_threshold_minutes :=
            tasker_minutes(stale.threshold);
        cycle := CASE WHEN stale.idle THEN tasker_cycle(stale.def_id) END;
        try := CASE WHEN p_dry_run THEN 3 ELSE 1 END;
        action_taken := 'would_transition_to_dlq_and_error'; moved_to_dlq := false; transition_success := false;
        WHILE try <= 2 LOOP -- with the transition, and if that fails without
            BEGIN
                action_taken := 'transition_failed'; moved_to_dlq := false; transition_success := false;
                IF cases OR EXISTS (SELECT 1 FROM tasker_tasks_dlq c WHERE c.task_uuid = stale.id
                    AND c.resolution_status = 'pending') THEN
                    moved_to_dlq := create_dlq_entry(stale.id, NULL, NULL, stale.state, time_in_state_minutes,
                        staleness_threshold_minutes,
                        CASE WHEN cycle IS NULL THEN 'staleness_timeout' ELSE 'dependency_cycle_detected' END,
                            coalesce(cycle, stale.seen)) IS NOT NULL;
                END IF;
                IF try = 1 THEN
                    transition_success := transition_stale_task_to_error(stale.id, stale.state, NULL, NULL, stale.seen);
                END IF;
                action_taken := CASE WHEN moved_to_dlq AND transition_success THEN 'transitioned_to_dlq_and_error'
                    WHEN moved_to_dlq THEN 'moved_to_dlq_only'
                    WHEN transition_success THEN 'transitioned_to_error_only' ELSE 'transition_failed' END;
                EXIT;
            EXCEPTION WHEN OTHERS THEN
                RAISE WARNING 'the stale task % cannot be %: %', stale.id, CASE try WHEN 1 THEN 'put in error'
                    ELSE 'given a case' END, SQLERRM;
                moved_to_dlq := false; transition_success := false; action_taken := 'transition_failed'; try := try + 1;
            END;
        END LOOP;
        RETURN NEXT;
    END LOOP;
END $$;

-- Functions of many statements find our tables whatever the caller's search_path is. The others are bound to them
-- already.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['create_dlq_entry', 'tasker_recur', 'transition_stale_task_to_error', 'tasker_cycle',
        'detect_and_transition_stale_tasks'] LOOP
        EXECUTE format('ALTER FUNCTION %I.%I SET search_path = pg_catalog, %I, pg_temp', current_schema(), name,
            current_schema());
    END LOOP;
END $$;
