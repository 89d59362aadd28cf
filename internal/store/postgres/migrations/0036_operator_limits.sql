-- +goose Up
-- Limits that operators set for handlers and routes; one row for each target, whose number is a hash. ended_at is 0
-- while the limit is in force. bucket is the time in nanoseconds at which the bucket of the rate is full. The permits of
-- its steps are in tasker_limit_permits, under its number; see docs/design/0042-limits.md.
CREATE TABLE tasker_operator_limits (
    no           bigint PRIMARY KEY,
    kind         text   NOT NULL,
    namespace    text   NOT NULL,
    name         text   NOT NULL,
    capabilities text   NOT NULL,
    permits      bigint NOT NULL,
    rate_count   bigint NOT NULL,
    rate_per_us  bigint NOT NULL,
    rate_burst   bigint NOT NULL,
    actor        text   NOT NULL,
    reason       text   NOT NULL,
    set_at       bigint NOT NULL,
    changed_at   bigint NOT NULL,
    ended_at     bigint NOT NULL,
    ended_by     text   NOT NULL,
    end_reason   text   NOT NULL,
    bucket       bigint NOT NULL
);
