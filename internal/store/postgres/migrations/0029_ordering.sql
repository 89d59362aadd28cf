-- +goose Up
-- Tasks with an ordering key run one at a time. The head of a key has the turn; the others wait in the order of place.
CREATE TABLE tasker_ordering_heads (
    namespace text NOT NULL,
    key       text NOT NULL,
    task_id   uuid NOT NULL,
    PRIMARY KEY (namespace, key)
);
CREATE UNIQUE INDEX tasker_ordering_heads_by_task ON tasker_ordering_heads (task_id);

CREATE TABLE tasker_ordering_waits (
    task_id   uuid   PRIMARY KEY,
    namespace text   NOT NULL,
    key       text   NOT NULL,
    place     bigint NOT NULL,
    fresh     bigint NOT NULL
);
CREATE INDEX tasker_ordering_waits_by_key ON tasker_ordering_waits (namespace, key, place, task_id);
-- Those that the head of their key may not have seen yet.
CREATE INDEX tasker_ordering_waits_fresh ON tasker_ordering_waits (place) WHERE fresh = 1;
