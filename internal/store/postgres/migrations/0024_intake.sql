-- +goose Up
-- How messages of a source become tasks: JSON, '' where they become letters.
ALTER TABLE tasker_sources ADD COLUMN intake text NOT NULL DEFAULT '';

-- Tasks made of messages that failed for good, and whose source has not been told yet.
CREATE TABLE tasker_intake_failures (
    failure_id uuid   PRIMARY KEY,
    task_uuid  uuid   NOT NULL,
    at         bigint NOT NULL,
    tries      bigint NOT NULL,
    next_at    bigint NOT NULL,
    error      text   NOT NULL
);
CREATE INDEX tasker_intake_failures_due ON tasker_intake_failures (next_at, failure_id);
