-- +goose Up
-- What a source marks as sensitive in its letters: JSON with pointers and names of headers, '' for nothing.
ALTER TABLE tasker_sources ADD COLUMN sensitive TEXT NOT NULL DEFAULT '';
