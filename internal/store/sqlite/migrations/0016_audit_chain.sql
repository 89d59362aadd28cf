-- +goose Up
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

-- Acts without a link yet. The row commits with its act.
CREATE TABLE tasker_act_unsealed (
    act_id INTEGER PRIMARY KEY
);
INSERT INTO tasker_act_unsealed (act_id) SELECT id FROM tasker_acts;

-- Heads up to which acts and links were archived: these may be deleted, and the chain starts behind the last one.
CREATE TABLE tasker_act_archives (
    seq  INTEGER PRIMARY KEY CHECK (seq > 0),
    hash BLOB    NOT NULL,
    at   INTEGER NOT NULL,
    acts INTEGER NOT NULL
);

-- A copy of a database brings the links before the acts.
-- +goose StatementBegin
CREATE TRIGGER tasker_acts_are_sealed AFTER INSERT ON tasker_acts
 WHEN NOT EXISTS (SELECT 1 FROM tasker_act_links l WHERE l.act_id = NEW.id) BEGIN
    INSERT OR IGNORE INTO tasker_act_unsealed (act_id) VALUES (NEW.id);
END;
-- +goose StatementEnd

DROP TRIGGER tasker_acts_keep_from_delete;
-- +goose StatementBegin
CREATE TRIGGER tasker_acts_keep_from_delete BEFORE DELETE ON tasker_acts
 WHEN NOT EXISTS (SELECT 1 FROM tasker_act_links l WHERE l.act_id = OLD.id AND
  l.seq <= (SELECT max(seq) FROM tasker_act_archives)) BEGIN
    SELECT RAISE(ABORT, 'tasker_acts is only ever added to: DELETE is refused');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasker_act_links_keep_from_update BEFORE UPDATE ON tasker_act_links BEGIN
    SELECT RAISE(ABORT, 'tasker_act_links is only ever added to: UPDATE is refused');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasker_act_links_keep_from_delete BEFORE DELETE ON tasker_act_links
 WHEN OLD.seq > (SELECT coalesce(max(seq), 0) FROM tasker_act_archives) BEGIN
    SELECT RAISE(ABORT, 'tasker_act_links is only ever added to: DELETE is refused');
END;
-- +goose StatementEnd
-- INSERT OR REPLACE deletes without the trigger of DELETE, hence the next two.
-- +goose StatementBegin
CREATE TRIGGER tasker_act_links_keep_from_replace BEFORE INSERT ON tasker_act_links
 WHEN EXISTS (SELECT 1 FROM tasker_act_links l WHERE (l.seq = NEW.seq OR l.act_id = NEW.act_id) AND
  (l.seq, l.act_id, l.sealed_at, l.content, l.hash) IS NOT
  (NEW.seq, NEW.act_id, NEW.sealed_at, NEW.content, NEW.hash)) BEGIN
    SELECT RAISE(ABORT, 'tasker_act_links is only ever added to: REPLACE is refused');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasker_act_archives_keep_from_replace BEFORE INSERT ON tasker_act_archives
 WHEN EXISTS (SELECT 1 FROM tasker_act_archives a WHERE a.seq = NEW.seq AND
  (a.hash, a.at, a.acts) IS NOT (NEW.hash, NEW.at, NEW.acts)) BEGIN
    SELECT RAISE(ABORT, 'tasker_act_archives is only ever added to: REPLACE is refused');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasker_act_archives_keep_from_update BEFORE UPDATE ON tasker_act_archives BEGIN
    SELECT RAISE(ABORT, 'tasker_act_archives is only ever added to: UPDATE is refused');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasker_act_archives_keep_from_delete BEFORE DELETE ON tasker_act_archives BEGIN
    SELECT RAISE(ABORT, 'tasker_act_archives is only ever added to: DELETE is refused');
END;
-- +goose StatementEnd
