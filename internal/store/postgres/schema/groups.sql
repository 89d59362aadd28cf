-- Groups: everything with one fingerprint. The counts are behind by what is in tasker_group_deltas.
CREATE TABLE tasker_groups (
    group_id      bigint   PRIMARY KEY, -- a hash of the fingerprint
    namespace     text     NOT NULL,
    print_version bigint   NOT NULL, -- of the rules by which it was made
    error_type    text     NOT NULL,
    error_message text     NOT NULL,
    frame         text     NOT NULL, -- the top frame of the application's own code
    place         text     NOT NULL, -- the handler, or else the source
    rule          text     NOT NULL, -- that decided; '': none
    title         text     NOT NULL,
    state         text     NOT NULL,
    state_at      bigint   NOT NULL,
    resolved_in   text     NOT NULL, -- the version that is said to fix it
    ignore_until  bigint   NOT NULL, -- ignored until a time, a number of failures or a rate; 0: not by that
    ignore_count  bigint   NOT NULL,
    ignore_rate   bigint   NOT NULL,
    ignored_from  bigint   NOT NULL, -- failures when it was ignored
    regression    smallint NOT NULL, -- 1: it was resolved, and has failed since
    regressions   bigint   NOT NULL,
    resolved_at   bigint   NOT NULL,
    open_for      bigint   NOT NULL, -- how long it was unresolved in all
    resolutions   bigint   NOT NULL,
    opened_at     bigint   NOT NULL, -- last time
    owner         text     NOT NULL,
    runbook       text     NOT NULL, -- URL
    due_at        bigint   NOT NULL,
    merged_into   bigint   NOT NULL, -- the group that shows its failures; 0: none
    first_at      bigint   NOT NULL,
    last_at       bigint   NOT NULL,
    failures      bigint   NOT NULL,
    open_letters  bigint   NOT NULL, -- open or scheduled now
    open_cases    bigint   NOT NULL, -- pending now
    notes         bigint   NOT NULL, -- how many
    version       bigint   NOT NULL,
    -- The version of the rule that decided first as the rule does, and the values of its keys.
    rule_version  bigint   NOT NULL DEFAULT 0,
    rule_keys     text     NOT NULL DEFAULT '',
    -- When its first failure was noticed, and its last burst; 0: not yet.
    told_at       bigint   NOT NULL DEFAULT 0,
    burst_at      bigint   NOT NULL DEFAULT 0,
    fresh         bigint   NOT NULL DEFAULT 0, -- 1: stored with failures of which nobody was told yet
    purge_at      bigint   NOT NULL DEFAULT 0  -- when it is deleted, because it has not failed for long; 0: not
);
CREATE INDEX tasker_groups_merged ON tasker_groups (merged_into, group_id) WHERE merged_into <> 0;
CREATE INDEX tasker_groups_timed ON tasker_groups (ignore_until, group_id) WHERE ignore_until <> 0;
CREATE INDEX tasker_groups_by_rule ON tasker_groups (namespace, rule, rule_version) WHERE rule <> '';
-- The mean time to resolve of a namespace.
CREATE INDEX tasker_groups_resolved ON tasker_groups (namespace, resolutions, open_for) WHERE resolutions > 0;
CREATE INDEX tasker_groups_fresh ON tasker_groups (group_id) WHERE fresh = 1;
-- Lists, in each order, with what most filters look at: they find their first page without reading all groups.
CREATE INDEX tasker_groups_by_last ON tasker_groups (last_at, group_id, namespace, state, owner, place)
    WHERE merged_into = 0;
CREATE INDEX tasker_groups_by_first ON tasker_groups (first_at, group_id, namespace, state, owner, place)
    WHERE merged_into = 0;
CREATE INDEX tasker_groups_by_open
    ON tasker_groups ((open_letters + open_cases), group_id, namespace, state, owner, place)
    WHERE merged_into = 0;

-- Failures of groups by the clock hour.
CREATE TABLE tasker_group_hours (
    group_id bigint NOT NULL,
    at       bigint NOT NULL,
    failures bigint NOT NULL,
    PRIMARY KEY (group_id, at)
);

-- Changes of the counts of groups, until they are added up: a failing transaction writes no row that another one
-- writes.
CREATE TABLE tasker_group_deltas (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    group_id     bigint NOT NULL,
    failures     bigint NOT NULL,
    open_letters bigint NOT NULL,
    open_cases   bigint NOT NULL,
    at           bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
-- The changes of a few groups are found without reading those of all.
CREATE INDEX tasker_group_deltas_by_group ON tasker_group_deltas (group_id);

-- The threads of groups: notes of people, and acts as they are told there.
CREATE TABLE tasker_group_notes (
    group_id   bigint NOT NULL,
    no         bigint NOT NULL,
    at         bigint NOT NULL,
    author     text   NOT NULL,
    author_key text   NOT NULL,
    kind       text   NOT NULL, -- note, or the act that it reports
    body       text   NOT NULL,
    PRIMARY KEY (group_id, no)
);

-- Rules that put failures into groups: a row for each version, of which at most one for each name is in force. A split
-- of a group is a rule within that group.
CREATE TABLE tasker_rules (
    namespace text     NOT NULL,
    name      text     NOT NULL,
    version   bigint   NOT NULL,
    current   smallint NOT NULL, -- 1: in force
    body      text     NOT NULL, -- JSON
    PRIMARY KEY (namespace, name, version)
);
CREATE INDEX tasker_rules_current ON tasker_rules (namespace, name) WHERE current = 1;

-- Splits of groups that are being carried out or undone: how far their members are moved.
CREATE TABLE tasker_group_moves (
    move_id      uuid     PRIMARY KEY,
    namespace    text     NOT NULL,
    group_id     bigint   NOT NULL, -- the group that is split
    rule         text     NOT NULL,
    rule_version bigint   NOT NULL,
    undo         smallint NOT NULL,
    begun_at     bigint   NOT NULL,
    after_letter uuid,
    after_case   uuid
);
