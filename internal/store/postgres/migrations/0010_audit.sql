-- +goose Up
-- An act may be about no task: about a worker, a template or a key. It tells how its
-- actor was known, and which key the request carried, beside the name that was claimed.
ALTER TABLE tasker_acts ALTER COLUMN task_id DROP NOT NULL;
ALTER TABLE tasker_acts
    ADD COLUMN worker_id uuid,
    ADD COLUMN namespace text,
    ADD COLUMN template  text,
    ADD COLUMN auth      text NOT NULL DEFAULT '' CHECK (auth = '' OR auth = 'key' OR auth = 'none' OR auth = 'system'),
    ADD COLUMN key_name  text;
CREATE INDEX tasker_acts_by_worker ON tasker_acts (worker_id, id) WHERE worker_id IS NOT NULL;
CREATE INDEX tasker_acts_by_template ON tasker_acts (namespace, template, id) WHERE namespace IS NOT NULL;
CREATE INDEX tasker_acts_by_key ON tasker_acts (key_name, id) WHERE key_name IS NOT NULL;

-- Whose key resolved a case.
ALTER TABLE tasker_tasks_dlq ADD COLUMN resolved_key text;

-- Acts are only ever added, whoever is connected.
-- +goose StatementBegin
CREATE FUNCTION tasker_keep_acts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'tasker_acts is only ever added to: % is refused', TG_OP USING ERRCODE = 'TK002';
END $$;
-- +goose StatementEnd
CREATE TRIGGER tasker_acts_are_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON tasker_acts
    FOR EACH STATEMENT EXECUTE FUNCTION tasker_keep_acts();
ALTER TABLE tasker_acts ENABLE ALWAYS TRIGGER tasker_acts_are_kept;
