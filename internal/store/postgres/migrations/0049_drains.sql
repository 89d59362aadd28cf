-- +goose Up
-- Since when a worker drains, and which operator has drained it: '' for the worker itself. A drain of an operator outlives
-- heartbeats and the death of the worker. With no time a node of an older version has drained it, for whoever.
ALTER TABLE tasker_workers ADD COLUMN drained_at bigint NOT NULL DEFAULT 0;
ALTER TABLE tasker_workers ADD COLUMN drained_by text NOT NULL DEFAULT '';
ALTER TABLE tasker_workers ADD COLUMN drain_reason text NOT NULL DEFAULT '';
