-- +goose Up
-- The objects in the blob store; see task.LargeResult. state is 0 (sent), 1 (taken as a result) or 2 (to be deleted).
CREATE TABLE tasker_large_results (
    key     text COLLATE "C" PRIMARY KEY,
    step_id uuid   NOT NULL,
    token   bigint NOT NULL,
    bytes   bigint NOT NULL,
    sha256  text   NOT NULL,
    state   bigint NOT NULL,
    at      bigint NOT NULL
);
