-- +goose Up
-- The progress of steps through their child tasks; see task.FanOut. total is -1 before the list of items is read.
CREATE TABLE tasker_fan_outs (
    step_id   uuid    PRIMARY KEY,
    task_id   uuid    NOT NULL,
    rev       bigint  NOT NULL,
    total     bigint  NOT NULL,
    submitted bigint  NOT NULL,
    running   bigint  NOT NULL,
    done      bigint  NOT NULL,
    errored   bigint  NOT NULL,
    given_up  bigint  NOT NULL,
    phase     bigint  NOT NULL,
    repeated  bigint  NOT NULL,
    bytes     bigint  NOT NULL,
    version   text    NOT NULL,
    fresh     bigint  NOT NULL
);
CREATE INDEX tasker_fan_outs_fresh ON tasker_fan_outs (step_id) WHERE fresh = 1;
CREATE INDEX tasker_fan_outs_by_task ON tasker_fan_outs (task_id);

-- The items of a step, a hundred in a part: a JSON list.
CREATE TABLE tasker_child_items (
    step_id uuid    NOT NULL,
    part    bigint  NOT NULL,
    items   text    NOT NULL,
    PRIMARY KEY (step_id, part)
);

-- The child tasks of steps. state follows the task; counted is the state that the fan-out has counted, and fresh is 1
-- while they may differ.
CREATE TABLE tasker_children (
    step_id uuid    NOT NULL,
    idx     bigint  NOT NULL,
    task_id uuid,
    state   text    NOT NULL,
    counted text    NOT NULL,
    fresh   bigint  NOT NULL,
    result  text,
    note    text    NOT NULL,
    PRIMARY KEY (step_id, idx)
);
CREATE UNIQUE INDEX tasker_children_by_task ON tasker_children (task_id);
CREATE INDEX tasker_children_fresh ON tasker_children (step_id, idx) WHERE fresh = 1;
