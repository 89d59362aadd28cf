-- Groups: everything with one fingerprint. The counts are behind by what is in tasker_group_deltas.
CREATE TABLE tasker_groups (
    group_id      INTEGER PRIMARY KEY, -- a hash of the fingerprint
    namespace     TEXT    NOT NULL,
    print_version INTEGER NOT NULL, -- of the rules by which it was made
    error_type    TEXT    NOT NULL,
    error_message TEXT    NOT NULL,
    frame         TEXT    NOT NULL, -- the top frame of the application's own code
    place         TEXT    NOT NULL, -- the handler, or else the source
    rule          TEXT    NOT NULL, -- that decided; '': none
    title         TEXT    NOT NULL,
    state         TEXT    NOT NULL,
    state_at      INTEGER NOT NULL,
    resolved_in   TEXT    NOT NULL, -- the version that is said to fix it
    ignore_until  INTEGER NOT NULL, -- ignored until a time, a number of failures or a rate; 0: not by that
    ignore_count  INTEGER NOT NULL,
    ignore_rate   INTEGER NOT NULL,
    ignored_from  INTEGER NOT NULL, -- failures when it was ignored
    regression    INTEGER NOT NULL, -- 1: it was resolved, and has failed since
    regressions   INTEGER NOT NULL,
    resolved_at   INTEGER NOT NULL,
    open_for      INTEGER NOT NULL, -- how long it was unresolved in all
    resolutions   INTEGER NOT NULL,
    opened_at     INTEGER NOT NULL, -- last time
    owner         TEXT    NOT NULL,
    runbook       TEXT    NOT NULL, -- URL
    due_at        INTEGER NOT NULL,
    merged_into   INTEGER NOT NULL, -- the group that shows its failures; 0: none
    first_at      INTEGER NOT NULL,
    last_at       INTEGER NOT NULL,
    failures      INTEGER NOT NULL,
    open_letters  INTEGER NOT NULL, -- open or scheduled now
    open_cases    INTEGER NOT NULL, -- pending now
    notes         INTEGER NOT NULL, -- how many
    version       INTEGER NOT NULL,
    -- The version of the rule that decided first as the rule does, and the values of its keys.
    rule_version  INTEGER NOT NULL DEFAULT 0,
    rule_keys     TEXT    NOT NULL DEFAULT '',
    -- When its first failure was noticed, and its last burst; 0: not yet.
    told_at       INTEGER NOT NULL DEFAULT 0,
    burst_at      INTEGER NOT NULL DEFAULT 0,
    fresh         INTEGER NOT NULL DEFAULT 0, -- 1: stored with failures of which nobody was told yet
    purge_at      INTEGER NOT NULL DEFAULT 0  -- when it is deleted, because it has not failed for long; 0: not
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
    group_id INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    PRIMARY KEY (group_id, at)
);

-- Changes of the counts of groups, until they are added up: a failing transaction writes no row that another one
-- writes.
CREATE TABLE tasker_group_deltas (
    id           INTEGER PRIMARY KEY,
    group_id     INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    open_letters INTEGER NOT NULL,
    open_cases   INTEGER NOT NULL,
    at           INTEGER NOT NULL
);
-- The changes of a few groups are found without reading those of all.
CREATE INDEX tasker_group_deltas_by_group ON tasker_group_deltas (group_id);

-- The threads of groups: notes of people, and acts as they are told there.
CREATE TABLE tasker_group_notes (
    group_id   INTEGER NOT NULL,
    no         INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    author     TEXT    NOT NULL,
    author_key TEXT    NOT NULL,
    kind       TEXT    NOT NULL, -- note, or the act that it reports
    body       TEXT    NOT NULL,
    PRIMARY KEY (group_id, no)
);

-- Rules that put failures into groups: a row for each version, of which at most one for each name is in force. A split
-- of a group is a rule within that group.
CREATE TABLE tasker_rules (
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    version   INTEGER NOT NULL,
    current   INTEGER NOT NULL, -- 1: in force
    body      TEXT    NOT NULL, -- JSON
    PRIMARY KEY (namespace, name, version)
);
CREATE INDEX tasker_rules_current ON tasker_rules (namespace, name) WHERE current = 1;

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
