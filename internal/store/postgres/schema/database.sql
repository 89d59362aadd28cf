-- Conventions of all files: times are microseconds since 1970, and 0 is never. Flags are 0 or 1. A text of '' is none.
--
-- Rows of the hot path change often and are vacuumed eagerly. A column that changes on the happy path is in no index
-- but the queue's, so that the rows of tasks are updated in place (HOT).

-- What identifies this database: 'installation' is a random name that tells it from every other one.
CREATE TABLE tasker_meta (
    key   text PRIMARY KEY,
    value text NOT NULL
);
INSERT INTO tasker_meta (key, value) VALUES ('installation', gen_random_uuid()::text);

-- Numbers of the configuration, as the server that was started last has them, for the views and functions. A
-- threshold of 0 is none.
CREATE TABLE tasker_settings (
    key   text   PRIMARY KEY,
    value bigint NOT NULL
);
-- The defaults of the configuration, for those who ask before a server has started.
INSERT INTO tasker_settings (key, value) VALUES
    ('staleness.waiting_for_dependencies', 3600000000),
    ('staleness.waiting_for_retry', 1800000000),
    ('staleness.steps_in_process', 1800000000),
    ('staleness.turn', 3660000000),
    ('staleness.warning_percent', 80),
    ('staleness.batch_size', 100),
    ('cases.enabled', 1),
    ('priority_base.dependency_cycle_detected', 1000),
    ('priority_base.max_retries_exceeded', 500),
    ('priority_base.staleness_timeout', 100),
    ('priority_base.worker_unavailable', 50),
    ('priority_base.manual_dlq', 10),
    ('priority_level.high', 75),
    ('priority_level.medium', 50),
    ('priority_level.low', 25);

-- Whose turn it is at a loop that runs once for all nodes.
CREATE TABLE tasker_turns (
    loop       text   PRIMARY KEY,
    node       text   NOT NULL,
    taken_at   bigint NOT NULL,
    held_until bigint NOT NULL
);
