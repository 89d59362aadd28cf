-- Workers, dead ones as well: attempts name them by worker_no.
CREATE TABLE tasker_workers (
    worker_no      INTEGER PRIMARY KEY AUTOINCREMENT,
    id             INTEGER NOT NULL UNIQUE,
    name           TEXT    NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('active', 'draining', 'unhealthy', 'dead')),
    namespaces     TEXT    NOT NULL, -- one a line, like the next two
    handlers       TEXT    NOT NULL,
    capabilities   TEXT    NOT NULL,
    capacity       INTEGER NOT NULL,
    load           INTEGER NOT NULL, -- steps that it has
    host           TEXT    NOT NULL,
    version        TEXT    NOT NULL,
    started_at     INTEGER NOT NULL,
    last_heartbeat INTEGER NOT NULL,
    -- Where a worker says how it is, and what became of the last looks at it.
    health_url     TEXT    NOT NULL DEFAULT '',
    probe_failures INTEGER NOT NULL DEFAULT 0,
    probe_error    TEXT    NOT NULL DEFAULT '',
    broken_at      INTEGER NOT NULL DEFAULT 0, -- since when its circuit breaker is open; 0: it is not
    -- how it gets its steps: '' by polling, or over AMQP
    transport      TEXT    NOT NULL DEFAULT '' CHECK (transport IN ('', 'amqp')),
    -- Whether an operator has cordoned it, which is apart from its state: a heartbeat or a drain does not end it.
    cordoned_at    INTEGER NOT NULL DEFAULT 0,
    cordoned_by    TEXT    NOT NULL DEFAULT '',
    cordon_reason  TEXT    NOT NULL DEFAULT '',
    -- Since when it drains, and which operator has drained it: '' for the worker itself. A drain of an operator
    -- outlives heartbeats and the death of the worker.
    drained_at     INTEGER NOT NULL DEFAULT 0,
    drained_by     TEXT    NOT NULL DEFAULT '',
    drain_reason   TEXT    NOT NULL DEFAULT ''
);
