-- +goose Up
-- Times are microseconds since 1970; 0 is never. Task, step and worker IDs are
-- kept as the 60-bit sequence of their UUID, so that they are the rowid: a UUID
-- costs no index, and the steps of a task are a range of keys.

CREATE TABLE tasker_meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE tasker_templates (
    def_id      INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    version     TEXT    NOT NULL,
    adhoc       INTEGER NOT NULL, -- 1: stands in for a handler submitted by name
    fingerprint TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    source      TEXT    NOT NULL,
    body        TEXT    NOT NULL,
    UNIQUE (namespace, name, version, adhoc)
);

CREATE TABLE tasker_routes (
    route_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace    TEXT NOT NULL,
    handler      TEXT NOT NULL,
    capabilities TEXT NOT NULL, -- sorted, one a line
    UNIQUE (namespace, handler, capabilities)
);

CREATE TABLE tasker_workers (
    worker_no      INTEGER PRIMARY KEY AUTOINCREMENT,
    id             INTEGER NOT NULL UNIQUE,
    name           TEXT    NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('active', 'draining', 'dead')),
    namespaces     TEXT    NOT NULL,
    handlers       TEXT    NOT NULL,
    capabilities   TEXT    NOT NULL,
    capacity       INTEGER NOT NULL,
    load           INTEGER NOT NULL,
    host           TEXT    NOT NULL,
    version        TEXT    NOT NULL,
    started_at     INTEGER NOT NULL,
    last_heartbeat INTEGER NOT NULL
);

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
    manual_ends     INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    run_at          INTEGER NOT NULL,
    finished_at     INTEGER NOT NULL,
    deadline_at     INTEGER NOT NULL,
    correlation_id  TEXT,
    idempotency_key TEXT,
    meta            TEXT,
    context         TEXT,
    CONSTRAINT task_state CHECK (
        state = 'steps_in_process' OR state = 'complete' OR state = 'pending' OR state = 'waiting_for_retry'
        OR state = 'error' OR state = 'cancelled' OR state = 'resolved_manually' OR state = 'waiting_for_dependencies'
        OR state = 'initializing' OR state = 'enqueuing_steps' OR state = 'evaluating_results' OR state = 'blocked_by_failures')
);
CREATE INDEX tasker_tasks_by_state ON tasker_tasks (def_id, state, id);
CREATE INDEX tasker_tasks_by_correlation ON tasker_tasks (correlation_id, id) WHERE correlation_id <> '';
CREATE INDEX tasker_tasks_by_deadline ON tasker_tasks (deadline_at) WHERE deadline_at > 0;

CREATE TABLE tasker_workflow_steps (
    id           INTEGER PRIMARY KEY,
    task_id      INTEGER NOT NULL,
    ordinal      INTEGER NOT NULL,
    def_id       INTEGER NOT NULL,
    route_id     INTEGER NOT NULL,
    priority     INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    open_parents INTEGER NOT NULL,
    queue        INTEGER, -- a route, -1 timers, -2 leases; NULL: nothing will happen to it by itself
    key          INTEGER,
    attempts     INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    timeout_ms   INTEGER NOT NULL,
    token        INTEGER NOT NULL,
    worker_no    INTEGER NOT NULL,
    ready_at     INTEGER NOT NULL,
    assigned_at  INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    finished_at  INTEGER NOT NULL,
    lease_until  INTEGER NOT NULL,
    progress     INTEGER NOT NULL,
    note         TEXT,
    result       TEXT,
    CONSTRAINT step_state CHECK (
        state = 'enqueued' OR state = 'in_progress' OR state = 'complete' OR state = 'pending' OR state = 'assigned'
        OR state = 'waiting_for_retry' OR state = 'error' OR state = 'cancelled' OR state = 'resolved_manually'
        OR state = 'enqueued_for_orchestration')
);
-- The one queue index: ready steps by route and ordering key, waiting ones by the
-- time they are due, leased ones by the time to look after them.
CREATE INDEX tasker_workflow_steps_queue ON tasker_workflow_steps (queue, key) WHERE queue IS NOT NULL;

CREATE TABLE tasker_task_tags (
    tag     TEXT    NOT NULL,
    task_id INTEGER NOT NULL,
    PRIMARY KEY (tag, task_id)
) WITHOUT ROWID;

CREATE TABLE tasker_idempotency_keys (
    namespace  TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    task_id    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
CREATE INDEX tasker_idempotency_keys_by_expiry ON tasker_idempotency_keys (expires_at);

-- Leases that ended in anything but success; a success is told by the step.
CREATE TABLE tasker_attempts (
    id          INTEGER PRIMARY KEY,
    task_id     INTEGER NOT NULL,
    step_id     INTEGER NOT NULL,
    token       INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    worker_no   INTEGER NOT NULL,
    outcome     TEXT    NOT NULL,
    ready_at    INTEGER NOT NULL,
    assigned_at INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    after_state TEXT    NOT NULL,
    failure     TEXT
);
CREATE INDEX tasker_attempts_by_task ON tasker_attempts (task_id);

CREATE TABLE tasker_task_events (
    id         INTEGER PRIMARY KEY,
    task_id    INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    from_state TEXT    NOT NULL,
    to_state   TEXT    NOT NULL,
    cause      TEXT    NOT NULL
);
CREATE INDEX tasker_task_events_by_task ON tasker_task_events (task_id);

-- What operators did. Rows are only ever added.
CREATE TABLE tasker_acts (
    id         INTEGER PRIMARY KEY,
    task_id    INTEGER NOT NULL,
    step_id    INTEGER,
    at         INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    from_state TEXT    NOT NULL,
    to_state   TEXT    NOT NULL,
    data       TEXT
);
CREATE INDEX tasker_acts_by_task ON tasker_acts (task_id);
