-- +goose Up
-- Dead letters: messages that their consumers could not process. What lists and selections look at comes first; the
-- first KiB of a payload, which is searched, and the headers come last.
CREATE TABLE tasker_letters (
    letter_id     uuid     PRIMARY KEY,
    namespace     text     NOT NULL,
    source        text     NOT NULL,
    origin        text     NOT NULL,
    format        text     NOT NULL,
    position      text     NOT NULL,
    message_id    text     NOT NULL,
    identity      text     NOT NULL,
    canonical     text     NOT NULL,
    state         text     NOT NULL,
    state_at      bigint   NOT NULL,
    due_at        bigint   NOT NULL,
    reason        text     NOT NULL,
    redrive_id    uuid,
    purge_at      bigint   NOT NULL,
    group_id      bigint   NOT NULL,
    error_type    text     NOT NULL,
    error_code    text     NOT NULL,
    error_class   text     NOT NULL,
    retryable     smallint NOT NULL,
    handler       text     NOT NULL,
    occurrences   bigint   NOT NULL,
    attempts      bigint   NOT NULL,
    replays       bigint   NOT NULL,
    parked        smallint NOT NULL,
    first_at      bigint   NOT NULL,
    last_at       bigint   NOT NULL,
    captured_at   bigint   NOT NULL,
    payload_bytes bigint   NOT NULL, -- before it was cut
    kept_bytes    bigint   NOT NULL, -- of the payload; above 1024 it is in tasker_letter_bodies
    cut           smallint NOT NULL,
    edited        smallint NOT NULL, -- what is sent instead is in tasker_letter_bodies
    version       bigint   NOT NULL,
    undecoded     text     NOT NULL,
    error_message text     NOT NULL,
    message_key   bytea,
    head          bytea,
    headers       bytea
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
    letter_id uuid  PRIMARY KEY,
    payload   bytea,
    edited    bytea
);

-- Each time that a letter died. A stack and a payload have a first byte as bodies have.
CREATE TABLE tasker_letter_occurrences (
    letter_id     uuid     NOT NULL,
    no            bigint   NOT NULL,
    at            bigint   NOT NULL,
    group_id      bigint   NOT NULL,
    error_type    text     NOT NULL,
    error_code    text     NOT NULL,
    error_class   text     NOT NULL,
    retryable     smallint NOT NULL,
    handler       text     NOT NULL,
    origin        text     NOT NULL,
    position      text     NOT NULL,
    attempts      bigint   NOT NULL,
    redrive_id    uuid,
    error_message text     NOT NULL,
    stack         bytea,
    payload       bytea,
    PRIMARY KEY (letter_id, no)
);

-- Everything with one fingerprint. Its counts are behind by what is in tasker_group_deltas.
CREATE TABLE tasker_groups (
    group_id      bigint   PRIMARY KEY,
    namespace     text     NOT NULL,
    print_version bigint   NOT NULL,
    error_type    text     NOT NULL,
    error_message text     NOT NULL,
    frame         text     NOT NULL,
    place         text     NOT NULL,
    rule          text     NOT NULL,
    title         text     NOT NULL,
    state         text     NOT NULL,
    state_at      bigint   NOT NULL,
    resolved_in   text     NOT NULL,
    ignore_until  bigint   NOT NULL,
    ignore_count  bigint   NOT NULL,
    ignore_rate   bigint   NOT NULL,
    ignored_from  bigint   NOT NULL,
    regression    smallint NOT NULL,
    regressions   bigint   NOT NULL,
    resolved_at   bigint   NOT NULL,
    open_for      bigint   NOT NULL,
    resolutions   bigint   NOT NULL,
    opened_at     bigint   NOT NULL,
    owner         text     NOT NULL,
    runbook       text     NOT NULL,
    due_at        bigint   NOT NULL,
    merged_into   bigint   NOT NULL,
    first_at      bigint   NOT NULL,
    last_at       bigint   NOT NULL,
    failures      bigint   NOT NULL,
    open_letters  bigint   NOT NULL,
    open_cases    bigint   NOT NULL,
    notes         bigint   NOT NULL,
    version       bigint   NOT NULL
);
CREATE INDEX tasker_groups_by_namespace ON tasker_groups (namespace, group_id);
CREATE INDEX tasker_groups_merged ON tasker_groups (merged_into, group_id) WHERE merged_into <> 0;
CREATE INDEX tasker_groups_timed ON tasker_groups (ignore_until, group_id) WHERE ignore_until <> 0;

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
);

CREATE TABLE tasker_group_notes (
    group_id   bigint NOT NULL,
    no         bigint NOT NULL,
    at         bigint NOT NULL,
    author     text   NOT NULL,
    author_key text   NOT NULL,
    kind       text   NOT NULL,
    body       text   NOT NULL,
    PRIMARY KEY (group_id, no)
);

-- Operations on frozen selections. Plan, counts and what else is not looked for are JSON.
CREATE TABLE tasker_redrives (
    redrive_id     uuid     PRIMARY KEY,
    namespace      text     NOT NULL,
    operation      text     NOT NULL,
    destination    text     NOT NULL,
    include_parked smallint NOT NULL,
    state          text     NOT NULL,
    state_at       bigint   NOT NULL,
    resume_state   text     NOT NULL,
    halt           text     NOT NULL,
    frozen_at      bigint   NOT NULL,
    started_at     bigint   NOT NULL,
    ended_at       bigint   NOT NULL,
    total          bigint   NOT NULL,
    wave           bigint   NOT NULL,
    wave_size      bigint   NOT NULL,
    wave_sent      bigint   NOT NULL,
    wave_began     bigint   NOT NULL,
    behind         bigint   NOT NULL,
    actor          text     NOT NULL,
    key_name       text     NOT NULL,
    reason         text     NOT NULL,
    created_at     bigint   NOT NULL,
    version        bigint   NOT NULL,
    counts         text     NOT NULL,
    plan           text     NOT NULL,
    stop           text     NOT NULL,
    edit           text,
    selection      text     NOT NULL
);
CREATE INDEX tasker_redrives_by_namespace ON tasker_redrives (namespace, redrive_id);
CREATE INDEX tasker_redrives_by_state ON tasker_redrives (state, redrive_id);

CREATE TABLE tasker_redrive_items (
    redrive_id uuid     NOT NULL,
    no         bigint   NOT NULL,
    kind       text     NOT NULL,
    item_id    uuid     NOT NULL,
    state      text     NOT NULL,
    wave       bigint   NOT NULL,
    at         bigint   NOT NULL,
    group_id   bigint   NOT NULL,
    uncertain  smallint NOT NULL,
    message    text     NOT NULL,
    PRIMARY KEY (redrive_id, no)
);
CREATE INDEX tasker_redrive_items_by_item ON tasker_redrive_items (redrive_id, item_id);
-- Most items are pending, sent or completed: a walk in the order of the numbers finds those.
CREATE INDEX tasker_redrive_items_notable ON tasker_redrive_items (redrive_id, state, no)
    WHERE state IN ('returned', 'failed', 'skipped');
CREATE INDEX tasker_redrive_items_sending ON tasker_redrive_items (redrive_id, no) WHERE state = 'sending';
CREATE INDEX tasker_redrive_items_by_wave ON tasker_redrive_items (redrive_id, wave, state) WHERE wave > 0;

-- Places that letters come from. One node at a time reads a source.
CREATE TABLE tasker_sources (
    namespace    text     NOT NULL,
    name         text     NOT NULL,
    driver       text     NOT NULL,
    url          text     NOT NULL,
    queue        text     NOT NULL,
    format       text     NOT NULL,
    targets      text     NOT NULL,
    max_replays  bigint   NOT NULL,
    max_open     bigint   NOT NULL,
    paused       smallint NOT NULL,
    version      bigint   NOT NULL,
    reader       text     NOT NULL DEFAULT '',
    reader_until bigint   NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, name)
);

-- Rules by which letters are sent back without an operator; body is JSON.
CREATE TABLE tasker_policies (
    namespace text   NOT NULL,
    source    text   NOT NULL,
    origin    text   NOT NULL,
    body      text   NOT NULL,
    version   bigint NOT NULL,
    PRIMARY KEY (namespace, source, origin)
);

-- The group of a case; NULL until it has one.
ALTER TABLE tasker_tasks_dlq ADD COLUMN group_id bigint;
CREATE INDEX tasker_tasks_dlq_ungrouped ON tasker_tasks_dlq (dlq_entry_uuid) WHERE group_id IS NULL;
CREATE INDEX tasker_tasks_dlq_by_group ON tasker_tasks_dlq (group_id, dlq_entry_uuid) WHERE group_id IS NOT NULL;

-- Rows come and go all the time.
ALTER TABLE tasker_group_deltas SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
ALTER TABLE tasker_letters SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1, autovacuum_vacuum_cost_limit = 2000);
ALTER TABLE tasker_letter_bodies ALTER COLUMN payload SET STORAGE EXTERNAL, ALTER COLUMN edited SET STORAGE EXTERNAL;
