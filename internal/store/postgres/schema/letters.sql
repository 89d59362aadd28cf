-- Places that letters come from. One node at a time reads a source.
CREATE TABLE tasker_sources (
    namespace    text     NOT NULL,
    name         text     NOT NULL,
    driver       text     NOT NULL, -- 'http' for a program that reports
    url          text     NOT NULL,
    queue        text     NOT NULL,
    format       text     NOT NULL,
    targets      text     NOT NULL, -- JSON: where its letters may be sent besides their origins
    max_replays  bigint   NOT NULL, -- a letter that was sent back that often is parked
    max_open     bigint   NOT NULL, -- with more open letters nothing more is captured; 0: no bound
    paused       smallint NOT NULL,
    version      bigint   NOT NULL,
    reader       text     NOT NULL DEFAULT '', -- the node that reads it, until reader_until
    reader_until bigint   NOT NULL DEFAULT 0,
    lost_at      bigint   NOT NULL DEFAULT 0, -- since when it cannot be read, and why; 0: it can
    lost_for     text     NOT NULL DEFAULT '',
    intake       text     NOT NULL DEFAULT '', -- JSON: how its messages become tasks; '': they become letters
    -- JSON: pointers and headers that are sensitive in its letters; '': nothing
    sensitive    text     NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, name)
);

-- Dead letters: messages that their consumers could not process. What lists and selections look at comes first; the
-- first KiB of a payload, which is searched, and the headers come after it.
CREATE TABLE tasker_letters (
    letter_id     uuid     PRIMARY KEY,
    namespace     text     NOT NULL,
    source        text     NOT NULL,
    origin        text     NOT NULL, -- where its consumer had taken it from: a queue, a topic
    format        text     NOT NULL, -- convention in which it reported its failure
    position      text     NOT NULL, -- on its broker; '' where the broker has none
    message_id    text     NOT NULL,
    identity      text     NOT NULL, -- by which another delivery of it is recognised
    canonical     text     NOT NULL, -- hash of the content: what is known of a letter that comes back without headers
    state         text     NOT NULL,
    state_at      bigint   NOT NULL,
    due_at        bigint   NOT NULL, -- of a scheduled letter
    reason        text     NOT NULL, -- why it was discarded or left to an operator
    redrive_id    uuid,              -- that holds it, or held it last
    purge_at      bigint   NOT NULL, -- when it is deleted; 0: never
    group_id      bigint   NOT NULL, -- of the latest occurrence
    error_type    text     NOT NULL,
    error_code    text     NOT NULL,
    error_class   text     NOT NULL,
    retryable     smallint NOT NULL,
    handler       text     NOT NULL,
    occurrences   bigint   NOT NULL, -- times that it died
    attempts      bigint   NOT NULL, -- of its consumers, in all
    replays       bigint   NOT NULL, -- times that it was sent back
    parked        smallint NOT NULL, -- 1: sent back too often; operations on many leave it out
    first_at      bigint   NOT NULL,
    last_at       bigint   NOT NULL,
    captured_at   bigint   NOT NULL,
    payload_bytes bigint   NOT NULL, -- before it was cut
    kept_bytes    bigint   NOT NULL, -- of the payload; above 1024 it is in tasker_letter_bodies
    cut           smallint NOT NULL, -- 1: only its beginning is kept
    edited        smallint NOT NULL, -- 1: what is sent instead is in tasker_letter_bodies
    version       bigint   NOT NULL,
    undecoded     text     NOT NULL, -- why it could not be decoded
    error_message text     NOT NULL,
    message_key   bytea,
    head          bytea,
    headers       bytea,
    -- by a policy, since it died or was sent last: they count towards the policy's retries
    failed_sends  integer  NOT NULL DEFAULT 0,
    event_type    text     NOT NULL DEFAULT '', -- of the event that it carries, as its content says; '': none
    unknown       bigint   NOT NULL DEFAULT 0, -- 1: whether its last send arrived is not known
    lineage       bigint   NOT NULL DEFAULT 0, -- sends of the letters that it continues
    -- How it relates to the letter link_id: it continues that one, or resembles it; '': to none.
    link_kind     text     NOT NULL DEFAULT '',
    link_id       uuid
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1, autovacuum_vacuum_cost_limit = 2000
);
CREATE UNIQUE INDEX tasker_letters_identity ON tasker_letters (namespace, source, identity);
-- A page names its states, so that each of them is one walk in the order of the page.
CREATE INDEX tasker_letters_by_group ON tasker_letters (group_id, state, letter_id);
CREATE INDEX tasker_letters_by_source ON tasker_letters (namespace, source, state, letter_id);
CREATE INDEX tasker_letters_by_origin ON tasker_letters (namespace, origin, state, letter_id);
CREATE INDEX tasker_letters_by_state ON tasker_letters (namespace, state, letter_id);
CREATE INDEX tasker_letters_due ON tasker_letters (due_at, letter_id) WHERE state = 'scheduled';
CREATE INDEX tasker_letters_purged ON tasker_letters (purge_at, letter_id) WHERE purge_at <> 0;
CREATE INDEX tasker_letters_by_event_type ON tasker_letters (namespace, event_type, state, letter_id)
    WHERE event_type <> '';
-- Operators name letters by the IDs of their senders.
CREATE INDEX tasker_letters_by_message ON tasker_letters (namespace, message_id, letter_id) WHERE message_id <> '';

-- What is large and does not change when its letter does: a payload above 1 KiB, and what is sent instead. The first
-- byte of a value says how the rest is kept: 0 as it is, 1 compressed (deflate).
CREATE TABLE tasker_letter_bodies (
    letter_id uuid  PRIMARY KEY,
    payload   bytea,
    edited    bytea
);
-- They are compressed already, where that is worth it.
ALTER TABLE tasker_letter_bodies ALTER COLUMN payload SET STORAGE EXTERNAL, ALTER COLUMN edited SET STORAGE EXTERNAL;

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
    details       bytea, -- JSON: names and values that the letter told besides; packed like a stack
    PRIMARY KEY (letter_id, no)
);

-- Identities by which deliveries of a letter are recognised besides the one in tasker_letters: those of its earlier
-- deaths, and of deaths that another source has brought. A broker may deliver a message again long after its letter
-- was sent back.
CREATE TABLE tasker_letter_aliases (
    namespace text NOT NULL,
    source    text NOT NULL,
    identity  text NOT NULL,
    letter_id uuid NOT NULL,
    PRIMARY KEY (namespace, source, identity)
);
-- They are deleted with their letter.
CREATE INDEX tasker_letter_aliases_by_letter ON tasker_letter_aliases (letter_id);

-- What a node has captured of a source whose broker has no positions, until the acknowledgement is known.
CREATE TABLE tasker_capture_journals (
    namespace text  NOT NULL,
    source    text  NOT NULL,
    journal   bytea NOT NULL,
    PRIMARY KEY (namespace, source)
);

-- Messages that stay on their brokers, because they are larger than a letter may be.
CREATE TABLE tasker_oversized (
    namespace  text   COLLATE "C" NOT NULL,
    source     text   COLLATE "C" NOT NULL,
    position   text   COLLATE "C" NOT NULL,
    bytes      bigint NOT NULL,
    part       bigint NOT NULL, -- the partition
    log_offset bigint NOT NULL, -- -1 where the broker keeps no log
    first_at   bigint NOT NULL,
    seen_at    bigint NOT NULL,
    PRIMARY KEY (namespace, source, position)
);
