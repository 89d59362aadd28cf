-- Redrives: operations on frozen selections. Plan, counts and what else is not looked for are JSON.
CREATE TABLE tasker_redrives (
    redrive_id     INTEGER PRIMARY KEY,
    namespace      TEXT    NOT NULL,
    operation      TEXT    NOT NULL,
    destination    TEXT    NOT NULL, -- '': each letter to its origin
    include_parked INTEGER NOT NULL,
    state          TEXT    NOT NULL,
    state_at       INTEGER NOT NULL,
    resume_state   TEXT    NOT NULL, -- to which a paused redrive returns
    halt           TEXT    NOT NULL, -- why it was halted
    frozen_at      INTEGER NOT NULL,
    started_at     INTEGER NOT NULL,
    ended_at       INTEGER NOT NULL,
    total          INTEGER NOT NULL,
    wave           INTEGER NOT NULL, -- under way, from 1
    wave_size      INTEGER NOT NULL,
    wave_sent      INTEGER NOT NULL, -- items of the wave that are decided
    wave_began     INTEGER NOT NULL,
    behind         INTEGER NOT NULL, -- number of the last item that was decided
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
-- Ended redrives, to be deleted.
CREATE INDEX tasker_redrives_ended ON tasker_redrives (ended_at, redrive_id) WHERE ended_at <> 0;

-- The items of redrives, numbered in the order in which they are sent.
CREATE TABLE tasker_redrive_items (
    redrive_id INTEGER NOT NULL,
    no         INTEGER NOT NULL,
    kind       TEXT    NOT NULL, -- letter or case
    item_id    INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    wave       INTEGER NOT NULL,
    at         INTEGER NOT NULL, -- of the state
    group_id   INTEGER NOT NULL, -- with which it came back; 0: it did not
    uncertain  INTEGER NOT NULL, -- 1: it may have been sent twice
    message    TEXT    NOT NULL,
    PRIMARY KEY (redrive_id, no)
) WITHOUT ROWID;
CREATE INDEX tasker_redrive_items_by_item ON tasker_redrive_items (redrive_id, item_id);
-- Most items are pending, sent or completed: a walk in the order of the numbers finds those.
CREATE INDEX tasker_redrive_items_notable ON tasker_redrive_items (redrive_id, state, no)
    WHERE state IN ('returned', 'failed', 'skipped');
CREATE INDEX tasker_redrive_items_sending ON tasker_redrive_items (redrive_id, no) WHERE state = 'sending';
CREATE INDEX tasker_redrive_items_by_wave ON tasker_redrive_items (redrive_id, wave, state) WHERE wave > 0;
-- Cases whose tasks run again: a loop looks for what has become of them, of redrives that have ended too.
CREATE INDEX tasker_redrive_items_watched ON tasker_redrive_items (redrive_id, no)
    WHERE kind = 'case' AND state = 'sent';
-- The few items of a redrive that may have been sent twice: a page counts them.
CREATE INDEX tasker_redrive_items_uncertain ON tasker_redrive_items (redrive_id) WHERE uncertain = 1;
CREATE INDEX tasker_redrive_items_unknown ON tasker_redrive_items (redrive_id, no) WHERE state = 'unknown';

-- Rules by which letters are sent back without an operator.
CREATE TABLE tasker_policies (
    namespace TEXT    NOT NULL,
    source    TEXT    NOT NULL,
    origin    TEXT    NOT NULL,
    body      TEXT    NOT NULL, -- JSON
    version   INTEGER NOT NULL,
    PRIMARY KEY (namespace, source, origin)
);

-- Replays: ranges of topics that are read again.
CREATE TABLE tasker_replays (
    replay_id  INTEGER PRIMARY KEY,
    namespace  TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    spec       TEXT    NOT NULL, -- JSON: what was asked for
    progress   TEXT    NOT NULL, -- JSON: how far it is
    actor      TEXT    NOT NULL,
    key_name   TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    purge_at   INTEGER NOT NULL DEFAULT 0 -- when it is deleted; 0: it has not ended
);
CREATE INDEX tasker_replays_by_namespace ON tasker_replays (namespace, replay_id);
CREATE INDEX tasker_replays_open ON tasker_replays (state, replay_id) WHERE state NOT IN ('done', 'cancelled');
CREATE INDEX tasker_replays_purge ON tasker_replays (purge_at) WHERE purge_at <> 0;

-- Everything that is sent, a row a send: letters (by redrives and policies), copies of them, and failures of tasks
-- that intakes have made. A death of a letter consumes the send that it came from.
CREATE TABLE tasker_sends (
    owner_id    INTEGER NOT NULL, -- the letter, or the failure
    kind        TEXT    NOT NULL CHECK (kind IN ('letter', 'copy', 'failure')),
    no          INTEGER NOT NULL, -- from 1; a send that is tried again keeps it
    state       TEXT    NOT NULL CHECK (state IN ('planned', 'in_flight', 'unknown', 'delivered', 'refused')),
    namespace   TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    destination TEXT    NOT NULL,
    content     TEXT    NOT NULL, -- hash of the payload that was sent
    message_id  TEXT    NOT NULL,
    lineage     INTEGER NOT NULL, -- sends of the letters before this one
    about_id    INTEGER,          -- the redrive of a letter, the task of a failure
    item_no     INTEGER NOT NULL, -- of the redrive
    turn        INTEGER NOT NULL, -- that sends it
    began_at    INTEGER NOT NULL, -- when it was marked first, under its number
    at          INTEGER NOT NULL, -- of the last mark; of a failure, when the task failed
    next_at     INTEGER NOT NULL, -- when it is sent next; 0: not by itself
    tries       INTEGER NOT NULL,
    copies      INTEGER NOT NULL, -- that may have arrived
    died        INTEGER NOT NULL, -- deaths that consumed it
    open        INTEGER NOT NULL, -- 1: a death may consume it
    error       TEXT    NOT NULL,
    PRIMARY KEY (owner_id, kind, no)
) WITHOUT ROWID;
CREATE INDEX tasker_sends_by_content ON tasker_sends (namespace, source, content, message_id, open, at)
    WHERE kind = 'letter';
CREATE INDEX tasker_sends_due ON tasker_sends (next_at, owner_id) WHERE next_at <> 0;
CREATE INDEX tasker_sends_in_flight ON tasker_sends (at) WHERE state = 'in_flight';
CREATE INDEX tasker_sends_failures ON tasker_sends (owner_id) WHERE kind = 'failure';

-- Who has the turn of a loop that sends. A write under another turn is refused.
CREATE TABLE tasker_send_turns (
    loop TEXT    NOT NULL PRIMARY KEY,
    turn INTEGER NOT NULL
) WITHOUT ROWID;

-- Events that webhooks receive, written with what they tell of.
CREATE TABLE tasker_inbox_events (
    event_id  INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    submitted INTEGER NOT NULL, -- 1: the tasks that deliver it exist
    body      TEXT    NOT NULL  -- JSON
);
CREATE INDEX tasker_inbox_events_waiting ON tasker_inbox_events (event_id) WHERE submitted = 0;
CREATE INDEX tasker_inbox_events_by_time ON tasker_inbox_events (at);

-- Without statistics SQLite takes the items of a redrive for ten, and reads all of them, where an index finds the one
-- that came back. These are what a large redrive has; ANALYZE replaces them by what there is.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('tasker_redrive_items', 'tasker_redrive_items', '1000000 50000 1'),
    ('tasker_redrive_items', 'tasker_redrive_items_by_item', '1000000 50000 1'),
    ('tasker_redrive_items', 'tasker_redrive_items_notable', '10000 500 170 1'),
    ('tasker_redrive_items', 'tasker_redrive_items_sending', '500 500 1'),
    ('tasker_redrive_items', 'tasker_redrive_items_by_wave', '500000 25000 1000 500'),
    ('tasker_redrive_items', 'tasker_redrive_items_watched', '10000 500 1'),
    ('tasker_redrive_items', 'tasker_redrive_items_uncertain', '100 5');
