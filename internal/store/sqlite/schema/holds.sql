-- Tasks with an ordering key run one at a time. The head of a key has the turn; the others wait in the order of place.
CREATE TABLE tasker_ordering_heads (
    namespace TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    task_id   INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)
);
CREATE UNIQUE INDEX tasker_ordering_heads_by_task ON tasker_ordering_heads (task_id);

-- The tasks behind the heads.
CREATE TABLE tasker_ordering_waits (
    task_id   INTEGER PRIMARY KEY,
    namespace TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    place     INTEGER NOT NULL,
    fresh     INTEGER NOT NULL -- 1: the head of its key may not have seen it yet
);
CREATE INDEX tasker_ordering_waits_by_key ON tasker_ordering_waits (namespace, key, place, task_id);
CREATE INDEX tasker_ordering_waits_fresh ON tasker_ordering_waits (place) WHERE fresh = 1;

-- What operators hold back; one row for each target.
CREATE TABLE tasker_pauses (
    kind         TEXT    NOT NULL, -- of the target: route, handler, template or namespace
    namespace    TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    capabilities TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    paused_at    INTEGER NOT NULL,
    until_at     INTEGER NOT NULL, -- 0: without an end
    ended_at     INTEGER NOT NULL, -- 0: in force
    ended_by     TEXT    NOT NULL,
    end_reason   TEXT    NOT NULL,
    PRIMARY KEY (kind, namespace, name, capabilities)
);

-- Limits on steps. A gate is the place where a limit holds back the steps of one key, with the definition of the
-- limit. The steps that wait there are in the queue of its number; see docs/design/0042-limits.md.
CREATE TABLE tasker_limit_gates (
    gate        INTEGER PRIMARY KEY, -- a hash of namespace, name and key
    namespace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    permits     INTEGER NOT NULL,
    rate_count  INTEGER NOT NULL, -- 0: no rate
    rate_per_us INTEGER NOT NULL,
    rate_burst  INTEGER NOT NULL,
    rev         INTEGER NOT NULL, -- of the definition
    bucket      INTEGER NOT NULL, -- when the bucket of the rate is full, in nanoseconds
    next_at     INTEGER NOT NULL  -- when the rate lets the next step pass; 0: none waits for that
);
CREATE INDEX tasker_limit_gates_next ON tasker_limit_gates (next_at) WHERE next_at > 0;
CREATE INDEX tasker_limit_gates_named ON tasker_limit_gates (namespace, name, gate);

-- Steps that have passed a gate and have not ended their attempt.
CREATE TABLE tasker_limit_permits (
    gate    INTEGER NOT NULL,
    step_id INTEGER NOT NULL,
    PRIMARY KEY (gate, step_id)
);
CREATE INDEX tasker_limit_permits_by_step ON tasker_limit_permits (step_id);

-- Gates to look at, because a permit is free or the definition has changed. A signal without a namespace has no
-- definition.
CREATE TABLE tasker_limit_signals (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    gate        INTEGER NOT NULL,
    namespace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    permits     INTEGER NOT NULL,
    rate_count  INTEGER NOT NULL,
    rate_per_us INTEGER NOT NULL,
    rate_burst  INTEGER NOT NULL,
    rev         INTEGER NOT NULL
);

-- Limits that operators set for handlers and routes; one row for each target. The permits of its steps are in
-- tasker_limit_permits, under its number; see docs/design/0042-limits.md.
CREATE TABLE tasker_operator_limits (
    no           INTEGER PRIMARY KEY, -- a hash of the target
    kind         TEXT    NOT NULL,
    namespace    TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    capabilities TEXT    NOT NULL,
    permits      INTEGER NOT NULL,
    rate_count   INTEGER NOT NULL,
    rate_per_us  INTEGER NOT NULL,
    rate_burst   INTEGER NOT NULL,
    actor        TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    set_at       INTEGER NOT NULL,
    changed_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL, -- 0: in force
    ended_by     TEXT    NOT NULL,
    end_reason   TEXT    NOT NULL,
    bucket       INTEGER NOT NULL -- when the bucket of the rate is full, in nanoseconds
);

-- Failures with one fingerprint on a route, less the successes since; see task.Burst.
CREATE TABLE tasker_bursts (
    route_id INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    since    INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    PRIMARY KEY (route_id, group_id)
) WITHOUT ROWID;
CREATE INDEX tasker_bursts_by_age ON tasker_bursts (since);

-- Outages: a route has one open at most.
CREATE TABLE tasker_outages (
    outage_id INTEGER PRIMARY KEY,
    route_id  INTEGER NOT NULL,
    namespace TEXT    NOT NULL,
    closed_at INTEGER NOT NULL, -- 0: open
    body      TEXT    NOT NULL  -- JSON; see task.Outage
);
CREATE UNIQUE INDEX tasker_outages_open ON tasker_outages (route_id) WHERE closed_at = 0;
CREATE INDEX tasker_outages_closed ON tasker_outages (closed_at) WHERE closed_at > 0;
