-- +goose Up
-- Events that webhooks receive, written with what they tell of. body is JSON.
CREATE TABLE tasker_inbox_events (
    event_id  uuid     PRIMARY KEY,
    at        bigint   NOT NULL,
    submitted smallint NOT NULL, -- the tasks that deliver it exist
    body      text     NOT NULL
);
CREATE INDEX tasker_inbox_events_waiting ON tasker_inbox_events (event_id) WHERE submitted = 0;
CREATE INDEX tasker_inbox_events_by_time ON tasker_inbox_events (at);

-- When the first failure of a group was noticed, and its last burst. Groups that exist are no news.
ALTER TABLE tasker_groups ADD COLUMN told_at bigint NOT NULL DEFAULT 0;
ALTER TABLE tasker_groups ADD COLUMN burst_at bigint NOT NULL DEFAULT 0;
UPDATE tasker_groups SET told_at = first_at;
-- The mean time to resolve of a namespace.
CREATE INDEX tasker_groups_resolved ON tasker_groups (namespace, resolutions, open_for) WHERE resolutions > 0;

-- Since when a source cannot be read, and why.
ALTER TABLE tasker_sources ADD COLUMN lost_at bigint NOT NULL DEFAULT 0;
ALTER TABLE tasker_sources ADD COLUMN lost_for text NOT NULL DEFAULT '';
