-- +goose Up
-- Steps that are skipped, and steps that wait for something outside of workers.
ALTER TABLE tasker_workflow_steps DROP CONSTRAINT step_state;
ALTER TABLE tasker_workflow_steps ADD CONSTRAINT step_state CHECK (
    state = 'enqueued' OR state = 'in_progress' OR state = 'complete' OR state = 'pending' OR state = 'assigned'
    OR state = 'waiting_for_retry' OR state = 'error' OR state = 'cancelled' OR state = 'resolved_manually'
    OR state = 'waiting' OR state = 'skipped' OR state = 'enqueued_for_orchestration');
