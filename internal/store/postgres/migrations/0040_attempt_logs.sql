-- +goose Up
-- The end of what attempts have logged, for the last attempts of each step; see task.AttemptLog.
CREATE TABLE tasker_attempt_logs (
    step_id uuid NOT NULL,
    token   bigint NOT NULL,
    task_id uuid NOT NULL,
    number  bigint NOT NULL,
    at      bigint NOT NULL,
    bytes   bigint NOT NULL,
    body    text NOT NULL,
    PRIMARY KEY (step_id, token)
);
