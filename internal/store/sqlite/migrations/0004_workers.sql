-- +goose Up
-- Workers that are watched: where they say how they are, what became of the last
-- looks at it, and since when their circuit breaker is open.
--
-- SQLite cannot change a check, so the table is made anew. Numbers that were given
-- out stay given out.
CREATE TABLE tasker_workers_new (
    worker_no      INTEGER PRIMARY KEY AUTOINCREMENT,
    id             INTEGER NOT NULL UNIQUE,
    name           TEXT    NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('active', 'draining', 'unhealthy', 'dead')),
    namespaces     TEXT    NOT NULL,
    handlers       TEXT    NOT NULL,
    capabilities   TEXT    NOT NULL,
    capacity       INTEGER NOT NULL,
    load           INTEGER NOT NULL,
    host           TEXT    NOT NULL,
    version        TEXT    NOT NULL,
    started_at     INTEGER NOT NULL,
    last_heartbeat INTEGER NOT NULL,
    health_url     TEXT    NOT NULL DEFAULT '',
    probe_failures INTEGER NOT NULL DEFAULT 0,
    probe_error    TEXT    NOT NULL DEFAULT '',
    broken_at      INTEGER NOT NULL DEFAULT 0
);

INSERT INTO sqlite_sequence (name, seq) SELECT 'tasker_workers_new', seq FROM sqlite_sequence WHERE name = 'tasker_workers';

INSERT INTO tasker_workers_new (worker_no, id, name, state, namespaces, handlers, capabilities, capacity, load, host, version, started_at, last_heartbeat)
SELECT worker_no, id, name, state, namespaces, handlers, capabilities, capacity, load, host, version, started_at, last_heartbeat FROM tasker_workers;

DROP TABLE tasker_workers;

ALTER TABLE tasker_workers_new RENAME TO tasker_workers;
