-- +goose Up
-- Failures with one fingerprint on a route, less the successes since; see task.Burst.
CREATE TABLE tasker_bursts (
    route_id bigint NOT NULL,
    group_id bigint NOT NULL,
    since    bigint NOT NULL,
    failures bigint NOT NULL,
    PRIMARY KEY (route_id, group_id)
);
CREATE INDEX tasker_bursts_by_age ON tasker_bursts (since);

-- Outages: a route has one open at most. closed_at is 0 while an outage is open.
CREATE TABLE tasker_outages (
    outage_id uuid   PRIMARY KEY,
    route_id  bigint NOT NULL,
    namespace text   NOT NULL,
    closed_at bigint NOT NULL,
    body      text   NOT NULL
);
CREATE UNIQUE INDEX tasker_outages_open ON tasker_outages (route_id) WHERE closed_at = 0;
CREATE INDEX tasker_outages_closed ON tasker_outages (closed_at) WHERE closed_at > 0;
