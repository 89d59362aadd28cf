-- +goose Up
-- The end of what attempts have logged, for the last attempts of each step; see task.AttemptLog.
CREATE TABLE tasker_attempt_logs (
    step_id INTEGER NOT NULL,
    token   INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    body    TEXT NOT NULL,
    PRIMARY KEY (step_id, token)
);
