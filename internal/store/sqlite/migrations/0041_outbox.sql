-- +goose Up
-- Everything that is sent, a row a send: letters (by redrives and policies), copies of them, and failures of tasks that
-- intakes have made. A death of a letter consumes the send that it came from.
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

-- What a node has captured of a source whose broker has no positions, until the acknowledgement is known.
CREATE TABLE tasker_capture_journals (
    namespace TEXT NOT NULL,
    source    TEXT NOT NULL,
    journal   BLOB NOT NULL,
    PRIMARY KEY (namespace, source)
) WITHOUT ROWID;

ALTER TABLE tasker_letters ADD COLUMN unknown INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasker_letters ADD COLUMN lineage INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasker_letters ADD COLUMN link_kind TEXT NOT NULL DEFAULT '';
ALTER TABLE tasker_letters ADD COLUMN link_id INTEGER;

INSERT INTO tasker_sends (owner_id, kind, no, state, namespace, source, destination, content, message_id, lineage,
    about_id, item_no, turn, began_at, at, next_at, tries, copies, died, open, error)
SELECT letter_id, 'letter', CASE WHEN state = 'redriving' THEN replays + 1 ELSE max(replays, 1) END,
    CASE WHEN state = 'redriving' THEN 'in_flight' ELSE 'delivered' END, namespace, source, origin, canonical, message_id, 0,
    redrive_id, coalesce((SELECT i.no FROM tasker_redrive_items i WHERE i.redrive_id = l.redrive_id
        AND i.item_id = l.letter_id), 0), 0, state_at, state_at, 0, 1, 1, 0, 1, ''
FROM tasker_letters l WHERE state IN ('redriving', 'redriven');
INSERT INTO tasker_sends (owner_id, kind, no, state, namespace, source, destination, content, message_id, lineage,
    about_id, item_no, turn, began_at, at, next_at, tries, copies, died, open, error)
SELECT failure_id, 'failure', 1, 'planned', '', '', '', '', '', 0, task_uuid, 0, 0, 0, at, max(next_at, 1), tries, 0, 0, 0,
    error FROM tasker_intake_failures;
DROP TABLE tasker_intake_failures;
DROP INDEX tasker_letters_returning;
DROP INDEX tasker_letters_marked;
CREATE INDEX tasker_redrive_items_unknown ON tasker_redrive_items (redrive_id, no) WHERE state = 'unknown';
