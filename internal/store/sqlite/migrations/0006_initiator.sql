-- +goose Up
-- Tasks by who asked for them. A row without that, which is one of most, costs the
-- look at a column that is NULL.
CREATE INDEX tasker_tasks_by_initiator ON tasker_tasks (meta ->> 'initiator', id) WHERE meta ->> 'initiator' IS NOT NULL;
