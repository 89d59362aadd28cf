-- +goose Up
-- Failures with one fingerprint on a route, less the successes since; see task.Burst.
CREATE TABLE tasker_bursts (
    route_id INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    since    INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    PRIMARY KEY (route_id, group_id)
) WITHOUT ROWID;
CREATE INDEX tasker_bursts_by_age ON tasker_bursts (since);

-- Outages: a route has one open at most. closed_at is 0 while an outage is open.
CREATE TABLE tasker_outages (
    outage_id INTEGER PRIMARY KEY,
    route_id  INTEGER NOT NULL,
    namespace TEXT    NOT NULL,
    closed_at INTEGER NOT NULL,
    body      TEXT    NOT NULL
);
CREATE UNIQUE INDEX tasker_outages_open ON tasker_outages (route_id) WHERE closed_at = 0;
CREATE INDEX tasker_outages_closed ON tasker_outages (closed_at) WHERE closed_at > 0;
