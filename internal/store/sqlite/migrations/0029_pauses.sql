-- +goose Up
-- What operators hold back; one row for each target. ended_at is 0 while the pause is in force, until_at is 0 for one
-- without an end.
CREATE TABLE tasker_pauses (
    kind         TEXT    NOT NULL,
    namespace    TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    capabilities TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    paused_at    INTEGER NOT NULL,
    until_at     INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    ended_by     TEXT    NOT NULL,
    end_reason   TEXT    NOT NULL,
    PRIMARY KEY (kind, namespace, name, capabilities)
);

-- Routes that are held back because their steps fail alike. closed_at is 0 while the outage is open; probe_at is when
-- the next step may be let through, and changes with each probe.
CREATE TABLE tasker_outages (
    id           INTEGER PRIMARY KEY,
    namespace    TEXT    NOT NULL,
    handler      TEXT    NOT NULL,
    capabilities TEXT    NOT NULL,
    opened_at    INTEGER NOT NULL,
    closed_at    INTEGER NOT NULL,
    probe_at     INTEGER NOT NULL,
    data         TEXT    NOT NULL
);
CREATE UNIQUE INDEX tasker_outages_open ON tasker_outages (namespace, handler, capabilities) WHERE closed_at = 0;

-- How many attempts of a route ended with a fingerprint in a short time; "" counts all attempts.
CREATE TABLE tasker_outage_counts (
    bucket      INTEGER NOT NULL,
    route_id    INTEGER NOT NULL,
    fingerprint TEXT    NOT NULL,
    attempts    INTEGER NOT NULL,
    PRIMARY KEY (bucket, route_id, fingerprint)
);
