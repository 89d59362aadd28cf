-- What a node remembers of templates and routes may be wrong once the database has gone back in time (a standby that was
-- behind took over, a backup was swapped in). Every submission checks it in its own transaction.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION tasker_expect_known(as_known bigint, wanted bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF as_known <> wanted THEN
        RAISE EXCEPTION 'templates or routes are not those that were known: % of % are', as_known, wanted USING ERRCODE = 'TK002';
    END IF;
END $$;
-- +goose StatementEnd
