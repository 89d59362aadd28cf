-- +goose Up
-- What else a dead letter told of its failure: a JSON list of names and values, packed like a stack.
ALTER TABLE tasker_letter_occurrences ADD COLUMN details BLOB;
