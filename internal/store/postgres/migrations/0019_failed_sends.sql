-- +goose Up
-- The sends by a policy that have failed since the letter died or was sent last: they count towards its retries.
ALTER TABLE tasker_letters ADD COLUMN failed_sends integer NOT NULL DEFAULT 0;
