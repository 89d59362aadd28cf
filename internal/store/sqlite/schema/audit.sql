-- The audit trail: what operators and keys did. Rows are only ever added. An act may be about no task: about a worker,
-- a template or a key.
CREATE TABLE tasker_acts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id    INTEGER,
    step_id    INTEGER,
    case_id    INTEGER,
    worker_id  INTEGER,
    namespace  TEXT,
    template   TEXT,
    at         INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    -- how the actor was known, beside the name that was claimed
    auth       TEXT    NOT NULL DEFAULT '' CHECK (auth = '' OR auth = 'key' OR auth = 'none' OR auth = 'system'),
    key_name   TEXT, -- the API key that the request carried
    reason     TEXT    NOT NULL,
    from_state TEXT    NOT NULL,
    to_state   TEXT    NOT NULL,
    data       TEXT -- JSON
);
CREATE INDEX tasker_acts_by_task ON tasker_acts (task_id);
CREATE INDEX tasker_acts_by_case ON tasker_acts (case_id, id) WHERE case_id IS NOT NULL;
CREATE INDEX tasker_acts_by_actor ON tasker_acts (actor, id);
CREATE INDEX tasker_acts_by_kind ON tasker_acts (kind, id);
CREATE INDEX tasker_acts_by_worker ON tasker_acts (worker_id, id) WHERE worker_id IS NOT NULL;
CREATE INDEX tasker_acts_by_template ON tasker_acts (namespace, template, id) WHERE namespace IS NOT NULL;
CREATE INDEX tasker_acts_by_key ON tasker_acts (key_name, id) WHERE key_name IS NOT NULL;

-- The hash chain of the audit trail: each link seals one act. A loop adds links behind the acts, so that no
-- transaction waits for another one to add its act.
CREATE TABLE tasker_act_links (
    seq       INTEGER PRIMARY KEY CHECK (seq > 0),
    act_id    INTEGER NOT NULL,
    sealed_at INTEGER NOT NULL,
    content   BLOB    NOT NULL, -- hash of the act
    hash      BLOB    NOT NULL  -- of the link and the hash before it
);
CREATE UNIQUE INDEX tasker_act_links_by_act ON tasker_act_links (act_id);

-- Acts without a link yet. The row commits with its act, so that an act that commits late is not missed.
CREATE TABLE tasker_act_unsealed (
    act_id INTEGER PRIMARY KEY
);

-- Heads up to which acts and links were archived: these may be deleted, and the chain starts behind the last one.
CREATE TABLE tasker_act_archives (
    seq  INTEGER PRIMARY KEY CHECK (seq > 0),
    hash BLOB    NOT NULL,
    at   INTEGER NOT NULL,
    acts INTEGER NOT NULL
);

-- What is archived may be deleted. A row of tasker_act_archives permits that only with its own act, sealed further on
-- in the chain: whoever may insert a row could delete acts otherwise.
CREATE VIEW tasker_act_archived AS
SELECT coalesce(max(a.seq), 0) AS seq FROM tasker_act_archives a WHERE EXISTS (SELECT 1
  FROM tasker_acts p JOIN tasker_act_links l ON l.act_id = p.id WHERE p.kind = 'archive_audit' AND l.seq > a.seq
   AND CASE WHEN json_valid(p.data) THEN json_extract(p.data, '$.head') END = a.seq || '-' || lower(hex(a.hash)));

-- Each act waits to be sealed. A copy of a database brings the links before the acts.
CREATE TRIGGER tasker_acts_are_sealed AFTER INSERT ON tasker_acts
 WHEN NOT EXISTS (SELECT 1 FROM tasker_act_links l WHERE l.act_id = NEW.id) BEGIN
    INSERT OR IGNORE INTO tasker_act_unsealed (act_id) VALUES (NEW.id);
END;

-- Acts, links and archives are only ever added to, whoever has the file open. INSERT OR REPLACE deletes without the
-- trigger of DELETE, hence the third of each; to insert the same row again, which a copy that is run again does,
-- changes nothing.
CREATE TRIGGER tasker_acts_keep_from_update BEFORE UPDATE ON tasker_acts BEGIN
    SELECT RAISE(ABORT, 'tasker_acts is only ever added to: UPDATE is refused');
END;
CREATE TRIGGER tasker_acts_keep_from_delete BEFORE DELETE ON tasker_acts
 WHEN NOT EXISTS (SELECT 1 FROM tasker_act_links l WHERE l.act_id = OLD.id AND
  l.seq <= (SELECT seq FROM tasker_act_archived)) BEGIN
    SELECT RAISE(ABORT, 'tasker_acts is only ever added to: DELETE is refused');
END;
CREATE TRIGGER tasker_acts_keep_from_replace BEFORE INSERT ON tasker_acts
 WHEN EXISTS (SELECT 1 FROM tasker_acts a WHERE a.id = NEW.id AND
 (a.task_id, a.step_id, a.case_id, a.worker_id, a.namespace, a.template, a.at, a.kind, a.actor, a.auth, a.key_name,
     a.reason,
  a.from_state, a.to_state, a.data) IS NOT
 (NEW.task_id, NEW.step_id, NEW.case_id, NEW.worker_id, NEW.namespace, NEW.template, NEW.at, NEW.kind, NEW.actor,
     NEW.auth,
  NEW.key_name, NEW.reason, NEW.from_state, NEW.to_state, NEW.data)) BEGIN
    SELECT RAISE(ABORT, 'tasker_acts is only ever added to: REPLACE is refused');
END;
CREATE TRIGGER tasker_act_links_keep_from_update BEFORE UPDATE ON tasker_act_links BEGIN
    SELECT RAISE(ABORT, 'tasker_act_links is only ever added to: UPDATE is refused');
END;
CREATE TRIGGER tasker_act_links_keep_from_delete BEFORE DELETE ON tasker_act_links
 WHEN OLD.seq > (SELECT seq FROM tasker_act_archived) BEGIN
    SELECT RAISE(ABORT, 'tasker_act_links is only ever added to: DELETE is refused');
END;
CREATE TRIGGER tasker_act_links_keep_from_replace BEFORE INSERT ON tasker_act_links
 WHEN EXISTS (SELECT 1 FROM tasker_act_links l WHERE (l.seq = NEW.seq OR l.act_id = NEW.act_id) AND
  (l.seq, l.act_id, l.sealed_at, l.content, l.hash) IS NOT
  (NEW.seq, NEW.act_id, NEW.sealed_at, NEW.content, NEW.hash)) BEGIN
    SELECT RAISE(ABORT, 'tasker_act_links is only ever added to: REPLACE is refused');
END;
CREATE TRIGGER tasker_act_archives_keep_from_update BEFORE UPDATE ON tasker_act_archives BEGIN
    SELECT RAISE(ABORT, 'tasker_act_archives is only ever added to: UPDATE is refused');
END;
CREATE TRIGGER tasker_act_archives_keep_from_delete BEFORE DELETE ON tasker_act_archives BEGIN
    SELECT RAISE(ABORT, 'tasker_act_archives is only ever added to: DELETE is refused');
END;
CREATE TRIGGER tasker_act_archives_keep_from_replace BEFORE INSERT ON tasker_act_archives
 WHEN EXISTS (SELECT 1 FROM tasker_act_archives a WHERE a.seq = NEW.seq AND
  (a.hash, a.at, a.acts) IS NOT (NEW.hash, NEW.at, NEW.acts)) BEGIN
    SELECT RAISE(ABORT, 'tasker_act_archives is only ever added to: REPLACE is refused');
END;
