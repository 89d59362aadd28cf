-- Places that letters come from. One node at a time reads a source.
CREATE TABLE tasker_sources (
    namespace    TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    driver       TEXT    NOT NULL, -- 'http' for a program that reports
    url          TEXT    NOT NULL,
    queue        TEXT    NOT NULL,
    format       TEXT    NOT NULL,
    targets      TEXT    NOT NULL, -- JSON: where its letters may be sent besides their origins
    max_replays  INTEGER NOT NULL, -- a letter that was sent back that often is parked
    max_open     INTEGER NOT NULL, -- with more open letters nothing more is captured; 0: no bound
    paused       INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    reader       TEXT    NOT NULL DEFAULT '', -- the node that reads it, until reader_until
    reader_until INTEGER NOT NULL DEFAULT 0,
    lost_at      INTEGER NOT NULL DEFAULT 0, -- since when it cannot be read, and why; 0: it can
    lost_for     TEXT    NOT NULL DEFAULT '',
    intake       TEXT    NOT NULL DEFAULT '', -- JSON: how its messages become tasks; '': they become letters
    -- JSON: pointers and headers that are sensitive in its letters; '': nothing
    sensitive    TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, name)
);

-- Dead letters: messages that their consumers could not process. What lists and selections look at comes first; the
-- first KiB of a payload, which is searched, and the headers come after it.
CREATE TABLE tasker_letters (
    letter_id     INTEGER PRIMARY KEY,
    namespace     TEXT    NOT NULL,
    source        TEXT    NOT NULL,
    origin        TEXT    NOT NULL, -- where its consumer had taken it from: a queue, a topic
    format        TEXT    NOT NULL, -- convention in which it reported its failure
    position      TEXT    NOT NULL, -- on its broker; '' where the broker has none
    message_id    TEXT    NOT NULL,
    identity      TEXT    NOT NULL, -- by which another delivery of it is recognised
    canonical     TEXT    NOT NULL, -- hash of the content: what is known of a letter that comes back without headers
    state         TEXT    NOT NULL,
    state_at      INTEGER NOT NULL,
    due_at        INTEGER NOT NULL, -- of a scheduled letter
    reason        TEXT    NOT NULL, -- why it was discarded or left to an operator
    redrive_id    INTEGER,          -- that holds it, or held it last
    purge_at      INTEGER NOT NULL, -- when it is deleted; 0: never
    group_id      INTEGER NOT NULL, -- of the latest occurrence
    error_type    TEXT    NOT NULL,
    error_code    TEXT    NOT NULL,
    error_class   TEXT    NOT NULL,
    retryable     INTEGER NOT NULL,
    handler       TEXT    NOT NULL,
    occurrences   INTEGER NOT NULL, -- times that it died
    attempts      INTEGER NOT NULL, -- of its consumers, in all
    replays       INTEGER NOT NULL, -- times that it was sent back
    parked        INTEGER NOT NULL, -- 1: sent back too often; operations on many leave it out
    first_at      INTEGER NOT NULL,
    last_at       INTEGER NOT NULL,
    captured_at   INTEGER NOT NULL,
    payload_bytes INTEGER NOT NULL, -- before it was cut
    kept_bytes    INTEGER NOT NULL, -- of the payload; above 1024 it is in tasker_letter_bodies
    cut           INTEGER NOT NULL, -- 1: only its beginning is kept
    edited        INTEGER NOT NULL, -- 1: what is sent instead is in tasker_letter_bodies
    version       INTEGER NOT NULL,
    undecoded     TEXT    NOT NULL, -- why it could not be decoded
    error_message TEXT    NOT NULL,
    message_key   BLOB,
    head          BLOB,
    headers       BLOB,
    -- by a policy, since it died or was sent last: they count towards the policy's retries
    failed_sends  INTEGER NOT NULL DEFAULT 0,
    event_type    TEXT    NOT NULL DEFAULT '', -- of the event that it carries, as its content says; '': none
    unknown       INTEGER NOT NULL DEFAULT 0, -- 1: whether its last send arrived is not known
    lineage       INTEGER NOT NULL DEFAULT 0, -- sends of the letters that it continues
    -- How it relates to the letter link_id: it continues that one, or resembles it; '': to none.
    link_kind     TEXT    NOT NULL DEFAULT '',
    link_id       INTEGER
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
    details       BLOB, -- JSON: names and values that the letter told besides; packed like a stack
    PRIMARY KEY (letter_id, no)
);

-- Identities by which deliveries of a letter are recognised besides the one in tasker_letters: those of its earlier
-- deaths, and of deaths that another source has brought. A broker may deliver a message again long after its letter
-- was sent back.
CREATE TABLE tasker_letter_aliases (
    namespace TEXT    NOT NULL,
    source    TEXT    NOT NULL,
    identity  TEXT    NOT NULL,
    letter_id INTEGER NOT NULL,
    PRIMARY KEY (namespace, source, identity)
) WITHOUT ROWID;
-- They are deleted with their letter.
CREATE INDEX tasker_letter_aliases_by_letter ON tasker_letter_aliases (letter_id);

-- What a node has captured of a source whose broker has no positions, until the acknowledgement is known.
CREATE TABLE tasker_capture_journals (
    namespace TEXT NOT NULL,
    source    TEXT NOT NULL,
    journal   BLOB NOT NULL,
    PRIMARY KEY (namespace, source)
) WITHOUT ROWID;

-- Messages that stay on their brokers, because they are larger than a letter may be.
CREATE TABLE tasker_oversized (
    namespace  TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    position   TEXT    NOT NULL,
    bytes      INTEGER NOT NULL,
    part       INTEGER NOT NULL, -- the partition
    log_offset INTEGER NOT NULL, -- -1 where the broker keeps no log
    first_at   INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    PRIMARY KEY (namespace, source, position)
);
