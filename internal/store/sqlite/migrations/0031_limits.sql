-- +goose Up
-- Limits on steps. A gate is the place where a limit holds back the steps of one key: its definition and, of a rate,
-- the time in nanoseconds at which its bucket is full. Its number is a hash. The steps that wait there are in the queue
-- of that number; see docs/design/0042-limits.md.
CREATE TABLE tasker_limit_gates (
    gate        INTEGER PRIMARY KEY,
    namespace   TEXT   NOT NULL,
    name        TEXT   NOT NULL,
    key         TEXT   NOT NULL,
    permits     INTEGER NOT NULL,
    rate_count  INTEGER NOT NULL,
    rate_per_us INTEGER NOT NULL,
    rate_burst  INTEGER NOT NULL,
    rev         INTEGER NOT NULL,
    bucket      INTEGER NOT NULL,
    next_at     INTEGER NOT NULL
);
CREATE INDEX tasker_limit_gates_next ON tasker_limit_gates (next_at) WHERE next_at > 0;
CREATE INDEX tasker_limit_gates_named ON tasker_limit_gates (namespace, name, gate);

-- Steps that have passed a gate and have not ended their attempt.
CREATE TABLE tasker_limit_permits (
    gate    INTEGER NOT NULL,
    step_id INTEGER   NOT NULL,
    PRIMARY KEY (gate, step_id)
);
CREATE INDEX tasker_limit_permits_by_step ON tasker_limit_permits (step_id);

-- Gates to look at. A signal without a namespace has no definition.
CREATE TABLE tasker_limit_signals (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    gate        INTEGER NOT NULL,
    namespace   TEXT   NOT NULL,
    name        TEXT   NOT NULL,
    key         TEXT   NOT NULL,
    permits     INTEGER NOT NULL,
    rate_count  INTEGER NOT NULL,
    rate_per_us INTEGER NOT NULL,
    rate_burst  INTEGER NOT NULL,
    rev         INTEGER NOT NULL
);

-- What a limit or a pause holds back is not stale.
DROP VIEW tasker_promises;
CREATE VIEW tasker_promises AS
SELECT s.id, s.task_id, s.ordinal, CASE WHEN s.queue = -1 THEN 'time' WHEN s.queue = -2 THEN 'attempt'
        WHEN s.queue < -2 THEN 'release' ELSE 'queue' END AS promise,
    CASE WHEN s.queue = -1 THEN s.key
        WHEN s.queue = -2 THEN CASE WHEN s.lease_until > n.now AND s.state = 'in_progress' AND s.timeout_ms > 0
            THEN s.started_at + s.timeout_ms * 1000 ELSE s.lease_until END
        WHEN s.queue < -2 THEN 9223372036854775807
        ELSE (SELECT CASE WHEN value > 0 THEN s.ready_at + value ELSE 9223372036854775807 END FROM tasker_settings WHERE key = 'staleness.turn') END AS until
FROM tasker_now n, tasker_workflow_steps s
WHERE s.queue IS NOT NULL;
