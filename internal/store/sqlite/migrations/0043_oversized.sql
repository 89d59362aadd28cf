-- +goose Up
-- Messages that stay on their brokers, because they are larger than a letter may be. log_offset is -1 where the broker
-- keeps no log.
CREATE TABLE tasker_oversized (
    namespace  TEXT NOT NULL,
    source     TEXT NOT NULL,
    position   TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    part       INTEGER NOT NULL,
    log_offset INTEGER NOT NULL,
    first_at   INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    PRIMARY KEY (namespace, source, position)
);
