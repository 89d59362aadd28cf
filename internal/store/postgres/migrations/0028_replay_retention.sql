-- +goose Up
-- When an ended replay is deleted; 0: it has not ended.
ALTER TABLE tasker_replays ADD COLUMN purge_at bigint NOT NULL DEFAULT 0;
UPDATE tasker_replays SET purge_at = created_at + 2592000000000 WHERE state IN ('done', 'cancelled');
CREATE INDEX tasker_replays_purge ON tasker_replays (purge_at) WHERE purge_at <> 0;
