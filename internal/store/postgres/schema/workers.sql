-- Workers, dead ones as well: attempts name them by worker_no.
CREATE TABLE tasker_workers (
    worker_no      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id             uuid   NOT NULL UNIQUE,
    name           text   NOT NULL,
    state          text   NOT NULL CHECK (state IN ('active', 'draining', 'unhealthy', 'dead')),
    namespaces     text   NOT NULL, -- one a line, like the next two
    handlers       text   NOT NULL,
    capabilities   text   NOT NULL,
    capacity       int    NOT NULL,
    load           int    NOT NULL, -- steps that it has
    host           text   NOT NULL,
    version        text   NOT NULL,
    started_at     bigint NOT NULL,
    last_heartbeat bigint NOT NULL,
    -- Where a worker says how it is, and what became of the last looks at it.
    health_url     text   NOT NULL DEFAULT '',
    probe_failures int    NOT NULL DEFAULT 0,
    probe_error    text   NOT NULL DEFAULT '',
    broken_at      bigint NOT NULL DEFAULT 0, -- since when its circuit breaker is open; 0: it is not
    -- how it gets its steps: '' by polling, or over AMQP
    transport      text   NOT NULL DEFAULT '' CHECK (transport IN ('', 'amqp')),
    -- Whether an operator has cordoned it, which is apart from its state: a heartbeat or a drain does not end it.
    cordoned_at    bigint NOT NULL DEFAULT 0,
    cordoned_by    text   NOT NULL DEFAULT '',
    cordon_reason  text   NOT NULL DEFAULT '',
    -- Since when it drains, and which operator has drained it: '' for the worker itself. A drain of an operator
    -- outlives heartbeats and the death of the worker.
    drained_at     bigint NOT NULL DEFAULT 0,
    drained_by     text   NOT NULL DEFAULT '',
    drain_reason   text   NOT NULL DEFAULT ''
);
