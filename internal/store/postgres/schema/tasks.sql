-- Templates, a row per version. A version never changes, so nodes keep what they have read.
CREATE TABLE tasker_templates (
    def_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace   text   NOT NULL,
    name        text   NOT NULL,
    version     text   NOT NULL,
    adhoc       int    NOT NULL, -- 1: stands in for a handler that was submitted by name
    fingerprint text   NOT NULL, -- hash of the template; the same version with another one is refused
    created_at  bigint NOT NULL,
    source      text   NOT NULL, -- as it was registered
    body        json   NOT NULL, -- JSON, as the engine reads it
    UNIQUE (namespace, name, version, adhoc)
);

-- A route is who may run a step: a handler of a namespace and the capabilities that its worker needs. Its number is
-- the step's queue.
CREATE TABLE tasker_routes (
    route_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace    text   NOT NULL,
    handler      text   NOT NULL,
    capabilities text   NOT NULL, -- sorted, one a line
    UNIQUE (namespace, handler, capabilities)
);

-- Tasks. The counts of steps by kind of state let the engine derive the state of a task without its steps.
CREATE TABLE tasker_tasks (
    def_id          bigint   NOT NULL,
    created_at      bigint   NOT NULL,
    run_at          bigint   NOT NULL, -- not before this time
    finished_at     bigint   NOT NULL, -- 0 while it is not settled
    deadline_at     bigint   NOT NULL, -- of the template's max_duration; 0: none
    steps_pending   int      NOT NULL,
    steps_active    int      NOT NULL,
    steps_waiting   int      NOT NULL,
    steps_done      int      NOT NULL,
    steps_failed    int      NOT NULL,
    steps_cancelled int      NOT NULL,
    manual_ends     int      NOT NULL, -- steps without dependants that an operator resolved
    priority        smallint NOT NULL,
    id              uuid     PRIMARY KEY,
    state           text     NOT NULL,
    -- the state, where it is one that an operator looks for; NULL on the happy path
    notable_state   text     GENERATED ALWAYS AS
        (CASE WHEN state = 'steps_in_process' OR state = 'complete' THEN NULL ELSE state END) STORED,
    correlation_id  text,
    idempotency_key text,
    meta            json, -- JSON: what is shown and not searched; see task.Meta
    context         json, -- JSON: the input
    -- Since when a task is in its state, or made progress in it. In no index: it changes on the happy path.
    state_at        bigint   NOT NULL DEFAULT 0,
    CONSTRAINT task_state CHECK (
        state = 'steps_in_process' OR state = 'complete' OR state = 'pending' OR state = 'waiting_for_retry'
        OR state = 'error' OR state = 'cancelled' OR state = 'resolved_manually' OR state = 'waiting_for_dependencies'
        OR state = 'initializing' OR state = 'enqueuing_steps' OR state = 'evaluating_results'
            OR state = 'blocked_by_failures')
) WITH (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1,
    autovacuum_vacuum_cost_limit = 2000, autovacuum_analyze_scale_factor = 0.05
);
CREATE INDEX tasker_tasks_by_state ON tasker_tasks (def_id, notable_state, id) WHERE notable_state IS NOT NULL;
CREATE INDEX tasker_tasks_by_correlation ON tasker_tasks (correlation_id, id) WHERE correlation_id <> '';
CREATE INDEX tasker_tasks_by_deadline ON tasker_tasks (deadline_at) WHERE deadline_at > 0;
-- Tasks by who asked for them. A row without that, which is one of most, costs the look at a column that is NULL.
CREATE INDEX tasker_tasks_by_initiator ON tasker_tasks ((meta ->> 'initiator'), id)
    WHERE meta ->> 'initiator' IS NOT NULL;

-- Steps, and the queue: a step that something will happen to stands in exactly one queue, at the place key.
CREATE TABLE tasker_workflow_steps (
    def_id       bigint   NOT NULL,
    route_id     bigint   NOT NULL,
    queue        bigint, -- a route; -1 timers, -2 leases, -3 outside; below: a gate; NULL: nothing happens by itself
    key          bigint, -- place in the queue: priority and time, or the time when it is due
    timeout_ms   bigint   NOT NULL,
    -- number of the last lease: it grows with every lease, and a report under another one is refused
    token        bigint   NOT NULL,
    worker_no    bigint   NOT NULL, -- who has it, or had it last
    ready_at     bigint   NOT NULL, -- when it was enqueued last
    assigned_at  bigint   NOT NULL,
    started_at   bigint   NOT NULL,
    finished_at  bigint   NOT NULL,
    lease_until  bigint   NOT NULL, -- 0 without a lease
    ordinal      int      NOT NULL, -- place in the template, from 1
    open_parents int      NOT NULL, -- parents that are not satisfied yet
    attempts     int      NOT NULL, -- begun since the last reset
    max_attempts int      NOT NULL,
    priority     smallint NOT NULL,
    progress     smallint NOT NULL, -- percent
    id           uuid     PRIMARY KEY,
    task_id      uuid     NOT NULL,
    state        text     NOT NULL,
    note         text, -- the worker's status message
    result       json,
    CONSTRAINT step_state CHECK (
        state = 'enqueued' OR state = 'in_progress' OR state = 'complete' OR state = 'pending' OR state = 'assigned'
        OR state = 'waiting_for_retry' OR state = 'error' OR state = 'cancelled' OR state = 'resolved_manually'
        OR state = 'waiting' OR state = 'skipped' OR state = 'enqueued_for_orchestration')
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1,
    autovacuum_vacuum_cost_limit = 2000, autovacuum_analyze_scale_factor = 0.05
);
-- The one queue index: ready steps by route and ordering key, waiting ones by the time they are due, leased ones by
-- the time to look after them (docs/design/0002-one-queue-index.md).
CREATE INDEX tasker_workflow_steps_queue ON tasker_workflow_steps (queue, key, id) WHERE queue IS NOT NULL;

-- Tags of tasks, for lists; the task has them in its meta too.
CREATE TABLE tasker_task_tags (
    tag     text NOT NULL,
    task_id uuid NOT NULL,
    PRIMARY KEY (tag, task_id)
);

-- Keys by which a submission that is sent again finds its task.
CREATE TABLE tasker_idempotency_keys (
    namespace  text   NOT NULL,
    key        text   NOT NULL,
    task_id    uuid   NOT NULL,
    expires_at bigint NOT NULL,
    -- of what was submitted with the key: other content under the same key is refused
    hash       text   NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, key)
);
CREATE INDEX tasker_idempotency_keys_by_expiry ON tasker_idempotency_keys (expires_at);

-- The task that a unique key is bound to. It guards the key in the phases of guards, until expires_at (0: no bound).
CREATE TABLE tasker_unique_keys (
    namespace  text   NOT NULL,
    key        text   NOT NULL,
    task_id    uuid   NOT NULL,
    expires_at bigint NOT NULL,
    guards     text   NOT NULL,
    PRIMARY KEY (namespace, key)
);
CREATE INDEX tasker_unique_keys_by_expiry ON tasker_unique_keys (expires_at) WHERE expires_at > 0;

-- Leases that ended in anything but success; the step itself records a success.
CREATE TABLE tasker_attempts (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id     uuid   NOT NULL,
    step_id     uuid   NOT NULL,
    token       bigint NOT NULL,
    number      int    NOT NULL, -- of the attempt, since the last reset
    worker_no   bigint NOT NULL,
    outcome     text   NOT NULL,
    ready_at    bigint NOT NULL,
    assigned_at bigint NOT NULL,
    started_at  bigint NOT NULL,
    finished_at bigint NOT NULL,
    after_state text   NOT NULL, -- of the step
    failure     json             -- JSON; NULL where nothing failed
);
CREATE INDEX tasker_attempts_by_task ON tasker_attempts (task_id);
-- Dispatches that expired in the queues of their workers are counted by hour, worker and template.
CREATE INDEX tasker_attempts_expired ON tasker_attempts (finished_at) WHERE outcome = 'dispatch_expired';

-- The end of what attempts have logged, for the last attempts of each step; see task.AttemptLog.
CREATE TABLE tasker_attempt_logs (
    step_id uuid   NOT NULL,
    token   bigint NOT NULL,
    task_id uuid   NOT NULL,
    number  bigint NOT NULL,
    at      bigint NOT NULL,
    bytes   bigint NOT NULL,
    body    text   NOT NULL,
    PRIMARY KEY (step_id, token)
);

-- The last checkpoint of each step that has one; see task.Checkpoint. The steps of a task are a range.
CREATE TABLE tasker_checkpoints (
    step_id uuid   PRIMARY KEY,
    task_id uuid   NOT NULL,
    token   bigint NOT NULL,
    at      bigint NOT NULL,
    bytes   bigint NOT NULL,
    body    text   NOT NULL
);

-- Objects in the blob store; see task.LargeResult.
CREATE TABLE tasker_large_results (
    key     text   COLLATE "C" PRIMARY KEY,
    step_id uuid   NOT NULL,
    token   bigint NOT NULL,
    bytes   bigint NOT NULL,
    sha256  text   NOT NULL,
    state   bigint NOT NULL, -- 0 sent, 1 taken as a result, 2 to be deleted
    at      bigint NOT NULL
);

-- Changes of the states of tasks. What can be derived from the rows of a task is not stored
-- (docs/design/0003-derived-history.md).
CREATE TABLE tasker_task_events (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id    uuid   NOT NULL,
    at         bigint NOT NULL,
    from_state text   NOT NULL,
    to_state   text   NOT NULL,
    cause      text   NOT NULL
);
CREATE INDEX tasker_task_events_by_task ON tasker_task_events (task_id);

-- Ends a transaction whose guarded updates did not find every row as it was read.
CREATE FUNCTION tasker_expect(as_read bigint, wanted bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF as_read <> wanted THEN
        RAISE EXCEPTION 'rows were changed meanwhile: % of % as read', as_read, wanted USING ERRCODE = 'TK001';
    END IF;
END $$;

-- What a node remembers of templates and routes may be wrong once the database has gone back in time (a standby that
-- was behind took over, a backup was swapped in). Every submission checks it in its own transaction.
CREATE FUNCTION tasker_expect_known(as_known bigint, wanted bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF as_known <> wanted THEN
        RAISE EXCEPTION 'templates or routes are not those that were known: % of % are', as_known,
            wanted USING ERRCODE = 'TK002';
    END IF;
END $$;
