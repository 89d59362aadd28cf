-- +goose Up
-- Everything that is sent, a row a send: letters (by redrives and policies), copies of them, and failures of tasks that
-- intakes have made. A death of a letter consumes the send that it came from.
CREATE TABLE tasker_sends (
    owner_id    uuid    NOT NULL, -- the letter, or the failure
    kind        text    NOT NULL CHECK (kind IN ('letter', 'copy', 'failure')),
    no          bigint  NOT NULL, -- from 1; a send that is tried again keeps it
    state       text    NOT NULL CHECK (state IN ('planned', 'in_flight', 'unknown', 'delivered', 'refused')),
    namespace   text    NOT NULL,
    source      text    NOT NULL,
    destination text    NOT NULL,
    content     text    NOT NULL, -- hash of the payload that was sent
    message_id  text    NOT NULL,
    lineage     bigint  NOT NULL, -- sends of the letters before this one
    about_id    uuid,             -- the redrive of a letter, the task of a failure
    item_no     bigint  NOT NULL, -- of the redrive
    turn        bigint  NOT NULL, -- that sends it
    began_at    bigint  NOT NULL, -- when it was marked first, under its number
    at          bigint  NOT NULL, -- of the last mark; of a failure, when the task failed
    next_at     bigint  NOT NULL, -- when it is sent next; 0: not by itself
    tries       bigint  NOT NULL,
    copies      bigint  NOT NULL, -- that may have arrived
    died        bigint  NOT NULL, -- deaths that consumed it
    open        bigint  NOT NULL, -- 1: a death may consume it
    error       text    NOT NULL,
    PRIMARY KEY (owner_id, kind, no)
);
CREATE INDEX tasker_sends_by_content ON tasker_sends (namespace, source, content, message_id, open, at)
    WHERE kind = 'letter';
CREATE INDEX tasker_sends_due ON tasker_sends (next_at, owner_id) WHERE next_at <> 0;
CREATE INDEX tasker_sends_in_flight ON tasker_sends (at) WHERE state = 'in_flight';
CREATE INDEX tasker_sends_failures ON tasker_sends (owner_id) WHERE kind = 'failure';

-- Who has the turn of a loop that sends. A write under another turn is refused.
CREATE TABLE tasker_send_turns (
    loop text    NOT NULL PRIMARY KEY,
    turn bigint  NOT NULL
);

-- What a node has captured of a source whose broker has no positions, until the acknowledgement is known.
CREATE TABLE tasker_capture_journals (
    namespace text NOT NULL,
    source    text NOT NULL,
    journal   bytea NOT NULL,
    PRIMARY KEY (namespace, source)
);

ALTER TABLE tasker_letters ADD COLUMN unknown bigint NOT NULL DEFAULT 0;
ALTER TABLE tasker_letters ADD COLUMN lineage bigint NOT NULL DEFAULT 0;
ALTER TABLE tasker_letters ADD COLUMN link_kind text NOT NULL DEFAULT '';
ALTER TABLE tasker_letters ADD COLUMN link_id uuid;

INSERT INTO tasker_sends (owner_id, kind, no, state, namespace, source, destination, content, message_id, lineage,
    about_id, item_no, turn, began_at, at, next_at, tries, copies, died, open, error)
SELECT letter_id, 'letter', CASE WHEN state = 'redriving' THEN replays + 1 ELSE greatest(replays, 1) END,
    CASE WHEN state = 'redriving' THEN 'in_flight' ELSE 'delivered' END, namespace, source, origin, canonical, message_id, 0,
    redrive_id, coalesce((SELECT i.no FROM tasker_redrive_items i WHERE i.redrive_id = l.redrive_id
        AND i.item_id = l.letter_id), 0), 0, state_at, state_at, 0, 1, 1, 0, 1, ''
FROM tasker_letters l WHERE state IN ('redriving', 'redriven');
INSERT INTO tasker_sends (owner_id, kind, no, state, namespace, source, destination, content, message_id, lineage,
    about_id, item_no, turn, began_at, at, next_at, tries, copies, died, open, error)
SELECT failure_id, 'failure', 1, 'planned', '', '', '', '', '', 0, task_uuid, 0, 0, 0, at, greatest(next_at, 1), tries, 0, 0, 0,
    error FROM tasker_intake_failures;
DROP TABLE tasker_intake_failures;
DROP INDEX tasker_letters_returning;
DROP INDEX tasker_letters_marked;
CREATE INDEX tasker_redrive_items_unknown ON tasker_redrive_items (redrive_id, no) WHERE state = 'unknown';
