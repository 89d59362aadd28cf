-- +goose Up
-- Snapshots show of what class a failure is, and how many retries a template allows
-- after those of each class.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tasker_shown_failure(failure json, bytes int) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT tasker_object(ARRAY['error_type', 'message', 'stack_trace', 'code', 'http_status', 'response_body', 'retryable', 'class', 'retry_after_seconds', 'details'],
        ARRAY[f.c -> 'error_type', to_json(tasker_cut(f.c ->> 'message', greatest(bytes, 255))), to_json(tasker_cut(nullif(f.c ->> 'stack_trace', ''), bytes)),
            f.c -> 'code', f.c -> 'http_status', to_json(tasker_cut(f.c ->> 'response_body', bytes)), f.c -> 'retryable', f.c -> 'class',
            to_json((f.c ->> 'retry_after_ms')::bigint / 1000.0),
            tasker_cut_json(convert_from(decode(f.c ->> 'details', 'base64'), 'UTF8')::json, bytes)])
    FROM (SELECT replace(failure::text, '\u0000', '\ufffd')::json AS c) f; -- a text cannot hold a NUL
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tasker_shown_template(def bigint) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT tasker_object(ARRAY['namespace_name', 'name', 'version', 'description', 'lifecycle', 'steps', 'input_schema'],
        ARRAY[to_json(d.namespace), to_json(d.name), to_json(d.version), d.body -> 'description',
            tasker_object(ARRAY['max_waiting_for_dependencies_minutes', 'max_waiting_for_retry_minutes', 'max_steps_in_process_minutes', 'max_duration_minutes'],
                ARRAY[to_json(nullif(l.waiting_for_dependencies, 0) / 60000000), to_json(nullif(l.waiting_for_retry, 0) / 60000000),
                    to_json(nullif(l.steps_in_process, 0) / 60000000), to_json(nullif(l.duration, 0) / 60000000)]),
            (SELECT json_agg(tasker_object(
                ARRAY['name', 'handler', 'initialization', 'dependencies', 'retry', 'timeout_seconds', 'required_capabilities'],
                ARRAY[p.spec -> 'name', p.spec -> 'handler', tasker_cut_json(p.spec -> 'initialization', 4096), p.spec -> 'dependencies',
                    tasker_object(ARRAY['retryable', 'max_attempts', 'backoff', 'backoff_base_ms', 'max_backoff_ms', 'jitter', 'limits'],
                        ARRAY[p.spec #> '{retry,Retryable}', p.spec #> '{retry,MaxAttempts}', p.spec #> '{retry,Backoff}',
                            to_json((p.spec #>> '{retry,Base}')::bigint / 1000000), to_json((p.spec #>> '{retry,Max}')::bigint / 1000000),
                            p.spec #> '{retry,Jitter}', p.spec #> '{retry,Limits}']),
                    to_json(coalesce((p.spec ->> 'timeout')::bigint, 0) / 1000000000), p.spec -> 'capabilities']) ORDER BY p.place)
                FROM json_array_elements(d.body -> 'steps') WITH ORDINALITY p (spec, place)),
            tasker_cut_json(d.body -> 'input_schema', 16384)])
    FROM tasker_templates d JOIN tasker_lifecycles l ON l.def_id = d.def_id
    WHERE d.def_id = def AND d.adhoc = 0;
END;
-- +goose StatementEnd
