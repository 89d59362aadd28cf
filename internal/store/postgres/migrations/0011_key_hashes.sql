-- +goose Up
-- A hash of what was submitted with the key; '' for keys that were stored without one.
ALTER TABLE tasker_idempotency_keys ADD COLUMN hash text NOT NULL DEFAULT '';
