-- +goose Up
-- Workers that are watched: where they say how they are, what became of the last
-- looks at it, and since when their circuit breaker is open.
ALTER TABLE tasker_workers
    DROP CONSTRAINT tasker_workers_state_check,
    ADD CONSTRAINT tasker_workers_state_check CHECK (state IN ('active', 'draining', 'unhealthy', 'dead')),
    ADD COLUMN health_url     text   NOT NULL DEFAULT '',
    ADD COLUMN probe_failures int    NOT NULL DEFAULT 0,
    ADD COLUMN probe_error    text   NOT NULL DEFAULT '',
    ADD COLUMN broken_at      bigint NOT NULL DEFAULT 0;
