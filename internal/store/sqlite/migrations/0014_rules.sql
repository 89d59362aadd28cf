-- +goose Up
-- Rules that put failures into groups: a row for each version, of which at most one for each name is in force. body is
-- JSON. A split of a group is a rule within that group.
CREATE TABLE tasker_rules (
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    version   INTEGER NOT NULL,
    current   INTEGER NOT NULL, -- 1: in force
    body      TEXT    NOT NULL,
    PRIMARY KEY (namespace, name, version)
);
CREATE INDEX tasker_rules_current ON tasker_rules (namespace, name) WHERE current = 1;

-- The rule that made a group: the version that decided first as the rule does, and the values of its keys.
ALTER TABLE tasker_groups ADD COLUMN rule_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasker_groups ADD COLUMN rule_keys TEXT NOT NULL DEFAULT '';
CREATE INDEX tasker_groups_by_rule ON tasker_groups (namespace, rule, rule_version) WHERE rule <> '';

-- Splits of groups that are being carried out or undone: how far their members are moved.
CREATE TABLE tasker_group_moves (
    move_id      INTEGER PRIMARY KEY,
    namespace    TEXT    NOT NULL,
    group_id     INTEGER NOT NULL, -- the group that is split
    rule         TEXT    NOT NULL,
    rule_version INTEGER NOT NULL,
    undo         INTEGER NOT NULL,
    begun_at     INTEGER NOT NULL,
    after_letter INTEGER,
    after_case   INTEGER
);
