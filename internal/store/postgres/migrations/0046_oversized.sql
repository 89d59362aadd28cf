-- +goose Up
-- Messages that stay on their brokers, because they are larger than a letter may be. log_offset is -1 where the broker
-- keeps no log.
CREATE TABLE tasker_oversized (
    namespace  text COLLATE "C" NOT NULL,
    source     text COLLATE "C" NOT NULL,
    position   text COLLATE "C" NOT NULL,
    bytes      bigint NOT NULL,
    part       bigint NOT NULL,
    log_offset bigint NOT NULL,
    first_at   bigint NOT NULL,
    seen_at    bigint NOT NULL,
    PRIMARY KEY (namespace, source, position)
);
