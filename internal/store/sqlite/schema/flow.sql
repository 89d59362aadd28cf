-- The progress of steps through their child tasks; see task.FanOut.
CREATE TABLE tasker_fan_outs (
    step_id   INTEGER PRIMARY KEY,
    task_id   INTEGER NOT NULL,
    rev       INTEGER NOT NULL, -- of all other columns
    total     INTEGER NOT NULL, -- -1 before the list of items is read
    submitted INTEGER NOT NULL, -- children with an index below were submitted, or could not be
    running   INTEGER NOT NULL, -- submitted children by state, like the next three
    done      INTEGER NOT NULL,
    errored   INTEGER NOT NULL,
    given_up  INTEGER NOT NULL,
    phase     INTEGER NOT NULL, -- what became of the step because of its children
    repeated  INTEGER NOT NULL, -- children with an index below run again after a reset
    bytes     INTEGER NOT NULL, -- of all results
    version   TEXT    NOT NULL, -- of the children's template, fixed when the step begins
    fresh     INTEGER NOT NULL  -- 1: there is something to do that the rows of the children do not show
);
CREATE INDEX tasker_fan_outs_fresh ON tasker_fan_outs (step_id) WHERE fresh = 1;
CREATE INDEX tasker_fan_outs_by_task ON tasker_fan_outs (task_id);

-- The items of a step, a hundred in a part: a JSON list.
CREATE TABLE tasker_child_items (
    step_id INTEGER NOT NULL,
    part    INTEGER NOT NULL,
    items   TEXT    NOT NULL,
    PRIMARY KEY (step_id, part)
);

-- The child tasks of steps. state follows the task; counted is the state that the fan-out has counted, and fresh is 1
-- while they may differ.
CREATE TABLE tasker_children (
    step_id INTEGER NOT NULL,
    idx     INTEGER NOT NULL, -- in the list of items
    task_id INTEGER,
    state   TEXT    NOT NULL,
    counted TEXT    NOT NULL,
    fresh   INTEGER NOT NULL,
    result  TEXT,             -- JSON
    note    TEXT    NOT NULL, -- why it could not be submitted
    PRIMARY KEY (step_id, idx)
);
CREATE UNIQUE INDEX tasker_children_by_task ON tasker_children (task_id);
CREATE INDEX tasker_children_fresh ON tasker_children (step_id, idx) WHERE fresh = 1;

-- What waiting steps wait for; see task.StepWait.
CREATE TABLE tasker_step_waits (
    step_id   INTEGER PRIMARY KEY,
    task_id   INTEGER NOT NULL,
    namespace TEXT    NOT NULL,
    template  TEXT    NOT NULL,
    step_name TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    until_at  INTEGER NOT NULL, -- 0: without an end
    fresh     INTEGER NOT NULL  -- 1: a signal may have arrived that has not found it
);
CREATE INDEX tasker_step_waits_by_key ON tasker_step_waits (namespace, name, key, step_id) WHERE kind = 'signal';
CREATE INDEX tasker_step_waits_by_kind ON tasker_step_waits (kind, at, step_id);
CREATE INDEX tasker_step_waits_fresh ON tasker_step_waits (at, step_id) WHERE fresh = 1;

-- Signals, kept for a while after their arrival; see task.Signal.
CREATE TABLE tasker_signals (
    namespace   TEXT    NOT NULL,
    signal_id   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    received_at INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    taken       INTEGER NOT NULL, -- steps that have taken it
    fresh       INTEGER NOT NULL, -- 1: steps that waited when it arrived may not have it yet
    bytes       INTEGER NOT NULL,
    payload     TEXT, -- JSON
    PRIMARY KEY (namespace, signal_id)
);
CREATE INDEX tasker_signals_by_key ON tasker_signals (namespace, name, key, received_at, signal_id);
CREATE INDEX tasker_signals_by_expiry ON tasker_signals (expires_at);
CREATE INDEX tasker_signals_fresh ON tasker_signals (received_at, signal_id) WHERE fresh = 1;
