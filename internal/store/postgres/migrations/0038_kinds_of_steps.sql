-- +goose Up
-- Steps that are skipped, and steps that wait for something outside of workers. Rows of before satisfy the new rule,
-- so they are not read again: the table is locked for a moment only.
ALTER TABLE tasker_workflow_steps DROP CONSTRAINT step_state;
ALTER TABLE tasker_workflow_steps ADD CONSTRAINT step_state CHECK (
    state = 'enqueued' OR state = 'in_progress' OR state = 'complete' OR state = 'pending' OR state = 'assigned'
    OR state = 'waiting_for_retry' OR state = 'error' OR state = 'cancelled' OR state = 'resolved_manually'
    OR state = 'waiting' OR state = 'skipped' OR state = 'enqueued_for_orchestration') NOT VALID;
