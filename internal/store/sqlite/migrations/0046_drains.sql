-- +goose Up
-- Since when a worker drains, and which operator has drained it: '' for the worker itself. A drain of an operator outlives
-- heartbeats and the death of the worker. With no time a node of an older version has drained it, for whoever.
ALTER TABLE tasker_workers ADD COLUMN drained_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasker_workers ADD COLUMN drained_by TEXT NOT NULL DEFAULT '';
ALTER TABLE tasker_workers ADD COLUMN drain_reason TEXT NOT NULL DEFAULT '';
