-- +goose Up
-- What operators hold back; one row for each target. ended_at is 0 while the pause is in force, until_at is 0 for one
-- without an end.
CREATE TABLE tasker_pauses (
    kind         text   NOT NULL,
    namespace    text   NOT NULL,
    name         text   NOT NULL,
    capabilities text   NOT NULL,
    actor        text   NOT NULL,
    reason       text   NOT NULL,
    paused_at    bigint NOT NULL,
    until_at     bigint NOT NULL,
    ended_at     bigint NOT NULL,
    ended_by     text   NOT NULL,
    end_reason   text   NOT NULL,
    PRIMARY KEY (kind, namespace, name, capabilities)
);

-- Routes that are held back because their steps fail alike. closed_at is 0 while the outage is open; probe_at is when
-- the next step may be let through, and changes with each probe.
CREATE TABLE tasker_outages (
    id           uuid   PRIMARY KEY,
    namespace    text   NOT NULL,
    handler      text   NOT NULL,
    capabilities text   NOT NULL,
    opened_at    bigint NOT NULL,
    closed_at    bigint NOT NULL,
    probe_at     bigint NOT NULL,
    data         text   NOT NULL
);
CREATE UNIQUE INDEX tasker_outages_open ON tasker_outages (namespace, handler, capabilities) WHERE closed_at = 0;

-- How many attempts of a route ended with a fingerprint in a short time; "" counts all attempts.
CREATE TABLE tasker_outage_counts (
    bucket      bigint NOT NULL,
    route_id    bigint NOT NULL,
    fingerprint text   NOT NULL,
    attempts    bigint NOT NULL,
    PRIMARY KEY (bucket, route_id, fingerprint)
);
