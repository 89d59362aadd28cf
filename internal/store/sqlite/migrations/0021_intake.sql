-- +goose Up
-- How messages of a source become tasks: JSON, '' where they become letters.
ALTER TABLE tasker_sources ADD COLUMN intake TEXT NOT NULL DEFAULT '';

-- Tasks made of messages that failed for good, and whose source has not been told yet.
CREATE TABLE tasker_intake_failures (
    failure_id INTEGER PRIMARY KEY,
    task_uuid  INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    tries      INTEGER NOT NULL,
    next_at    INTEGER NOT NULL,
    error      TEXT    NOT NULL
);
CREATE INDEX tasker_intake_failures_due ON tasker_intake_failures (next_at, failure_id);
