-- +goose Up
-- A step that has failed is eligible for its retry once its back-off is over, and not before.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION get_step_readiness_status(input_task_uuid uuid, step_uuids uuid[] DEFAULT NULL)
RETURNS TABLE (workflow_step_uuid uuid, task_uuid uuid, name text, current_state text, dependencies_satisfied boolean, retry_eligible boolean,
    ready_for_execution boolean, last_failure_at timestamptz, next_retry_at timestamptz, total_parents int, completed_parents int,
    attempts int, max_attempts int, backoff_request_seconds numeric, last_attempted_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.id, s.task_id, p.spec ->> 'name', s.state, s.open_parents = 0, s.state = 'waiting_for_retry' AND s.key <= tasker_now(), s.state = 'enqueued',
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
