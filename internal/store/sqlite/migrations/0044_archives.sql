-- +goose Up
-- A row of tasker_act_archives permits to delete acts only with its own act, sealed further on in the chain: whoever may
-- insert a row could delete acts otherwise.
CREATE VIEW tasker_act_archived AS
SELECT coalesce(max(a.seq), 0) AS seq FROM tasker_act_archives a WHERE EXISTS (SELECT 1
  FROM tasker_acts p JOIN tasker_act_links l ON l.act_id = p.id WHERE p.kind = 'archive_audit' AND l.seq > a.seq
   AND CASE WHEN json_valid(p.data) THEN json_extract(p.data, '$.head') END = a.seq || '-' || lower(hex(a.hash)));

DROP TRIGGER tasker_acts_keep_from_delete;
-- +goose StatementBegin
CREATE TRIGGER tasker_acts_keep_from_delete BEFORE DELETE ON tasker_acts
 WHEN NOT EXISTS (SELECT 1 FROM tasker_act_links l WHERE l.act_id = OLD.id AND
  l.seq <= (SELECT seq FROM tasker_act_archived)) BEGIN
    SELECT RAISE(ABORT, 'tasker_acts is only ever added to: DELETE is refused');
END;
-- +goose StatementEnd
DROP TRIGGER tasker_act_links_keep_from_delete;
-- +goose StatementBegin
CREATE TRIGGER tasker_act_links_keep_from_delete BEFORE DELETE ON tasker_act_links
 WHEN OLD.seq > (SELECT seq FROM tasker_act_archived) BEGIN
    SELECT RAISE(ABORT, 'tasker_act_links is only ever added to: DELETE is refused');
END;
-- +goose StatementEnd
