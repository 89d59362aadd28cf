-- +goose Up
-- Limits that operators set for handlers and routes; one row for each target, whose number is a hash. ended_at is 0
-- while the limit is in force. bucket is the time in nanoseconds at which the bucket of the rate is full. The permits of
-- its steps are in tasker_limit_permits, under its number; see docs/design/0042-limits.md.
CREATE TABLE tasker_operator_limits (
    no           INTEGER PRIMARY KEY,
    kind         TEXT NOT NULL,
    namespace    TEXT NOT NULL,
    name         TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    permits      INTEGER NOT NULL,
    rate_count   INTEGER NOT NULL,
    rate_per_us  INTEGER NOT NULL,
    rate_burst   INTEGER NOT NULL,
    actor        TEXT NOT NULL,
    reason       TEXT NOT NULL,
    set_at       INTEGER NOT NULL,
    changed_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    ended_by     TEXT NOT NULL,
    end_reason   TEXT NOT NULL,
    bucket       INTEGER NOT NULL
);
