-- +goose Up
-- The progress of steps through their child tasks; see task.FanOut. total is -1 before the list of items is read.
CREATE TABLE tasker_fan_outs (
    step_id   INTEGER PRIMARY KEY,
    task_id   INTEGER NOT NULL,
    rev       INTEGER NOT NULL,
    total     INTEGER NOT NULL,
    submitted INTEGER NOT NULL,
    running   INTEGER NOT NULL,
    done      INTEGER NOT NULL,
    errored   INTEGER NOT NULL,
    given_up  INTEGER NOT NULL,
    phase     INTEGER NOT NULL,
    repeated  INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    version   TEXT    NOT NULL,
    fresh     INTEGER NOT NULL
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
    idx     INTEGER NOT NULL,
    task_id INTEGER,
    state   TEXT    NOT NULL,
    counted TEXT    NOT NULL,
    fresh   INTEGER NOT NULL,
    result  TEXT,
    note    TEXT    NOT NULL,
    PRIMARY KEY (step_id, idx)
);
CREATE UNIQUE INDEX tasker_children_by_task ON tasker_children (task_id);
CREATE INDEX tasker_children_fresh ON tasker_children (step_id, idx) WHERE fresh = 1;
