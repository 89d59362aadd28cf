-- Templates, a row per version. A version never changes, so nodes keep what they have read.
CREATE TABLE tasker_templates (
    def_id      INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    version     TEXT    NOT NULL,
    adhoc       INTEGER NOT NULL, -- 1: stands in for a handler that was submitted by name
    fingerprint TEXT    NOT NULL, -- hash of the template; the same version with another one is refused
    created_at  INTEGER NOT NULL,
    source      TEXT    NOT NULL, -- as it was registered
    body        TEXT    NOT NULL, -- JSON, as the engine reads it
    UNIQUE (namespace, name, version, adhoc)
);

-- A route is who may run a step: a handler of a namespace and the capabilities that its worker needs. Its number is
-- the step's queue.
CREATE TABLE tasker_routes (
    route_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace    TEXT    NOT NULL,
    handler      TEXT    NOT NULL,
    capabilities TEXT    NOT NULL, -- sorted, one a line
    UNIQUE (namespace, handler, capabilities)
);

-- Tasks. The counts of steps by kind of state let the engine derive the state of a task without its steps.
CREATE TABLE tasker_tasks (
    id              INTEGER PRIMARY KEY,
    def_id          INTEGER NOT NULL,
    state           TEXT    NOT NULL,
    priority        INTEGER NOT NULL,
    steps_pending   INTEGER NOT NULL,
    steps_active    INTEGER NOT NULL,
    steps_waiting   INTEGER NOT NULL,
    steps_done      INTEGER NOT NULL,
    steps_failed    INTEGER NOT NULL,
    steps_cancelled INTEGER NOT NULL,
    manual_ends     INTEGER NOT NULL, -- steps without dependants that an operator resolved
    created_at      INTEGER NOT NULL,
    run_at          INTEGER NOT NULL, -- not before this time
    finished_at     INTEGER NOT NULL, -- 0 while it is not settled
    deadline_at     INTEGER NOT NULL, -- of the template's max_duration; 0: none
    correlation_id  TEXT,
    idempotency_key TEXT,
    meta            TEXT, -- JSON: what is shown and not searched; see task.Meta
    context         TEXT, -- JSON: the input
    -- Since when a task is in its state, or made progress in it. In no index: it changes on the happy path.
    state_at        INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT task_state CHECK (
        state = 'steps_in_process' OR state = 'complete' OR state = 'pending' OR state = 'waiting_for_retry'
        OR state = 'error' OR state = 'cancelled' OR state = 'resolved_manually' OR state = 'waiting_for_dependencies'
        OR state = 'initializing' OR state = 'enqueuing_steps' OR state = 'evaluating_results'
            OR state = 'blocked_by_failures')
);
CREATE INDEX tasker_tasks_by_state ON tasker_tasks (def_id, state, id);
CREATE INDEX tasker_tasks_by_correlation ON tasker_tasks (correlation_id, id) WHERE correlation_id <> '';
CREATE INDEX tasker_tasks_by_deadline ON tasker_tasks (deadline_at) WHERE deadline_at > 0;
-- Tasks by who asked for them. A row without that, which is one of most, costs the look at a column that is NULL.
CREATE INDEX tasker_tasks_by_initiator ON tasker_tasks (meta ->> 'initiator', id)
    WHERE meta ->> 'initiator' IS NOT NULL;

-- Steps, and the queue: a step that something will happen to stands in exactly one queue, at the place key.
CREATE TABLE tasker_workflow_steps (
    id           INTEGER PRIMARY KEY,
    task_id      INTEGER NOT NULL,
    ordinal      INTEGER NOT NULL, -- place in the template, from 1
    def_id       INTEGER NOT NULL,
    route_id     INTEGER NOT NULL,
    priority     INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    open_parents INTEGER NOT NULL, -- parents that are not satisfied yet
    queue        INTEGER, -- a route; -1 timers, -2 leases, -3 outside; below: a gate; NULL: nothing happens by itself
    key          INTEGER, -- place in the queue: priority and time, or the time when it is due
    attempts     INTEGER NOT NULL, -- begun since the last reset
    max_attempts INTEGER NOT NULL,
    timeout_ms   INTEGER NOT NULL,
    -- number of the last lease: it grows with every lease, and a report under another one is refused
    token        INTEGER NOT NULL,
    worker_no    INTEGER NOT NULL, -- who has it, or had it last
    ready_at     INTEGER NOT NULL, -- when it was enqueued last
    assigned_at  INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    finished_at  INTEGER NOT NULL,
    lease_until  INTEGER NOT NULL, -- 0 without a lease
    progress     INTEGER NOT NULL, -- percent
    note         TEXT,             -- the worker's status message
    result       TEXT,
    CONSTRAINT step_state CHECK (
        state = 'enqueued' OR state = 'in_progress' OR state = 'complete' OR state = 'pending' OR state = 'assigned'
        OR state = 'waiting_for_retry' OR state = 'error' OR state = 'cancelled' OR state = 'resolved_manually'
        OR state = 'waiting' OR state = 'skipped' OR state = 'enqueued_for_orchestration')
);
-- The one queue index: ready steps by route and ordering key, waiting ones by the time they are due, leased ones by
-- the time to look after them (docs/design/0002-one-queue-index.md).
CREATE INDEX tasker_workflow_steps_queue ON tasker_workflow_steps (queue, key) WHERE queue IS NOT NULL;

-- Tags of tasks, for lists; the task has them in its meta too.
CREATE TABLE tasker_task_tags (
    tag     TEXT    NOT NULL,
    task_id INTEGER NOT NULL,
    PRIMARY KEY (tag, task_id)
) WITHOUT ROWID;

-- Keys by which a submission that is sent again finds its task.
CREATE TABLE tasker_idempotency_keys (
    namespace  TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    task_id    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- of what was submitted with the key: other content under the same key is refused
    hash       TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
CREATE INDEX tasker_idempotency_keys_by_expiry ON tasker_idempotency_keys (expires_at);

-- The task that a unique key is bound to. It guards the key in the phases of guards, until expires_at (0: no bound).
CREATE TABLE tasker_unique_keys (
    namespace  TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    task_id    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    guards     TEXT    NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
CREATE INDEX tasker_unique_keys_by_expiry ON tasker_unique_keys (expires_at) WHERE expires_at > 0;

-- Leases that ended in anything but success; the step itself records a success.
CREATE TABLE tasker_attempts (
    id          INTEGER PRIMARY KEY,
    task_id     INTEGER NOT NULL,
    step_id     INTEGER NOT NULL,
    token       INTEGER NOT NULL,
    number      INTEGER NOT NULL, -- of the attempt, since the last reset
    worker_no   INTEGER NOT NULL,
    outcome     TEXT    NOT NULL,
    ready_at    INTEGER NOT NULL,
    assigned_at INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    after_state TEXT    NOT NULL, -- of the step
    failure     TEXT              -- JSON; NULL where nothing failed
);
CREATE INDEX tasker_attempts_by_task ON tasker_attempts (task_id);
-- Dispatches that expired in the queues of their workers are counted by hour, worker and template.
CREATE INDEX tasker_attempts_expired ON tasker_attempts (finished_at) WHERE outcome = 'dispatch_expired';

-- The end of what attempts have logged, for the last attempts of each step; see task.AttemptLog.
CREATE TABLE tasker_attempt_logs (
    step_id INTEGER NOT NULL,
    token   INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (step_id, token)
);

-- The last checkpoint of each step that has one; see task.Checkpoint. The steps of a task are a range.
CREATE TABLE tasker_checkpoints (
    step_id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL,
    token   INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    body    TEXT    NOT NULL
);

-- Objects in the blob store; see task.LargeResult.
CREATE TABLE tasker_large_results (
    key     TEXT    PRIMARY KEY,
    step_id INTEGER NOT NULL,
    token   INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    sha256  TEXT    NOT NULL,
    state   INTEGER NOT NULL, -- 0 sent, 1 taken as a result, 2 to be deleted
    at      INTEGER NOT NULL
);

-- Changes of the states of tasks. What can be derived from the rows of a task is not stored
-- (docs/design/0003-derived-history.md).
CREATE TABLE tasker_task_events (
    id         INTEGER PRIMARY KEY,
    task_id    INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    from_state TEXT    NOT NULL,
    to_state   TEXT    NOT NULL,
    cause      TEXT    NOT NULL
);
CREATE INDEX tasker_task_events_by_task ON tasker_task_events (task_id);
