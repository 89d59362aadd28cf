-- Conventions of all files: times are microseconds since 1970, and 0 is never. Flags are 0 or 1. A text of '' is none.
--
-- IDs are kept as the 60-bit sequence of their UUID, so that they are the rowid: a UUID costs no index, and the steps
-- of a task are a range of keys.

-- What the store keeps of the file itself, such as id_seed, from which the UUIDs of its IDs are made.
CREATE TABLE tasker_meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Numbers of the configuration, as the process that had the file last has them, for the views. A threshold of 0
-- is none.
CREATE TABLE tasker_settings (
    key   TEXT    PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
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
