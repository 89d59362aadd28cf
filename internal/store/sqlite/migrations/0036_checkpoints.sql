-- +goose Up
-- The last checkpoint of each step that has one; see task.Checkpoint. The steps of a task are a range.
CREATE TABLE tasker_checkpoints (
    step_id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL,
    token   INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    body    TEXT NOT NULL
);
