-- +goose Up
-- A row of tasker_act_archives permits to delete acts only with its own act, sealed further on in the chain: whoever may
-- insert a row could delete acts otherwise.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tasker_keep_unarchived() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    archived bigint := (SELECT coalesce(max(a.seq), 0) FROM tasker_act_archives a WHERE EXISTS (SELECT 1
      FROM tasker_acts p JOIN tasker_act_links l ON l.act_id = p.id WHERE p.kind = 'archive_audit' AND l.seq > a.seq
       AND p.data ->> 'head' = a.seq || '-' || encode(a.hash, 'hex')));
    linked   bigint;
BEGIN
    IF TG_TABLE_NAME = 'tasker_acts' THEN
        SELECT l.seq INTO linked FROM tasker_act_links l WHERE l.act_id = OLD.id;
    ELSE
        linked := OLD.seq;
    END IF;
    IF linked IS NULL OR linked > archived THEN
        RAISE EXCEPTION '% is only ever added to: DELETE is refused', TG_TABLE_NAME USING ERRCODE = 'TK002';
    END IF;
    RETURN OLD;
END $$;
-- +goose StatementEnd
-- The function finds our tables whatever the search_path of the session is.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION %I.tasker_keep_unarchived SET search_path = pg_catalog, %I, pg_temp', current_schema(),
        current_schema());
END $$;
-- +goose StatementEnd
