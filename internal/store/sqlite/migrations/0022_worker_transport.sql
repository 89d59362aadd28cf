-- +goose Up
-- How a worker gets its steps: '' by polling, or over AMQP. And whether an operator has cordoned it, which is apart from
-- its state: a heartbeat or a drain does not end it.
ALTER TABLE tasker_workers ADD COLUMN transport TEXT NOT NULL DEFAULT '' CHECK (transport IN ('', 'amqp'));
ALTER TABLE tasker_workers ADD COLUMN cordoned_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasker_workers ADD COLUMN cordoned_by TEXT NOT NULL DEFAULT '';
ALTER TABLE tasker_workers ADD COLUMN cordon_reason TEXT NOT NULL DEFAULT '';

-- Dispatches that expired in the queues of their workers are counted by hour, worker and template.
CREATE INDEX tasker_attempts_expired ON tasker_attempts (finished_at) WHERE outcome = 'dispatch_expired';
