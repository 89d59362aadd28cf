-- +goose Up
-- The objects in the blob store; see task.LargeResult. state is 0 (sent), 1 (taken as a result) or 2 (to be deleted).
CREATE TABLE tasker_large_results (
    key     TEXT    PRIMARY KEY,
    step_id INTEGER NOT NULL,
    token   INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    sha256  TEXT    NOT NULL,
    state   INTEGER NOT NULL,
    at      INTEGER NOT NULL
);
