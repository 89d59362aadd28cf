-- +goose Up
-- How a worker gets its steps: '' by polling, or over AMQP. And whether an operator has cordoned it, which is apart from
-- its state: a heartbeat or a drain does not end it.
ALTER TABLE tasker_workers
    ADD COLUMN transport     text   NOT NULL DEFAULT '' CHECK (transport IN ('', 'amqp')),
    ADD COLUMN cordoned_at   bigint NOT NULL DEFAULT 0,
    ADD COLUMN cordoned_by   text   NOT NULL DEFAULT '',
    ADD COLUMN cordon_reason text   NOT NULL DEFAULT '';

-- Dispatches that expired in the queues of their workers are counted by hour, worker and template.
CREATE INDEX tasker_attempts_expired ON tasker_attempts (finished_at) WHERE outcome = 'dispatch_expired';
