-- The audit trail: what operators and keys did. Rows are only ever added. An act may be about no task: about a worker,
-- a template or a key.
CREATE TABLE tasker_acts (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id    uuid,
    step_id    uuid,
    at         bigint NOT NULL,
    kind       text   NOT NULL,
    actor      text   NOT NULL,
    reason     text   NOT NULL,
    from_state text   NOT NULL,
    to_state   text   NOT NULL,
    data       json, -- JSON
    case_id    uuid,
    worker_id  uuid,
    namespace  text,
    template   text,
    -- how the actor was known, beside the name that was claimed
    auth       text   NOT NULL DEFAULT '' CHECK (auth = '' OR auth = 'key' OR auth = 'none' OR auth = 'system'),
    key_name   text -- the API key that the request carried
);
CREATE INDEX tasker_acts_by_task ON tasker_acts (task_id);
CREATE INDEX tasker_acts_by_case ON tasker_acts (case_id, id) WHERE case_id IS NOT NULL;
CREATE INDEX tasker_acts_by_actor ON tasker_acts (actor, id);
CREATE INDEX tasker_acts_by_kind ON tasker_acts (kind, id);
CREATE INDEX tasker_acts_by_worker ON tasker_acts (worker_id, id) WHERE worker_id IS NOT NULL;
CREATE INDEX tasker_acts_by_template ON tasker_acts (namespace, template, id) WHERE namespace IS NOT NULL;
CREATE INDEX tasker_acts_by_key ON tasker_acts (key_name, id) WHERE key_name IS NOT NULL;

-- Each act waits to be sealed.
CREATE FUNCTION tasker_seal_later() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- a copy of a database brings the links before the acts
    INSERT INTO tasker_act_unsealed (act_id) SELECT NEW.id
     WHERE NOT EXISTS (SELECT 1 FROM tasker_act_links l WHERE l.act_id = NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER tasker_acts_are_sealed AFTER INSERT ON tasker_acts FOR EACH ROW EXECUTE FUNCTION tasker_seal_later();

-- The hash chain of the audit trail: each link seals one act. A loop adds links behind the acts, so that no
-- transaction waits for another one to add its act.
CREATE TABLE tasker_act_links (
    seq       bigint PRIMARY KEY CHECK (seq > 0),
    act_id    bigint NOT NULL,
    sealed_at bigint NOT NULL,
    content   bytea  NOT NULL, -- hash of the act
    hash      bytea  NOT NULL  -- of the link and the hash before it
);
CREATE UNIQUE INDEX tasker_act_links_by_act ON tasker_act_links (act_id);

-- Acts without a link yet. The row commits with its act, so that an act that commits late is not missed.
CREATE TABLE tasker_act_unsealed (
    act_id bigint PRIMARY KEY
);

-- Heads up to which acts and links were archived: these may be deleted, and the chain starts behind the last one.
CREATE TABLE tasker_act_archives (
    seq  bigint PRIMARY KEY CHECK (seq > 0),
    hash bytea  NOT NULL,
    at   bigint NOT NULL,
    acts bigint NOT NULL
);

-- Acts, links and archives are only ever added to, whoever is connected.
CREATE FUNCTION tasker_keep_acts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is only ever added to: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'TK002';
END $$;

-- What is archived may be deleted. A row of tasker_act_archives permits that only with its own act, sealed further on
-- in the chain: whoever may insert a row could delete acts otherwise.
CREATE FUNCTION tasker_keep_unarchived() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- These functions find our tables whatever the search_path of the session is.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['tasker_seal_later', 'tasker_keep_unarchived'] LOOP
        EXECUTE format('ALTER FUNCTION %I.%I SET search_path = pg_catalog, %I, pg_temp', current_schema(), name,
            current_schema());
    END LOOP;
END $$;

CREATE TRIGGER tasker_acts_are_kept BEFORE UPDATE OR TRUNCATE ON tasker_acts
    FOR EACH STATEMENT EXECUTE FUNCTION tasker_keep_acts();
CREATE TRIGGER tasker_acts_are_archived BEFORE DELETE ON tasker_acts
    FOR EACH ROW EXECUTE FUNCTION tasker_keep_unarchived();
CREATE TRIGGER tasker_act_links_are_kept BEFORE UPDATE OR TRUNCATE ON tasker_act_links
    FOR EACH STATEMENT EXECUTE FUNCTION tasker_keep_acts();
CREATE TRIGGER tasker_act_links_are_archived BEFORE DELETE ON tasker_act_links
    FOR EACH ROW EXECUTE FUNCTION tasker_keep_unarchived();
CREATE TRIGGER tasker_act_archives_are_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON tasker_act_archives
    FOR EACH STATEMENT EXECUTE FUNCTION tasker_keep_acts();
-- In sessions that replicate too.
ALTER TABLE tasker_acts ENABLE ALWAYS TRIGGER tasker_acts_are_kept;
ALTER TABLE tasker_acts ENABLE ALWAYS TRIGGER tasker_acts_are_archived;
ALTER TABLE tasker_act_links ENABLE ALWAYS TRIGGER tasker_act_links_are_kept;
ALTER TABLE tasker_act_links ENABLE ALWAYS TRIGGER tasker_act_links_are_archived;
ALTER TABLE tasker_act_archives ENABLE ALWAYS TRIGGER tasker_act_archives_are_kept;
