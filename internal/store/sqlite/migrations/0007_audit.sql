-- +goose Up
-- An act may be about no task: about a worker, a template or a key. It tells how its
-- actor was known, and which key the request carried, beside the name that was claimed.
CREATE TABLE tasker_acts_kept (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id    INTEGER,
    step_id    INTEGER,
    case_id    INTEGER,
    worker_id  INTEGER,
    namespace  TEXT,
    template   TEXT,
    at         INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    auth       TEXT    NOT NULL DEFAULT '' CHECK (auth = '' OR auth = 'key' OR auth = 'none' OR auth = 'system'),
    key_name   TEXT,
    reason     TEXT    NOT NULL,
    from_state TEXT    NOT NULL,
    to_state   TEXT    NOT NULL,
    data       TEXT
);
INSERT INTO tasker_acts_kept (id, task_id, step_id, case_id, at, kind, actor, reason, from_state, to_state, data)
 SELECT id, task_id, step_id, case_id, at, kind, actor, reason, from_state, to_state, data FROM tasker_acts;
-- The number of an act that was deleted is not given out again.
DELETE FROM sqlite_sequence WHERE name = 'tasker_acts_kept';
INSERT INTO sqlite_sequence (name, seq) SELECT 'tasker_acts_kept', seq FROM sqlite_sequence WHERE name = 'tasker_acts';
DROP TABLE tasker_acts;
ALTER TABLE tasker_acts_kept RENAME TO tasker_acts;
CREATE INDEX tasker_acts_by_task ON tasker_acts (task_id);
CREATE INDEX tasker_acts_by_case ON tasker_acts (case_id, id) WHERE case_id IS NOT NULL;
CREATE INDEX tasker_acts_by_actor ON tasker_acts (actor, id);
CREATE INDEX tasker_acts_by_kind ON tasker_acts (kind, id);
CREATE INDEX tasker_acts_by_worker ON tasker_acts (worker_id, id) WHERE worker_id IS NOT NULL;
CREATE INDEX tasker_acts_by_template ON tasker_acts (namespace, template, id) WHERE namespace IS NOT NULL;
CREATE INDEX tasker_acts_by_key ON tasker_acts (key_name, id) WHERE key_name IS NOT NULL;

-- Whose key resolved a case.
ALTER TABLE tasker_tasks_dlq ADD COLUMN resolved_key TEXT;

-- Acts are only ever added, whoever has the file open. INSERT OR REPLACE deletes
-- without the trigger of DELETE, hence the third; to insert the same row again, which
-- a copy that is run again does, changes nothing.
-- +goose StatementBegin
CREATE TRIGGER tasker_acts_keep_from_update BEFORE UPDATE ON tasker_acts BEGIN
    SELECT RAISE(ABORT, 'tasker_acts is only ever added to: UPDATE is refused');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasker_acts_keep_from_delete BEFORE DELETE ON tasker_acts BEGIN
    SELECT RAISE(ABORT, 'tasker_acts is only ever added to: DELETE is refused');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasker_acts_keep_from_replace BEFORE INSERT ON tasker_acts
 WHEN EXISTS (SELECT 1 FROM tasker_acts a WHERE a.id = NEW.id AND
 (a.task_id, a.step_id, a.case_id, a.worker_id, a.namespace, a.template, a.at, a.kind, a.actor, a.auth, a.key_name, a.reason,
  a.from_state, a.to_state, a.data) IS NOT
 (NEW.task_id, NEW.step_id, NEW.case_id, NEW.worker_id, NEW.namespace, NEW.template, NEW.at, NEW.kind, NEW.actor, NEW.auth,
  NEW.key_name, NEW.reason, NEW.from_state, NEW.to_state, NEW.data)) BEGIN
    SELECT RAISE(ABORT, 'tasker_acts is only ever added to: REPLACE is refused');
END;
-- +goose StatementEnd
