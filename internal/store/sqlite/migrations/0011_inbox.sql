-- +goose Up
-- Dead letters: messages that their consumers could not process. What lists and selections look at comes first; the
-- first KiB of a payload, which is searched, and the headers come last.
CREATE TABLE tasker_letters (
    letter_id     INTEGER PRIMARY KEY,
    namespace     TEXT    NOT NULL,
    source        TEXT    NOT NULL,
    origin        TEXT    NOT NULL,
    format        TEXT    NOT NULL,
    position      TEXT    NOT NULL,
    message_id    TEXT    NOT NULL,
    identity      TEXT    NOT NULL,
    canonical     TEXT    NOT NULL,
    state         TEXT    NOT NULL,
    state_at      INTEGER NOT NULL,
    due_at        INTEGER NOT NULL,
    reason        TEXT    NOT NULL,
    redrive_id    INTEGER,
    purge_at      INTEGER NOT NULL,
    group_id      INTEGER NOT NULL,
    error_type    TEXT    NOT NULL,
    error_code    TEXT    NOT NULL,
    error_class   TEXT    NOT NULL,
    retryable     INTEGER NOT NULL,
    handler       TEXT    NOT NULL,
    occurrences   INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    replays       INTEGER NOT NULL,
    parked        INTEGER NOT NULL,
    first_at      INTEGER NOT NULL,
    last_at       INTEGER NOT NULL,
    captured_at   INTEGER NOT NULL,
    payload_bytes INTEGER NOT NULL, -- before it was cut
    kept_bytes    INTEGER NOT NULL, -- of the payload; above 1024 it is in tasker_letter_bodies
    cut           INTEGER NOT NULL,
    edited        INTEGER NOT NULL, -- what is sent instead is in tasker_letter_bodies
    version       INTEGER NOT NULL,
    undecoded     TEXT    NOT NULL,
    error_message TEXT    NOT NULL,
    message_key   BLOB,
    head          BLOB,
    headers       BLOB
);
CREATE UNIQUE INDEX tasker_letters_identity ON tasker_letters (namespace, source, identity);
-- A page names its states, so that each of them is one walk in the order of the page.
CREATE INDEX tasker_letters_by_group ON tasker_letters (group_id, state, letter_id);
CREATE INDEX tasker_letters_by_source ON tasker_letters (namespace, source, state, letter_id);
CREATE INDEX tasker_letters_by_origin ON tasker_letters (namespace, origin, state, letter_id);
CREATE INDEX tasker_letters_by_state ON tasker_letters (namespace, state, letter_id);
CREATE INDEX tasker_letters_due ON tasker_letters (due_at, letter_id) WHERE state = 'scheduled';
CREATE INDEX tasker_letters_marked ON tasker_letters (state_at, letter_id) WHERE state = 'redriving';
CREATE INDEX tasker_letters_purged ON tasker_letters (purge_at, letter_id) WHERE purge_at <> 0;
CREATE INDEX tasker_letters_returning ON tasker_letters (namespace, canonical, state_at)
    WHERE state IN ('redriving', 'redriven');

-- What is large and does not change when its letter does: a payload above 1 KiB, and what is sent instead. The first
-- byte of a value says how the rest is kept: 0 as it is, 1 compressed (deflate).
CREATE TABLE tasker_letter_bodies (
    letter_id INTEGER PRIMARY KEY,
    payload   BLOB,
    edited    BLOB
);

-- Each time that a letter died. A stack and a payload have a first byte as bodies have.
CREATE TABLE tasker_letter_occurrences (
    letter_id     INTEGER NOT NULL,
    no            INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    group_id      INTEGER NOT NULL,
    error_type    TEXT    NOT NULL,
    error_code    TEXT    NOT NULL,
    error_class   TEXT    NOT NULL,
    retryable     INTEGER NOT NULL,
    handler       TEXT    NOT NULL,
    origin        TEXT    NOT NULL,
    position      TEXT    NOT NULL,
    attempts      INTEGER NOT NULL,
    redrive_id    INTEGER,
    error_message TEXT    NOT NULL,
    stack         BLOB,
    payload       BLOB,
    PRIMARY KEY (letter_id, no)
);

-- Everything with one fingerprint. Its counts are behind by what is in tasker_group_deltas.
CREATE TABLE tasker_groups (
    group_id      INTEGER PRIMARY KEY,
    namespace     TEXT    NOT NULL,
    print_version INTEGER NOT NULL,
    error_type    TEXT    NOT NULL,
    error_message TEXT    NOT NULL,
    frame         TEXT    NOT NULL,
    place         TEXT    NOT NULL,
    rule          TEXT    NOT NULL,
    title         TEXT    NOT NULL,
    state         TEXT    NOT NULL,
    state_at      INTEGER NOT NULL,
    resolved_in   TEXT    NOT NULL,
    ignore_until  INTEGER NOT NULL,
    ignore_count  INTEGER NOT NULL,
    ignore_rate   INTEGER NOT NULL,
    ignored_from  INTEGER NOT NULL,
    regression    INTEGER NOT NULL,
    regressions   INTEGER NOT NULL,
    resolved_at   INTEGER NOT NULL,
    open_for      INTEGER NOT NULL,
    resolutions   INTEGER NOT NULL,
    opened_at     INTEGER NOT NULL,
    owner         TEXT    NOT NULL,
    runbook       TEXT    NOT NULL,
    due_at        INTEGER NOT NULL,
    merged_into   INTEGER NOT NULL,
    first_at      INTEGER NOT NULL,
    last_at       INTEGER NOT NULL,
    failures      INTEGER NOT NULL,
    open_letters  INTEGER NOT NULL,
    open_cases    INTEGER NOT NULL,
    notes         INTEGER NOT NULL,
    version       INTEGER NOT NULL
);
CREATE INDEX tasker_groups_by_namespace ON tasker_groups (namespace, group_id);
CREATE INDEX tasker_groups_merged ON tasker_groups (merged_into, group_id) WHERE merged_into <> 0;
CREATE INDEX tasker_groups_timed ON tasker_groups (ignore_until, group_id) WHERE ignore_until <> 0;

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

CREATE TABLE tasker_group_notes (
    group_id   INTEGER NOT NULL,
    no         INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    author     TEXT    NOT NULL,
    author_key TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    PRIMARY KEY (group_id, no)
);

-- Operations on frozen selections. Plan, counts and what else is not looked for are JSON.
CREATE TABLE tasker_redrives (
    redrive_id     INTEGER PRIMARY KEY,
    namespace      TEXT    NOT NULL,
    operation      TEXT    NOT NULL,
    destination    TEXT    NOT NULL,
    include_parked INTEGER NOT NULL,
    state          TEXT    NOT NULL,
    state_at       INTEGER NOT NULL,
    resume_state   TEXT    NOT NULL,
    halt           TEXT    NOT NULL,
    frozen_at      INTEGER NOT NULL,
    started_at     INTEGER NOT NULL,
    ended_at       INTEGER NOT NULL,
    total          INTEGER NOT NULL,
    wave           INTEGER NOT NULL,
    wave_size      INTEGER NOT NULL,
    wave_sent      INTEGER NOT NULL,
    wave_began     INTEGER NOT NULL,
    behind         INTEGER NOT NULL,
    actor          TEXT    NOT NULL,
    key_name       TEXT    NOT NULL,
    reason         TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    counts         TEXT    NOT NULL,
    plan           TEXT    NOT NULL,
    stop           TEXT    NOT NULL,
    edit           TEXT,
    selection      TEXT    NOT NULL
);
CREATE INDEX tasker_redrives_by_namespace ON tasker_redrives (namespace, redrive_id);
CREATE INDEX tasker_redrives_by_state ON tasker_redrives (state, redrive_id);

CREATE TABLE tasker_redrive_items (
    redrive_id INTEGER NOT NULL,
    no         INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    item_id    INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    wave       INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    group_id   INTEGER NOT NULL,
    uncertain  INTEGER NOT NULL,
    message    TEXT    NOT NULL,
    PRIMARY KEY (redrive_id, no)
) WITHOUT ROWID;
CREATE INDEX tasker_redrive_items_by_item ON tasker_redrive_items (redrive_id, item_id);
-- Most items are pending, sent or completed: a walk in the order of the numbers finds those.
CREATE INDEX tasker_redrive_items_notable ON tasker_redrive_items (redrive_id, state, no)
    WHERE state IN ('returned', 'failed', 'skipped');
CREATE INDEX tasker_redrive_items_sending ON tasker_redrive_items (redrive_id, no) WHERE state = 'sending';
CREATE INDEX tasker_redrive_items_by_wave ON tasker_redrive_items (redrive_id, wave, state) WHERE wave > 0;

-- Places that letters come from. One node at a time reads a source.
CREATE TABLE tasker_sources (
    namespace    TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    driver       TEXT    NOT NULL,
    url          TEXT    NOT NULL,
    queue        TEXT    NOT NULL,
    format       TEXT    NOT NULL,
    targets      TEXT    NOT NULL,
    max_replays  INTEGER NOT NULL,
    max_open     INTEGER NOT NULL,
    paused       INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    reader       TEXT    NOT NULL DEFAULT '',
    reader_until INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, name)
);

-- Rules by which letters are sent back without an operator; body is JSON.
CREATE TABLE tasker_policies (
    namespace TEXT    NOT NULL,
    source    TEXT    NOT NULL,
    origin    TEXT    NOT NULL,
    body      TEXT    NOT NULL,
    version   INTEGER NOT NULL,
    PRIMARY KEY (namespace, source, origin)
);

-- The group of a case; NULL until it has one.
ALTER TABLE tasker_tasks_dlq ADD COLUMN group_id INTEGER;
CREATE INDEX tasker_tasks_dlq_ungrouped ON tasker_tasks_dlq (dlq_entry_uuid) WHERE group_id IS NULL;
CREATE INDEX tasker_tasks_dlq_by_group ON tasker_tasks_dlq (group_id, dlq_entry_uuid) WHERE group_id IS NOT NULL;
