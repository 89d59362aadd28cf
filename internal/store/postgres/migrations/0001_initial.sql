-- +goose Up
-- Times are microseconds since 1970; 0 is never. The rows of the hot path change
-- often and are vacuumed eagerly; a column that changes on the happy path is in no
-- index but the queue's, so that the rows of tasks are updated in place (HOT).

CREATE TABLE tasker_meta (
    key   text PRIMARY KEY,
    value text NOT NULL
);
INSERT INTO tasker_meta (key, value) VALUES ('installation', gen_random_uuid()::text);

CREATE TABLE tasker_templates (
    def_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace   text   NOT NULL,
    name        text   NOT NULL,
    version     text   NOT NULL,
    adhoc       int    NOT NULL, -- 1: stands in for a handler submitted by name
    fingerprint text   NOT NULL,
    created_at  bigint NOT NULL,
    source      text   NOT NULL,
    body        json   NOT NULL,
    UNIQUE (namespace, name, version, adhoc)
);

CREATE TABLE tasker_routes (
    route_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace    text NOT NULL,
    handler      text NOT NULL,
    capabilities text NOT NULL, -- sorted, one a line
    UNIQUE (namespace, handler, capabilities)
);

CREATE TABLE tasker_workers (
    worker_no      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id             uuid   NOT NULL UNIQUE,
    name           text   NOT NULL,
    state          text   NOT NULL CHECK (state IN ('active', 'draining', 'dead')),
    namespaces     text   NOT NULL,
    handlers       text   NOT NULL,
    capabilities   text   NOT NULL,
    capacity       int    NOT NULL,
    load           int    NOT NULL,
    host           text   NOT NULL,
    version        text   NOT NULL,
    started_at     bigint NOT NULL,
    last_heartbeat bigint NOT NULL
);

CREATE TABLE tasker_tasks (
    def_id          bigint   NOT NULL,
    created_at      bigint   NOT NULL,
    run_at          bigint   NOT NULL,
    finished_at     bigint   NOT NULL,
    deadline_at     bigint   NOT NULL,
    steps_pending   int      NOT NULL,
    steps_active    int      NOT NULL,
    steps_waiting   int      NOT NULL,
    steps_done      int      NOT NULL,
    steps_failed    int      NOT NULL,
    steps_cancelled int      NOT NULL,
    manual_ends     int      NOT NULL,
    priority        smallint NOT NULL,
    id              uuid     PRIMARY KEY,
    state           text     NOT NULL,
    -- the state, where it is one that an operator looks for; NULL on the happy path
    notable_state   text GENERATED ALWAYS AS (CASE WHEN state = 'steps_in_process' OR state = 'complete' THEN NULL ELSE state END) STORED,
    correlation_id  text,
    idempotency_key text,
    meta            json,
    context         json,
    CONSTRAINT task_state CHECK (
        state = 'steps_in_process' OR state = 'complete' OR state = 'pending' OR state = 'waiting_for_retry'
        OR state = 'error' OR state = 'cancelled' OR state = 'resolved_manually' OR state = 'waiting_for_dependencies'
        OR state = 'initializing' OR state = 'enqueuing_steps' OR state = 'evaluating_results' OR state = 'blocked_by_failures')
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1, autovacuum_vacuum_cost_limit = 2000, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX tasker_tasks_by_state ON tasker_tasks (def_id, notable_state, id) WHERE notable_state IS NOT NULL;
CREATE INDEX tasker_tasks_by_correlation ON tasker_tasks (correlation_id, id) WHERE correlation_id <> '';
CREATE INDEX tasker_tasks_by_deadline ON tasker_tasks (deadline_at) WHERE deadline_at > 0;

CREATE TABLE tasker_workflow_steps (
    def_id       bigint   NOT NULL,
    route_id     bigint   NOT NULL,
    queue        bigint, -- a route, -1 timers, -2 leases; NULL: nothing will happen to it by itself
    key          bigint,
    timeout_ms   bigint   NOT NULL,
    token        bigint   NOT NULL,
    worker_no    bigint   NOT NULL,
    ready_at     bigint   NOT NULL,
    assigned_at  bigint   NOT NULL,
    started_at   bigint   NOT NULL,
    finished_at  bigint   NOT NULL,
    lease_until  bigint   NOT NULL,
    ordinal      int      NOT NULL,
    open_parents int      NOT NULL,
    attempts     int      NOT NULL,
    max_attempts int      NOT NULL,
    priority     smallint NOT NULL,
    progress     smallint NOT NULL,
    id           uuid     PRIMARY KEY,
    task_id      uuid     NOT NULL,
    state        text     NOT NULL,
    note         text,
    result       json,
    CONSTRAINT step_state CHECK (
        state = 'enqueued' OR state = 'in_progress' OR state = 'complete' OR state = 'pending' OR state = 'assigned'
        OR state = 'waiting_for_retry' OR state = 'error' OR state = 'cancelled' OR state = 'resolved_manually'
        OR state = 'enqueued_for_orchestration')
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1, autovacuum_vacuum_cost_limit = 2000, autovacuum_analyze_scale_factor = 0.05);
-- The one queue index: ready steps by route and ordering key, waiting ones by the
-- time they are due, leased ones by the time to look after them.
CREATE INDEX tasker_workflow_steps_queue ON tasker_workflow_steps (queue, key, id) WHERE queue IS NOT NULL;

CREATE TABLE tasker_task_tags (
    tag     text NOT NULL,
    task_id uuid NOT NULL,
    PRIMARY KEY (tag, task_id)
);

CREATE TABLE tasker_idempotency_keys (
    namespace  text   NOT NULL,
    key        text   NOT NULL,
    task_id    uuid   NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (namespace, key)
);
CREATE INDEX tasker_idempotency_keys_by_expiry ON tasker_idempotency_keys (expires_at);

-- Leases that ended in anything but success; a success is told by the step.
CREATE TABLE tasker_attempts (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id     uuid   NOT NULL,
    step_id     uuid   NOT NULL,
    token       bigint NOT NULL,
    number      int    NOT NULL,
    worker_no   bigint NOT NULL,
    outcome     text   NOT NULL,
    ready_at    bigint NOT NULL,
    assigned_at bigint NOT NULL,
    started_at  bigint NOT NULL,
    finished_at bigint NOT NULL,
    after_state text   NOT NULL,
    failure     json
);
CREATE INDEX tasker_attempts_by_task ON tasker_attempts (task_id);

CREATE TABLE tasker_task_events (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id    uuid   NOT NULL,
    at         bigint NOT NULL,
    from_state text   NOT NULL,
    to_state   text   NOT NULL,
    cause      text   NOT NULL
);
CREATE INDEX tasker_task_events_by_task ON tasker_task_events (task_id);

-- What operators did. Rows are only ever added.
CREATE TABLE tasker_acts (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id    uuid   NOT NULL,
    step_id    uuid,
    at         bigint NOT NULL,
    kind       text   NOT NULL,
    actor      text   NOT NULL,
    reason     text   NOT NULL,
    from_state text   NOT NULL,
    to_state   text   NOT NULL,
    data       json
);
CREATE INDEX tasker_acts_by_task ON tasker_acts (task_id);

-- Whose turn it is at a loop that runs once for all nodes.
CREATE TABLE tasker_turns (
    loop       text   PRIMARY KEY,
    node       text   NOT NULL,
    taken_at   bigint NOT NULL,
    held_until bigint NOT NULL
);

-- Ends a transaction whose guarded updates did not find every row as it was read.
-- +goose StatementBegin
CREATE FUNCTION tasker_expect(as_read bigint, wanted bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF as_read <> wanted THEN
        RAISE EXCEPTION 'rows were changed meanwhile: % of % as read', as_read, wanted USING ERRCODE = 'TK001';
    END IF;
END $$;
-- +goose StatementEnd
