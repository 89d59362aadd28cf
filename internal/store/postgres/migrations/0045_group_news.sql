-- +goose Up
-- 1: stored with failures of which nobody was told yet. Groups of older databases have deltas for those.
ALTER TABLE tasker_groups ADD COLUMN fresh bigint NOT NULL DEFAULT 0;
CREATE INDEX tasker_groups_fresh ON tasker_groups (group_id) WHERE fresh = 1;
-- When a group that has not failed for long is deleted; 0: not.
ALTER TABLE tasker_groups ADD COLUMN purge_at bigint NOT NULL DEFAULT 0;
-- Lists, in each order, with what most filters look at: they find their first page without reading all groups.
DROP INDEX tasker_groups_by_namespace;
CREATE INDEX tasker_groups_by_last ON tasker_groups (last_at, group_id, namespace, state, owner, place)
    WHERE merged_into = 0;
CREATE INDEX tasker_groups_by_first ON tasker_groups (first_at, group_id, namespace, state, owner, place)
    WHERE merged_into = 0;
CREATE INDEX tasker_groups_by_open ON tasker_groups ((open_letters + open_cases), group_id, namespace, state, owner, place)
    WHERE merged_into = 0;
-- The changes of a few groups are found without reading those of all.
CREATE INDEX tasker_group_deltas_by_group ON tasker_group_deltas (group_id);
-- Ended redrives, to be deleted.
CREATE INDEX tasker_redrives_ended ON tasker_redrives (ended_at, redrive_id) WHERE ended_at <> 0;
