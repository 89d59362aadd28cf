-- +goose Up
-- The last checkpoint of each step that has one; see task.Checkpoint. The steps of a task are a range.
CREATE TABLE tasker_checkpoints (
    step_id uuid   PRIMARY KEY,
    task_id uuid NOT NULL,
    token   bigint NOT NULL,
    at      bigint NOT NULL,
    bytes   bigint NOT NULL,
    body    text NOT NULL
);
