-- Redrives: operations on frozen selections. Plan, counts and what else is not looked for are JSON.
CREATE TABLE tasker_redrives (
    redrive_id     uuid     PRIMARY KEY,
    namespace      text     NOT NULL,
    operation      text     NOT NULL,
    destination    text     NOT NULL, -- '': each letter to its origin
    include_parked smallint NOT NULL,
    state          text     NOT NULL,
    state_at       bigint   NOT NULL,
    resume_state   text     NOT NULL, -- to which a paused redrive returns
    halt           text     NOT NULL, -- why it was halted
    frozen_at      bigint   NOT NULL,
    started_at     bigint   NOT NULL,
    ended_at       bigint   NOT NULL,
    total          bigint   NOT NULL,
    wave           bigint   NOT NULL, -- under way, from 1
    wave_size      bigint   NOT NULL,
    wave_sent      bigint   NOT NULL, -- items of the wave that are decided
    wave_began     bigint   NOT NULL,
    behind         bigint   NOT NULL, -- number of the last item that was decided
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
-- Ended redrives, to be deleted.
CREATE INDEX tasker_redrives_ended ON tasker_redrives (ended_at, redrive_id) WHERE ended_at <> 0;

-- The items of redrives, numbered in the order in which they are sent.
CREATE TABLE tasker_redrive_items (
    redrive_id uuid     NOT NULL,
    no         bigint   NOT NULL,
    kind       text     NOT NULL, -- letter or case
    item_id    uuid     NOT NULL,
    state      text     NOT NULL,
    wave       bigint   NOT NULL,
    at         bigint   NOT NULL, -- of the state
    group_id   bigint   NOT NULL, -- with which it came back; 0: it did not
    uncertain  smallint NOT NULL, -- 1: it may have been sent twice
    message    text     NOT NULL,
    PRIMARY KEY (redrive_id, no)
);
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
    namespace text   NOT NULL,
    source    text   NOT NULL,
    origin    text   NOT NULL,
    body      text   NOT NULL, -- JSON
    version   bigint NOT NULL,
    PRIMARY KEY (namespace, source, origin)
);

-- Replays: ranges of topics that are read again.
CREATE TABLE tasker_replays (
    replay_id  uuid   PRIMARY KEY,
    namespace  text   NOT NULL,
    source     text   NOT NULL,
    state      text   NOT NULL,
    spec       text   NOT NULL, -- JSON: what was asked for
    progress   text   NOT NULL, -- JSON: how far it is
    actor      text   NOT NULL,
    key_name   text   NOT NULL,
    reason     text   NOT NULL,
    created_at bigint NOT NULL,
    version    bigint NOT NULL,
    purge_at   bigint NOT NULL DEFAULT 0 -- when it is deleted; 0: it has not ended
);
CREATE INDEX tasker_replays_by_namespace ON tasker_replays (namespace, replay_id);
CREATE INDEX tasker_replays_open ON tasker_replays (state, replay_id) WHERE state NOT IN ('done', 'cancelled');
CREATE INDEX tasker_replays_purge ON tasker_replays (purge_at) WHERE purge_at <> 0;

-- Everything that is sent, a row a send: letters (by redrives and policies), copies of them, and failures of tasks
-- that intakes have made. A death of a letter consumes the send that it came from.
CREATE TABLE tasker_sends (
    owner_id    uuid   NOT NULL, -- the letter, or the failure
    kind        text   NOT NULL CHECK (kind IN ('letter', 'copy', 'failure')),
    no          bigint NOT NULL, -- from 1; a send that is tried again keeps it
    state       text   NOT NULL CHECK (state IN ('planned', 'in_flight', 'unknown', 'delivered', 'refused')),
    namespace   text   NOT NULL,
    source      text   NOT NULL,
    destination text   NOT NULL,
    content     text   NOT NULL, -- hash of the payload that was sent
    message_id  text   NOT NULL,
    lineage     bigint NOT NULL, -- sends of the letters before this one
    about_id    uuid,            -- the redrive of a letter, the task of a failure
    item_no     bigint NOT NULL, -- of the redrive
    turn        bigint NOT NULL, -- that sends it
    began_at    bigint NOT NULL, -- when it was marked first, under its number
    at          bigint NOT NULL, -- of the last mark; of a failure, when the task failed
    next_at     bigint NOT NULL, -- when it is sent next; 0: not by itself
    tries       bigint NOT NULL,
    copies      bigint NOT NULL, -- that may have arrived
    died        bigint NOT NULL, -- deaths that consumed it
    open        bigint NOT NULL, -- 1: a death may consume it
    error       text   NOT NULL,
    PRIMARY KEY (owner_id, kind, no)
);
CREATE INDEX tasker_sends_by_content ON tasker_sends (namespace, source, content, message_id, open, at)
    WHERE kind = 'letter';
CREATE INDEX tasker_sends_due ON tasker_sends (next_at, owner_id) WHERE next_at <> 0;
CREATE INDEX tasker_sends_in_flight ON tasker_sends (at) WHERE state = 'in_flight';
CREATE INDEX tasker_sends_failures ON tasker_sends (owner_id) WHERE kind = 'failure';

-- Who has the turn of a loop that sends. A write under another turn is refused.
CREATE TABLE tasker_send_turns (
    loop text   NOT NULL PRIMARY KEY,
    turn bigint NOT NULL
);

-- Events that webhooks receive, written with what they tell of.
CREATE TABLE tasker_inbox_events (
    event_id  uuid     PRIMARY KEY,
    at        bigint   NOT NULL,
    submitted smallint NOT NULL, -- 1: the tasks that deliver it exist
    body      text     NOT NULL  -- JSON
);
CREATE INDEX tasker_inbox_events_waiting ON tasker_inbox_events (event_id) WHERE submitted = 0;
CREATE INDEX tasker_inbox_events_by_time ON tasker_inbox_events (at);
